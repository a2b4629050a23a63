"""Quality and speed of the local embedders on XQuAD, in English, in Chinese, and across the two.

    LOREBASE_TEST_DATA=... python -m benchmarks.bench_embedders [--model NAME] [--questions 400]

Prints the tables of docs/adr/0003-local-embedder.md. Every model runs in a process of its own, so that memory is its
own. "Answerable" asks whether the best passage's cosine tells a question whose article is in the base from the same
question after its whole article was taken out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from lorebase.adapters.models.factory import open_embedder
from lorebase.adapters.models.local_engines import LOCAL_MODELS
from lorebase.models.ports import Embedder
from lorebase.models.settings import EmbeddingModelSpec

PAIRS = (("en", "en"), ("zh", "zh"), ("zh", "en"), ("en", "zh"))


@dataclass(frozen=True, slots=True)
class Corpus:
    """XQuAD in one language; both languages have the same order."""

    passages: list[str]
    questions: list[str]
    passage_of: NDArray[np.int64]  # by question
    article_of: NDArray[np.int64]  # by passage


def read_corpus(folder: Path, language: str) -> Corpus:
    passages: list[str] = []
    questions: list[str] = []
    passage_of: list[int] = []
    article_of: list[int] = []
    for article, entry in enumerate(json.loads((folder / f"xquad.{language}.json").read_text())["data"]):
        for paragraph in entry["paragraphs"]:
            questions.extend(qa["question"] for qa in paragraph["qas"])
            passage_of.extend([len(passages)] * len(paragraph["qas"]))
            article_of.append(article)
            passages.append(paragraph["context"])
    return Corpus(passages, questions, np.array(passage_of), np.array(article_of))


def with_about_tokens(embedder: Embedder, passages: Sequence[str], tokens: int, texts: int) -> list[str]:
    """Texts of at least 90 percent of `tokens` and at most the model's limit, joined from passages."""
    joined: list[str] = []
    current = ""
    for passage in passages:
        for sentence in passage.split(". "):
            if embedder.count_tokens(f"{current} {sentence}") > tokens and current:
                joined.append(current)
                current = ""
            current = f"{current} {sentence}".strip()
        if len(joined) >= texts:
            break
    return joined[:texts]


async def texts_per_second(embedder: Embedder, texts: Sequence[str], *, questions: bool = False) -> float:
    started = time.perf_counter()
    batch = await (embedder.embed_queries if questions else embedder.embed_passages)(texts)
    assert not [failure for failure in batch.failures if failure.code != "INPUT_TOO_LONG"]
    return len(texts) / (time.perf_counter() - started)


async def measure(name: str, data: Path, questions: int) -> None:
    embedder = await open_embedder(EmbeddingModelSpec(model=name), {})
    started = time.perf_counter()
    await embedder.embed_queries(["warm up"])
    loaded = time.perf_counter() - started
    corpora = {language: read_corpus(data / "xquad", language) for language in ("en", "zh")}
    chosen = sorted(Random(0).sample(range(len(corpora["en"].questions)), questions))
    english = corpora["en"].passages
    short = await texts_per_second(embedder, with_about_tokens(embedder, english, 150, 48))
    long = await texts_per_second(embedder, with_about_tokens(embedder, english, 500, 12))
    asked = await texts_per_second(embedder, corpora["en"].questions[:100], questions=True)
    started = time.perf_counter()
    tokens = sum(map(embedder.count_tokens, english))
    counted = tokens / (time.perf_counter() - started)
    vectors = {}
    for language, corpus in corpora.items():
        vectors[language, "passages"] = (await embedder.embed_passages(corpus.passages)).vectors
        picked = [corpus.questions[index] for index in chosen]
        vectors[language, "questions"] = (await embedder.embed_queries(picked)).vectors
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n### {name} ({embedder.profile.model_version}), min_score {embedder.profile.min_score}\n")
    print(f"load {loaded:.1f} s, peak memory {peak_mb:.0f} MB (Python, numpy and Lorebase included)")
    print(f"texts/s: {short:.1f} at 150 tokens, {long:.1f} at 500 tokens, {asked:.0f} questions", end="; ")
    print(f"tokens counted/s: {counted:,.0f}\n")
    print("| questions over passages | R@1 | R@5 | MRR@10 | AUROC | accuracy, own best score | at min_score |")
    print("|---|---|---|---|---|---|---|")
    gold = corpora["en"].passage_of[chosen]
    for asked_in, written_in in PAIRS:
        scores = vectors[asked_in, "questions"] @ vectors[written_in, "passages"].T
        print(f"| {asked_in} over {written_in} | " + quality(scores, gold, corpora["en"].article_of, embedder))


def quality(
    scores: NDArray[np.float32], gold: NDArray[np.int64], article_of: NDArray[np.int64], embedder: Embedder
) -> str:
    gold_scores = scores[np.arange(len(gold)), gold]
    ranks = (scores > gold_scores[:, None]).sum(axis=1)
    answerable = scores.max(axis=1)
    other = np.where(article_of[None, :] == article_of[gold][:, None], -2.0, scores).max(axis=1)
    auroc = (answerable[:, None] > other[None, :]).mean()
    accuracies = {score: accuracy(answerable, other, score) for score in np.linspace(0.1, 0.95, 171)}
    best = max(accuracies, key=lambda score: accuracies[score])
    fixed = embedder.profile.min_score
    return (
        f"{(ranks < 1).mean():.3f} | {(ranks < 5).mean():.3f} | {np.where(ranks < 10, 1 / (ranks + 1), 0).mean():.3f} "
        f"| {auroc:.3f} | {accuracies[best]:.3f} at {best:.3f} | {accuracy(answerable, other, fixed):.3f} "
        f"(kept {(answerable >= fixed).mean():.2f}, refused {(other < fixed).mean():.2f}) |"
    )


def accuracy(answerable: NDArray[np.float32], other: NDArray[np.float32], score: float) -> float:
    return float(((answerable >= score).mean() + (other < score).mean()) / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=sorted(LOCAL_MODELS), help="only this one, in this process")
    parser.add_argument("--questions", type=int, default=400, help="how many of the 1,190 questions")
    arguments = parser.parse_args()
    if "LOREBASE_TEST_DATA" not in os.environ:
        sys.exit("Set LOREBASE_TEST_DATA to the folder that holds xquad/xquad.en.json and xquad.zh.json.")
    if arguments.model:
        asyncio.run(measure(arguments.model, Path(os.environ["LOREBASE_TEST_DATA"]), arguments.questions))
        return
    for name in LOCAL_MODELS:
        command = [sys.executable, "-m", "benchmarks.bench_embedders", "--model", name]
        subprocess.run([*command, "--questions", str(arguments.questions)], check=True)


if __name__ == "__main__":
    main()
