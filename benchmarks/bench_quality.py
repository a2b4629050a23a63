"""How well the query modes find the right paragraph on XQuAD.

English, Chinese, Chinese questions over English, and Chinese questions as they are written in Taiwan (OpenCC:
traditional characters, other words for some things) over paragraphs in simplified characters.

    LOREBASE_TEST_DATA=... python -m benchmarks.bench_quality [--questions 1190] [--model NAME] [--answerable-only]
        [--modes-only] [--workspace FILE --chat ENDPOINT/MODEL --rerank ENDPOINT/MODEL]

Each paragraph is a document of a knowledge base (240 a language), built by the shipped recipe steps, the graph by
rules. Each question has one right paragraph. Prints recall@5 and MRR@10 for every mode that the bases serve, and how
far hybrid is from the better of its parts. With models of a workspace file's endpoints, the modes that ask one are
measured too; `--rerank chat` lets the chat model order.

Then how well answerable questions are told from others (lorebase.retrieval.answerability) by hybrid search, over the
articles with odd numbers, which the weights were not fitted on: once against a base of half the articles, asked about
all of them; once against the whole base, every question asked with its whole article there and left out.
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

from opencc import OpenCC

from lorebase.clock import SystemClock
from lorebase.evaluation.contents import read_contents
from lorebase.evaluation.data_sets import load_data_set
from lorebase.evaluation.metrics import auroc
from lorebase.evaluation.model import DataSet
from lorebase.evaluation.running import EvaluationSettings, evaluate
from lorebase.index.ports import NoneOf
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.retrieval.answerability import Answerability, answerability
from lorebase.workspace import Workspace
from lorebase.workspace_config import WorkspaceConfig, load_config

BASE_MODES = ("vector_search", "full_text_search", "hybrid_search")
PAIRS = (("en", "en"), ("zh", "zh"), ("zh", "en"), ("zh-TW", "zh"))
RECIPE = """
name: xquad-{language}
sources: [{{folder: {language}}}]
models: {models}
procedures:
  - {{use: hybrid_index, with: {{max_tokens: 500}}}}
  - {{use: knowledge_graph, with: {{mode: rules}}}}
"""


@dataclass(frozen=True, slots=True)
class Models:
    """What the bases are built and asked with.

    Attributes:
        roles: The recipe's models.
        endpoints: Those of the workspace file.
    """

    roles: dict[str, dict[str, str]]
    endpoints: WorkspaceConfig

    @classmethod
    def of(cls, options: argparse.Namespace) -> Models:
        """As the options say."""
        roles: dict[str, dict[str, str]] = {"embedding": {"provider": "local"}}
        if options.model:
            roles["embedding"]["model"] = options.model
        for role, said in (("chat", options.chat), ("rerank", options.rerank)):
            if said:
                provider, _, name = said.partition("/")
                roles[role] = {"provider": provider, **({"model": name} if name else {})}
        endpoints = load_config(options.workspace, os.environ).endpoints if options.workspace else {}
        return cls(roles, WorkspaceConfig(endpoints=endpoints))


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the name of the document that answers it."""

    text: str
    document: str

    @property
    def article(self) -> str:
        """Number of its article, which its document's name begins with."""
        return self.document.split("-", maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Scores and verdicts of questions that a base can answer, and of questions that it cannot."""

    kept: list[tuple[float, bool]]
    refused: list[tuple[float, bool]]

    def row(self, name: str) -> str:
        """A row of the table; accuracy is the mean of the shares that were kept and refused rightly."""
        kept = sum(verdict for _, verdict in self.kept) / len(self.kept)
        refused = sum(not verdict for _, verdict in self.refused) / len(self.refused)
        separated = auroc([score for score, _ in self.kept], [score for score, _ in self.refused]) or 0.0
        count = len(self.kept) + len(self.refused)
        return f"| {name} | {count} | {kept:.3f} | {refused:.3f} | {(kept + refused) / 2:.3f} | {separated:.3f} |"


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


def ask(questions: dict[str, list[Question]], language: str, asked: list[Question]) -> None:
    """Note what is asked in a language; Chinese questions as they are written in Taiwan, too."""
    questions[language] = asked
    if language == "zh":
        written = OpenCC("s2twp").convert
        questions["zh-TW"] = [Question(written(question.text), question.document) for question in asked]


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


async def build(paragraphs: dict[str, str], name: str, folder: Path, models: Models) -> KnowledgeBase:
    """A base of paragraphs."""
    (folder / name).mkdir()
    for document, text in paragraphs.items():
        (folder / name / document).write_text(text, encoding="utf-8")
    recipe = parse_recipe(RECIPE.format(language=name, models=json.dumps(models.roles)), folder=folder)
    return await KnowledgeBase.create(recipe, Workspace(folder / "workspace", models.endpoints))


async def left_out(base: KnowledgeBase, questions: list[Question]) -> Verdicts:
    """Each question with its article in the base, and without it."""
    documents: dict[str, set[str]] = {}
    for chunk in read_contents(base.workspace.object_store, base.snapshot()).chunks.values():
        documents.setdefault(chunk.document_name.split("-", maxsplit=1)[0], set()).add(chunk.document_id)
    profile = await base.embedding_profile()

    async def verdict(question: Question, where: tuple[NoneOf, ...]) -> tuple[float, bool]:
        found: Answerability = answerability(
            question.text, (await base.query(question.text, where=where)).results, profile
        )
        return found.score, found.answerable

    kept = [await verdict(question, ()) for question in questions]
    without = [NoneOf("document_id", tuple(sorted(documents[question.article]))) for question in questions]
    return Verdicts(kept, [await verdict(*pair) for pair in zip(questions, ((one,) for one in without), strict=True)])


async def half_missing(base: KnowledgeBase, data_set: DataSet) -> Verdicts:
    """Questions about articles that a base holds, and about as many that it does not."""
    result = await evaluate(base, base.workspace.object_store, data_set, EvaluationSettings(), clock=SystemClock())
    verdicts = {
        answerable: [
            (outcome.answerability_score, outcome.judged_answerable)
            for outcome in result.outcomes
            if outcome.answerable is answerable
        ]
        for answerable in (True, False)
    }
    return Verdicts(verdicts[True], verdicts[False])


def of_odd_articles(data_set: DataSet, count: int) -> DataSet:
    """The questions about every other article, at most `count`."""
    odd = [case for case in data_set.cases if int(case.place.split("data[")[1].split("]")[0]) % 2]
    return data_set.model_copy(update={"cases": tuple(random.Random(0).sample(odd, min(count, len(odd))))})


async def run_answerability(
    data: Path, folder: Path, count: int, models: Models, bases: dict[str, KnowledgeBase]
) -> None:
    """Measure how well answerable questions are told from others."""
    print("\n| questions | count | kept | refused | accuracy | AUROC |\n|---|---|---|---|---|---|")
    questions: dict[str, list[Question]] = {}
    for language in bases:
        file = data / "xquad" / f"xquad.{language}.json"
        paragraphs, asked = read_xquad(file)
        odd = [question for question in asked if int(question.article) % 2]
        ask(questions, language, random.Random(0).sample(odd, min(count, len(odd))))
        held = {name: text for name, text in paragraphs.items() if int(name[:2]) % 4 in {0, 1}}
        base = await build(held, f"{language}-half", folder, models)
        verdicts = await half_missing(base, of_odd_articles(load_data_set(file), count))
        await base.close()
        print(verdicts.row(f"{language}, half of the articles missing"), flush=True)
    for asked_in, over in PAIRS:
        verdicts = await left_out(bases[over], questions[asked_in])
        print(verdicts.row(f"{asked_in} over {over}, own article left out"), flush=True)


async def run(data: Path, folder: Path, options: argparse.Namespace) -> None:
    """Build both bases and measure all pairs."""
    models = Models.of(options)
    bases: dict[str, KnowledgeBase] = {}
    questions: dict[str, list[Question]] = {}
    for language in ("en", "zh"):
        paragraphs, asked = read_xquad(data / "xquad" / f"xquad.{language}.json")
        bases[language] = await build(paragraphs, language, folder, models)
        ask(questions, language, random.Random(0).sample(asked, min(options.questions, len(asked))))
    if not options.answerable_only:
        await run_modes(bases, questions)
    if not options.modes_only:
        await run_answerability(data, folder, options.questions, models, bases)
    for base in bases.values():
        await base.close()


async def run_modes(bases: dict[str, KnowledgeBase], questions: dict[str, list[Question]]) -> None:
    """Measure every mode over all pairs."""
    print("| questions over paragraphs | mode | recall@5 | MRR@10 |\n|---|---|---|---|")
    for asked_in, over in PAIRS:
        modes = bases[over].capabilities.queries
        figures = {mode: await measure(bases[over], questions[asked_in], mode) for mode in modes}
        for mode, (recall, reciprocal) in figures.items():
            print(f"| {asked_in} over {over} | {mode} | {recall:.4f} | {reciprocal:.4f} |", flush=True)
        parts = [figures[mode] for mode in BASE_MODES[:2]]
        gains = [figures["hybrid_search"][place] - max(part[place] for part in parts) for place in (0, 1)]
        print(f"| {asked_in} over {over} | hybrid against the better part | {gains[0]:+.4f} | {gains[1]:+.4f} |")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1190)
    parser.add_argument("--model", default="", help="name of a local embedding model")
    parser.add_argument("--answerable-only", action="store_true", help="leave out the query modes")
    parser.add_argument("--modes-only", action="store_true", help="measure the query modes alone")
    parser.add_argument("--workspace", type=Path, help="workspace file with the endpoints of the models")
    parser.add_argument("--chat", default="", help="endpoint and model for rewrite_search and multihop_search")
    parser.add_argument("--rerank", default="", help='endpoint and model for rerank_search, or "chat"')
    options = parser.parse_args()
    data = os.environ.get("LOREBASE_TEST_DATA")
    if not data:
        sys.exit("Set LOREBASE_TEST_DATA to the folder that holds xquad/.")
    with tempfile.TemporaryDirectory(prefix="bench-quality-") as folder:
        asyncio.run(run(Path(data), Path(folder), options))


if __name__ == "__main__":
    main()
