"""What building again costs: nothing changed, one document changed; memory; the ledger; how full the model is kept.

    python -m benchmarks.bench_rebuild [--documents 10000] [--chunks 10] [--rounds 3]

Builds a base of documents of ten short chunks each with a deterministic 384-wide model that answers at once (vectors
only), then builds it again without a change and with one changed document, and prints the ratios to the cold build and
the texts that reached the model. Peak memory is that of processes of their own, at a tenth of the size and at the full
size. The ledger's cost is that of cold builds with it over cold builds without it, in turn. Throughput is that of the
embedding step with a model that takes 50 ms a request of 32 texts, 2 requests at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks.bench_build import BenchWorkspace, InstantEmbedder
from lorebase.artifacts.ledger import Ledger, LedgerWriter
from lorebase.knowledge_base import KnowledgeBase
from lorebase.models.ports import Embedder, EmbeddingBatch
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.runs.records import RecipeRunRecord

SMALL_BATCH = 32
SLOTS = 2
RECIPE = """
name: bench
sources: [{{folder: documents}}]
models: {{embedding: {{provider: bench}}}}
procedures:
  - name: index
    steps:
      - parse_documents: {{}}
      - split_documents: {{max_tokens: 120}}
      - embed_chunks: {{batch_texts: {batch}}}
      - index_vectors: {{}}
"""


class CountingEmbedder(InstantEmbedder):
    """Counts the texts that reach it."""

    sent = 0

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """A vector for each text."""
        type(self).sent += len(texts)
        return await super().embed_passages(texts)


class CountingWorkspace(BenchWorkspace):
    """A local workspace whose embedder counts."""

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """The embedder of the benchmark."""
        del spec
        return CountingEmbedder(self.latency_seconds, self.concurrent_requests)


def write_documents(folder: Path, documents: int, chunks: int) -> None:
    """Documents of short sections; text of a fixed seed."""
    words = [f"w{number}" for number in range(5000)]
    source = random.Random(1)
    folder.mkdir(parents=True)
    for number in range(documents):
        sections = [f"## Section {place}\n\n{' '.join(source.choices(words, k=80))}." for place in range(chunks)]
        (folder / f"{number:06}.md").write_text("\n\n".join(sections) + "\n")


async def build(recipe: KnowledgeRecipe, workspace: CountingWorkspace) -> tuple[float, RecipeRunRecord, int]:
    """Seconds, record, and texts that reached the model."""
    CountingEmbedder.sent = 0
    begun = time.perf_counter()
    result = await KnowledgeBase(recipe.name, workspace).rebuild(recipe)
    seconds = time.perf_counter() - begun
    assert result.record.status == "succeeded", result.record.error
    return seconds, result.record, CountingEmbedder.sent


@contextmanager
def without_ledger() -> Iterator[None]:
    """Builds in this context keep no ledger: its methods do nothing."""
    nothing: list[tuple[type, str, Callable[..., object]]] = [
        (Ledger, "lookup", lambda *_: {}),
        (Ledger, "seal", lambda *_: None),
        (Ledger, "drop_segments", lambda *_: None),
        (LedgerWriter, "record", lambda *_: None),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in nothing]
    for owner, name, method in nothing:
        setattr(owner, name, method)
    try:
        yield
    finally:
        for owner, name, method in before:
            setattr(owner, name, method)


async def ledger_cost(folder: Path, documents: int, chunks: int, rounds: int) -> None:
    """Cold builds with and without a ledger, in turn."""
    write_documents(folder / "documents", documents, chunks)
    recipe = parse_recipe(RECIPE.format(batch=256), folder=folder)
    spent: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds + 1):
        for kept in (True, False):
            shutil.rmtree(folder / "workspace", ignore_errors=True)
            with nullcontext() if kept else without_ledger():
                seconds, _, _ = await build(recipe, CountingWorkspace(folder / "workspace"))
            if number:  # the first pair warms imports
                spent[kept].append(seconds)
    kept, bare = statistics.median(spent[True]), statistics.median(spent[False])
    size = documents * chunks
    print(f"cold build of {size} chunks: {kept:.2f} s with the ledger, {bare:.2f} s without, ratio {kept / bare:.3f}")


async def again(folder: Path, documents: int, chunks: int, rounds: int) -> None:
    """Cold, unchanged and changed builds."""
    write_documents(folder / "documents", documents, chunks)
    recipe = parse_recipe(RECIPE.format(batch=256), folder=folder)
    workspace = CountingWorkspace(folder / "workspace")
    cold, _, sent = await build(recipe, workspace)
    print(f"cold build of {documents * chunks} chunks: {cold:.1f} s, {sent} texts to the model")
    unchanged = []
    for _ in range(rounds):
        seconds, _, sent = await build(recipe, workspace)
        unchanged.append(seconds)
        assert sent == 0, sent
    ratio = statistics.median(unchanged) / cold
    print(f"nothing changed: {statistics.median(unchanged):.2f} s, {ratio:.2%} of the cold build, 0 texts to the model")
    changed = []
    for number in range(rounds):
        path = folder / "documents" / f"{number * 97:06}.md"
        path.write_text(path.read_text() + f"\n## New\n\nWhat was added in round {number}.\n")
        seconds, _, sent = await build(recipe, workspace)
        changed.append(seconds)
    ratio = statistics.median(changed) / cold
    print(f"one document changed: {statistics.median(changed):.2f} s, {ratio:.2%} of the cold build, {sent} texts sent")


async def throughput(folder: Path) -> None:
    """How near the embedding step comes to what the model can do."""
    write_documents(folder / "documents", 400, 10)
    recipe = parse_recipe(RECIPE.format(batch=SMALL_BATCH), folder=folder)
    workspace = CountingWorkspace(folder / "workspace")
    workspace.latency_seconds = 0.05
    workspace.concurrent_requests = SLOTS
    _, record, sent = await build(recipe, workspace)
    seconds = next(step.seconds for step in record.step_records if step.step_type == "embed_chunks")
    ideal = SLOTS * SMALL_BATCH / workspace.latency_seconds
    print(
        f"50 ms a request: {sent / seconds:.0f} chunks/s where {ideal:.0f} are possible, {sent / seconds / ideal:.1%}"
    )


def peak_memory(documents: int, chunks: int) -> int:
    """Peak memory in KB of a process that builds cold."""
    command = [sys.executable, "-m", "benchmarks.bench_rebuild", "--memory", str(documents), "--chunks", str(chunks)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-rebuild-"))
    try:
        if options.memory:
            write_documents(folder / "documents", options.memory, options.chunks)
            recipe = parse_recipe(RECIPE.format(batch=256), folder=folder)
            asyncio.run(build(recipe, CountingWorkspace(folder / "workspace")))
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            return
        asyncio.run(throughput(folder / "throughput"))
        asyncio.run(ledger_cost(folder / "ledger", options.documents // 10, options.chunks, options.rounds))
        asyncio.run(again(folder / "again", options.documents, options.chunks, options.rounds))
        small, large = (peak_memory(size, options.chunks) for size in (options.documents // 10, options.documents))
        print(
            f"peak memory: {small / 1024:.0f} MB at {options.documents // 10 * options.chunks} chunks, "
            f"{large / 1024:.0f} MB at {options.documents * options.chunks}: ratio {large / small:.2f}"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
