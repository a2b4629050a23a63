"""What a search costs over the bare store call: 10,000 chunks, filtered vector, full text, hybrid.

    python -m benchmarks.bench_search [--chunks 10000] [--queries 200]

Builds a base of short chunks with a deterministic 384-wide model and asks the same queries through the knowledge base
and as bare calls of the same embedded store, in turn. Prints medians in milliseconds and ratios. The bare calls search;
the query also embeds, checks every candidate against the live snapshot, and makes citations.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.bench_build import BenchWorkspace
from lorebase.index.ports import LexicalIndex, VectorIndex
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.retrieval.request import SEARCHABLE

TOP_K = 10
RECIPE = """
name: bench
sources: [{folder: documents}]
models: {embedding: {provider: bench}}
procedures: [{use: hybrid_index, with: {max_tokens: 120}}]
"""


def write_documents(folder: Path, chunks: int) -> list[str]:
    """Documents of 100 short sections each; returns the words they are made of."""
    words = [f"{first}{second}{third}" for first in "bdfgk" for second in "aeiou" for third in "lmnrstvz"]
    words += [word + other for word in words[:100] for other in words[100:130]]
    source = random.Random(1)
    folder.mkdir(parents=True)
    for number in range(chunks // 100):
        sections = [f"## Section {section}\n\n{' '.join(source.choices(words, k=80))}." for section in range(100)]
        (folder / f"{number:05}.md").write_text("\n\n".join(sections) + "\n")
    return words


async def seconds_of(act: Callable[[], Awaitable[object]]) -> float:
    """How long one call takes."""
    begun = time.perf_counter()
    await act()
    return time.perf_counter() - begun


async def run(folder: Path, chunks: int, queries: int) -> None:
    """Build, then ask in turn."""
    words = write_documents(folder / "documents", chunks)
    workspace = BenchWorkspace(folder / "workspace")
    base = await KnowledgeBase.create(parse_recipe(RECIPE, folder=folder), workspace)
    snapshot = base.snapshot()
    embedder = await workspace.open_embedder(None)  # type: ignore[arg-type]  # the benchmark's embedder ignores the spec
    vectors: VectorIndex = workspace.index_store.vectors(
        base.name, snapshot.embedding_profile_id, snapshot.embedding_dimensions
    )
    lexical: LexicalIndex = workspace.index_store.lexical(base.name)
    source = random.Random(2)
    asked = [" ".join(source.choices(words, k=6)) for _ in range(queries)]
    where, recall = (SEARCHABLE,), 40
    names = ("bare vector", "vector", "bare full text", "full text", "hybrid")
    spent: dict[str, list[float]] = {name: [] for name in names}
    for number, query in enumerate(asked):
        vector = (await embedder.embed_queries([query])).vectors[0]
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "bare vector": lambda vector=vector: vectors.search(vector, where, recall),
            "vector": lambda query=query: base.query(query, mode="vector_search", top_k=TOP_K),
            "bare full text": lambda query=query: lexical.search(query, where, recall),
            "full text": lambda query=query: base.query(query, mode="full_text_search", top_k=TOP_K),
            "hybrid": lambda query=query: base.query(query, mode="hybrid_search", top_k=TOP_K),
        }
        for name, call in calls.items():
            taken = await seconds_of(call)
            if number >= queries // 10:  # the first tenth warms caches
                spent[name].append(taken)
    await base.close()
    medians = {name: statistics.median(values) * 1000 for name, values in spent.items()}
    print(f"{snapshot.chunks} chunks, filter searchable, {queries} queries, medians in ms:")
    for name, value in medians.items():
        print(f"  {name:<15} {value:7.2f}")
    bare_sum = medians["bare vector"] + medians["bare full text"]
    print(f"vector / bare {medians['vector'] / medians['bare vector']:.2f}")
    print(f"full text / bare {medians['full text'] / medians['bare full text']:.2f}")
    print(f"hybrid / sum of its bare calls {medians['hybrid'] / bare_sum:.2f}")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-search-") as folder:
        asyncio.run(run(Path(folder), options.chunks, options.queries))


if __name__ == "__main__":
    sys.exit(main())
