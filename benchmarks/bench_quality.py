"""How well the query modes find the right paragraph on XQuAD: English, Chinese, and Chinese questions over English.

    LOREBASE_TEST_DATA=... python -m benchmarks.bench_quality [--questions 1190] [--model NAME]

Each paragraph is a document of a knowledge base (240 a language), built by the shipped recipe steps; each question has
one right paragraph. Prints recall@5 and MRR@10 for every mode, and how far hybrid is from the better of its parts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace

MODES = ("vector_search", "full_text_search", "hybrid_search")
PAIRS = (("en", "en"), ("zh", "zh"), ("zh", "en"))
RECIPE = """
name: xquad-{language}
sources: [{{folder: {language}}}]
models: {{embedding: {{provider: local{model}}}}}
procedures: [{{use: hybrid_index, with: {{max_tokens: 500}}}}]
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the name of the document that answers it."""

    text: str
    document: str


def read_xquad(path: Path) -> tuple[dict[str, str], list[Question]]:
    """Paragraphs by document name, and the questions over them, in the order of the file."""
    paragraphs: dict[str, str] = {}
    questions: list[Question] = []
    for article, entry in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for number, paragraph in enumerate(entry["paragraphs"]):
            name = f"{article:02}-{number}.txt"
            paragraphs[name] = paragraph["context"]
            questions += [Question(answer["question"], name) for answer in paragraph["qas"]]
    return paragraphs, questions


async def measure(base: KnowledgeBase, questions: list[Question], mode: str) -> tuple[float, float]:
    """Recall@5 and MRR@10 over the questions, by document."""
    found, reciprocal = 0, 0.0
    for question in questions:
        answer = await base.query(question.text, mode=mode, top_k=20)
        names = list(dict.fromkeys(result.document.name for result in answer.results))
        rank = names.index(question.document) + 1 if question.document in names else 0
        found += 1 <= rank <= 5
        reciprocal += 1 / rank if 1 <= rank <= 10 else 0.0
    return found / len(questions), reciprocal / len(questions)


async def run(data: Path, folder: Path, count: int, model: str) -> None:
    """Build both bases and measure all pairs."""
    workspace = Workspace(folder / "workspace")
    bases: dict[str, KnowledgeBase] = {}
    questions: dict[str, list[Question]] = {}
    for language in ("en", "zh"):
        paragraphs, asked = read_xquad(data / "xquad" / f"xquad.{language}.json")
        (folder / language).mkdir()
        for name, text in paragraphs.items():
            (folder / language / name).write_text(text, encoding="utf-8")
        named = f", model: {model}" if model else ""
        recipe = parse_recipe(RECIPE.format(language=language, model=named), folder=folder)
        bases[language] = await KnowledgeBase.create(recipe, workspace)
        questions[language] = random.Random(0).sample(asked, min(count, len(asked)))
    print("| questions over paragraphs | mode | recall@5 | MRR@10 |\n|---|---|---|---|")
    for asked_in, over in PAIRS:
        figures = {mode: await measure(bases[over], questions[asked_in], mode) for mode in MODES}
        for mode, (recall, reciprocal) in figures.items():
            print(f"| {asked_in} over {over} | {mode} | {recall:.4f} | {reciprocal:.4f} |", flush=True)
        parts = [figures[mode] for mode in MODES[:2]]
        gains = [figures["hybrid_search"][place] - max(part[place] for part in parts) for place in (0, 1)]
        print(f"| {asked_in} over {over} | hybrid against the better part | {gains[0]:+.4f} | {gains[1]:+.4f} |")
    for base in bases.values():
        await base.close()


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1190)
    parser.add_argument("--model", default="", help="name of a local embedding model")
    options = parser.parse_args()
    data = os.environ.get("LOREBASE_TEST_DATA")
    if not data:
        sys.exit("Set LOREBASE_TEST_DATA to the folder that holds xquad/.")
    with tempfile.TemporaryDirectory(prefix="bench-quality-") as folder:
        asyncio.run(run(Path(data), Path(folder), options.questions, options.model))


if __name__ == "__main__":
    main()
