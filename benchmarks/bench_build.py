"""What orchestration costs: the same build inline and through Prefect, with a model that answers at once and in 50 ms.

    python -m benchmarks.bench_build [--documents 100] [--chunks 20] [--rounds 3] [--full-text]

Builds documents of about 1,000 tokens a chunk with a deterministic 384-wide model inside this process, on a local
object store and the embedded index. Inline is the bare loop: the same functions as plain coroutines. The Prefect server
is started before and not counted. Prints medians and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lorebase.knowledge_base import KnowledgeBase
from lorebase.models.ports import Embedder, EmbeddingBatch, EmbeddingProfile, ModelUsage
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.workspace import Workspace

DIMENSIONS = 384
WORDS_A_CHUNK = 1000
CONCURRENT_REQUESTS = 8
BATCH_TEXTS = 256

RECIPE = f"""
name: bench
sources: [{{folder: documents}}]
models: {{embedding: {{provider: bench}}}}
procedures:
  - name: index
    steps:
      - parse_documents: {{}}
      - split_documents: {{max_tokens: 1024}}
      - embed_chunks: {{batch_texts: {BATCH_TEXTS}}}
      - index_vectors: {{}}
"""
FULL_TEXT_STEP = "      - index_full_text: {}\n"


class InstantEmbedder:
    """Vectors from a hash of each text, after a fixed wait; only so many requests at a time."""

    def __init__(self, latency_seconds: float, concurrent_requests: int = CONCURRENT_REQUESTS) -> None:
        self._latency_seconds = latency_seconds
        self._slots = asyncio.Semaphore(concurrent_requests)
        self.max_concurrency = concurrent_requests
        self.profile = EmbeddingProfile("bench", "hash", DIMENSIONS, 8192)

    def count_tokens(self, text: str) -> int:
        """Words."""
        return text.count(" ") + text.count("\n") + 1 if text else 0

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """A vector for each text."""
        async with self._slots:
            await asyncio.sleep(self._latency_seconds)
        rows = [np.random.default_rng(abs(hash(text))).standard_normal(DIMENSIONS, dtype=np.float32) for text in texts]
        vectors = np.stack(rows) if rows else np.zeros((0, DIMENSIONS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return EmbeddingBatch(vectors, usage=ModelUsage(calls=1, input_tokens=sum(map(len, texts)) // 5))

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """As passages."""
        return await self.embed_passages(texts)

    async def close(self) -> None:
        """Nothing is open."""


class BenchWorkspace(Workspace):
    """A local workspace with that embedder."""

    latency_seconds = 0.0
    concurrent_requests = CONCURRENT_REQUESTS

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """The embedder of the benchmark."""
        del spec
        return InstantEmbedder(self.latency_seconds, self.concurrent_requests)


def write_documents(folder: Path, documents: int, chunks: int) -> None:
    """Documents of that many sections, each one chunk long; text of a fixed seed."""
    words = [f"w{number}" for number in range(5000)]
    source = random.Random(1)
    folder.mkdir(parents=True)
    for number in range(documents):
        sections = [
            f"## Section {section}\n\n{' '.join(source.choices(words, k=WORDS_A_CHUNK))}." for section in range(chunks)
        ]
        (folder / f"document-{number:05}.md").write_text("\n\n".join([f"# Document {number}", *sections, ""]))


async def build_inline(recipe: KnowledgeRecipe, workspace: Workspace) -> float:
    """Seconds of a build as plain coroutines."""
    begun = time.perf_counter()
    result = await KnowledgeBase(recipe.name, workspace).rebuild(recipe)
    seconds = time.perf_counter() - begun
    assert result.record.status == "succeeded", result.record.error
    return seconds


async def build_with_prefect(recipe: KnowledgeRecipe, workspace: Workspace) -> float:
    """Seconds of the same build as a Prefect flow run, from its call to its return."""
    from prefect import flow  # noqa: PLC0415 (only this half needs Prefect)

    from flows.execution import PrefectExecutor  # noqa: PLC0415 (as above)
    from flows.reporting import PrefectProgress  # noqa: PLC0415 (as above)
    from flows.results import save_result_storage  # noqa: PLC0415 (as above)

    results = await save_result_storage(workspace)

    @flow(name="bench")
    async def bench() -> None:
        executor = PrefectExecutor(recipe.name, results=results)
        progress = PrefectProgress(recipe.name)
        result = await KnowledgeBase(recipe.name, workspace).rebuild(recipe, executor=executor, progress=progress)
        assert result.record.status == "succeeded", result.record.error

    begun = time.perf_counter()
    await bench()
    return time.perf_counter() - begun


def main() -> None:
    """Measure and print."""
    from flows.local_server import workspace_server  # noqa: PLC0415 (as above)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--full-text", action="store_true", help="also index the words")
    options = parser.parse_args()
    chunks = options.documents * options.chunks
    folder = Path(tempfile.mkdtemp(prefix="bench-build-"))
    try:
        write_documents(folder / "documents", options.documents, options.chunks)
        recipe = parse_recipe(RECIPE + (FULL_TEXT_STEP if options.full_text else ""), folder=folder)
        print(f"{chunks} chunks of about {WORDS_A_CHUNK} tokens in {options.documents} documents")
        with workspace_server(folder / "server") as url:
            for latency in (0.05, 0.0):
                measure(recipe, folder, url, latency, chunks, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(recipe: KnowledgeRecipe, folder: Path, url: str, latency: float, chunks: int, rounds: int) -> None:
    """Both ways side by side, round by round, so that noise of the machine falls on both."""
    from flows.local_server import with_prefect  # noqa: PLC0415 (as above)

    def fresh(name: str) -> BenchWorkspace:
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        workspace = BenchWorkspace(place)
        workspace.latency_seconds = latency
        return workspace

    seconds: dict[str, list[float]] = {"inline": [], "prefect": []}
    for number in range(rounds + 1):
        inline = asyncio.run(build_inline(recipe, fresh("inline")))
        prefect = asyncio.run(with_prefect(url, lambda: build_with_prefect(recipe, fresh("prefect"))))
        if number:  # the first round only warms imports and files
            seconds["inline"].append(inline)
            seconds["prefect"].append(prefect)
    bare, orchestrated = (statistics.median(seconds[name]) for name in ("inline", "prefect"))
    ratios = sorted(prefect / inline for inline, prefect in zip(seconds["inline"], seconds["prefect"], strict=True))
    print(
        f"{latency * 1000:.0f} ms a request: bare loop {bare:.2f} s ({chunks / bare:.0f} chunks/s), "
        f"Prefect {orchestrated:.2f} s ({chunks / orchestrated:.0f} chunks/s), "
        f"ratio {orchestrated / bare:.3f} (pairs {', '.join(f'{ratio:.3f}' for ratio in ratios)})"
    )


if __name__ == "__main__":
    sys.exit(main())
