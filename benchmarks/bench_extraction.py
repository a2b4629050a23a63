"""What extraction costs beside its model: entities and relations of chunks by a chat model that answers at once.

    python -m benchmarks.bench_extraction [--chunks 1000 10000] [--rounds 3] [--rules]

Builds documents of twenty chunks of about 60 words with the real builder on a local object store: parse, split, extract
entities, extract relations; two questions a chunk, each answer checked, kept and written down at once. Prints the
median rate of each extraction step and of both together for each number of chunks, and how the rate of the largest
compares with that of the smallest: 1.0 is linear. Where other work disturbs the machine, the processor time of the
whole build tells more than the clock. With `--rules`, reads by rule instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

from lorebase.knowledge_base import KnowledgeBase
from lorebase.models.chat import ChatModel, ChatProfile, ChatReply, ChatRequest
from lorebase.models.chat_stream import StreamChunk
from lorebase.models.ports import ModelUsage
from lorebase.models.settings import ChatModelSpec
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace

CHUNKS_A_DOCUMENT = 20
WARM_UP_CHUNKS = 200
WORDS_A_CHUNK = 60
NAMES = 5000
RECIPE = """
name: bench
sources: [{folder: documents}]
procedures:
  - name: graph
    steps:
      - parse_documents: {}
      - split_documents: {max_tokens: 200}
      - extract_entities: {}
      - extract_relations: {}
"""
CHAT = "models: {chat: {provider: bench, model: instant}}\n"
_NAME = re.compile(r"\bName[a-z]+\b")
_LISTED = re.compile(r"^- (.+)$", re.MULTILINE)


class InstantChat:
    """Answers with the names of the text, or relates each listed entity to the next."""

    profile = ChatProfile("bench", "instant")
    max_concurrency = 8

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer, without waiting."""
        self.calls += 1
        text = request.turns[0].text
        if '{"relations"' in request.system:
            names = _LISTED.findall(text)
            answer: dict[str, object] = {
                "relations": [{"source": left, "target": right, "type": "follows"} for left, right in pairwise(names)]
            }
        else:
            answer = {"entities": [{"name": name, "type": "person"} for name in dict.fromkeys(_NAME.findall(text))]}
        return ChatReply(json.dumps(answer), ModelUsage(1, len(text) // 4, 100))

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        """Nothing."""
        del request
        return
        yield

    async def close(self) -> None:
        """Nothing is open."""


class BenchWorkspace(Workspace):
    """A local workspace with that model."""

    chat = InstantChat()

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        """The model of the benchmark."""
        del spec
        return self.chat


def write_documents(folder: Path, chunks: int) -> None:
    """Documents of distinct sections with eight names each; text of a fixed seed."""
    source = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = ["Name" + "".join(source.choices(letters, k=6)) for _ in range(NAMES)]
    words = ["".join(source.choices(letters, k=5)) for _ in range(2000)]
    folder.mkdir(parents=True)
    for number in range(0, chunks, CHUNKS_A_DOCUMENT):
        sections = []
        for section in range(number, min(chunks, number + CHUNKS_A_DOCUMENT)):
            text = source.choices(words, k=WORDS_A_CHUNK - 8) + source.choices(names, k=8)
            source.shuffle(text)
            sections.append(f"## part {section}\n\n{' '.join(text)}.")
        (folder / f"document-{number:06}.md").write_text("\n\n".join(["# document", *sections, ""]))


async def chunks_per_second(chunks: int, *, by_rules: bool) -> tuple[float, float, float, float]:
    """Rate of each extraction step and of both together in one build; processor milliseconds a chunk, all steps."""
    folder = Path(tempfile.mkdtemp(prefix="bench-extraction-"))
    try:
        write_documents(folder / "documents", chunks)
        recipe = parse_recipe(RECIPE if by_rules else RECIPE + CHAT, folder=folder)
        workspace = BenchWorkspace(folder / "workspace")
        workspace.chat.calls = 0
        before = time.process_time()
        result = await KnowledgeBase("bench", workspace).rebuild(recipe)
        spent = time.process_time() - before
        assert result.record.status == "succeeded", result.record.error
        read = result.record.step_records[-2:]
        made = read[0].counts.items
        assert made >= chunks
        assert workspace.chat.calls == (0 if by_rules else 2 * made)
        seconds = [step.seconds for step in read]
        return made / seconds[0], made / seconds[1], made / sum(seconds), 1000 * spent / made
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rules", action="store_true")
    options = parser.parse_args()
    asyncio.run(chunks_per_second(WARM_UP_CHUNKS, by_rules=options.rules))  # imports, and tables made once a process
    rates: dict[int, list[tuple[float, float, float, float]]] = {chunks: [] for chunks in options.chunks}
    for _ in range(options.rounds):  # sizes take turns, so that a busy minute falls on all of them
        for chunks in options.chunks:
            rates[chunks].append(asyncio.run(chunks_per_second(chunks, by_rules=options.rules)))
    medians, spent = {}, {}
    for chunks, found in rates.items():
        entities, relations, both, spent[chunks] = (statistics.median(column) for column in zip(*found, strict=True))
        medians[chunks] = both
        print(
            f"{chunks:>7,} chunks: {both:,.0f} chunks/s with both steps, "
            f"{entities:,.0f} entities alone, {relations:,.0f} relations alone; "
            f"{spent[chunks]:.2f} ms of processor time a chunk"
        )
    most, least = max(medians), min(medians)
    print(f"rate of {most:,} over {least:,} chunks: {medians[most] / medians[least]:.2f} by the clock", end=", ")
    print(f"{spent[least] / spent[most]:.2f} by processor time; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
