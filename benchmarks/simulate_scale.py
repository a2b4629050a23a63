"""What a build of many documents needs: task runs, objects, requests to the object store, cost and memory.

    python -m benchmarks.simulate_scale [--chunks 10] [--dimensions 1024] [--workers 16] [--check]

The code that plans builds divides synthetic manifests of 10,000 to 10,000,000 documents into task runs; requests are
then counted by what one task run does. With `--check` a small base is really built over a store that counts, and both
counts are printed. Nothing else is built, and no model is called.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_build import BATCH_TEXTS, BenchWorkspace, write_documents
from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import Manifest, PartitionEntry
from lorebase.documents.model import SourceDocument
from lorebase.fingerprint import fingerprint
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.runs.planning import BYTES_OF_A_CHUNK, group_partitions, partitions_of_step
from lorebase.runs.step import Step
from steps.embed_chunks import EmbedChunks
from steps.parse_documents import ParseDocuments
from steps.split_documents import SplitDocuments

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
CHUNKS_OF_A_PARTITION = 25_000
TOKENS_OF_A_CHUNK = 400
TASK_RUN_SECONDS = 0.2
"""Prefect's share of one task run that another process does."""

USD_PER_PUT, USD_PER_GET, USD_PER_GB_MONTH = 5e-6, 4e-7, 0.023
USD_PER_MILLION_TOKENS = 0.02
"""List prices of S3 (us-east-1) and of a small embedding model in 2026; set your own."""

LONG_CHUNKS_OF_A_CALL = 42
"""Chunks of 1,000 words that one call takes: it ends at 250,000 characters."""

LEDGER_BYTES_AN_ITEM = 16 + 8
PYTHON_BYTES_A_CHUNK = 2_500
"""A chunk as it lies in memory while its task run works on it: text, places, headings."""

RECIPE = f"""
name: counted
sources: [{{folder: documents}}]
models: {{embedding: {{provider: bench}}}}
partitions: 16
procedures:
  - name: index
    steps:
      - parse_documents: {{}}
      - split_documents: {{max_tokens: 1024}}
      - embed_chunks: {{batch_texts: {BATCH_TEXTS}}}
"""


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests to the object store; listings are priced as writes."""

    gets: int = 0
    puts: int = 0
    lists: int = 0
    heads: int = 0
    deletes: int = 0

    def __add__(self, other: Requests) -> Requests:
        return Requests(
            self.gets + other.gets,
            self.puts + other.puts,
            self.lists + other.lists,
            self.heads + other.heads,
            self.deletes + other.deletes,
        )

    @property
    def usd(self) -> float:
        """What they cost."""
        return (self.puts + self.lists) * USD_PER_PUT + (self.gets + self.heads) * USD_PER_GET


@dataclass(frozen=True, slots=True)
class Simulated:
    """One size of base."""

    documents: int
    partitions: int
    task_runs: int
    model_calls: int
    objects: int
    stored_bytes: int
    requests: Requests
    ledger_gets: int
    task_run_bytes: int
    ledger_bytes: int
    scan_bytes: int


def manifest_of(artifact: str, partitions: int, rows: int, row_bytes: int) -> Manifest:
    """An artifact whose rows are spread evenly."""
    share, rest = divmod(rows, partitions)
    entries = []
    for index in range(min(partitions, rows)):
        count = share + (index < rest)
        digest = fingerprint("simulated", artifact, index) * 2
        entries.append(PartitionEntry(index=index, sha256=digest, rows=count, size_bytes=count * row_bytes))
    return Manifest(artifact=artifact, step_fingerprint="s", partition_count=partitions, partitions=tuple(entries))


def of_step(step: Step, inputs: dict[str, Manifest], *, segments: Callable[[int], int]) -> tuple[int, Requests]:
    """Task runs and requests of one step that is built for the first time.

    Args:
        step: The step.
        inputs: What it reads.
        segments: Ledger segments of a task run by its rows of the first input.
    """
    works = partitions_of_step(step, "s", inputs)
    groups = group_partitions(works)
    total = Requests(lists=1)  # what earlier builds have finished
    has_ledger = step.produces.item_key is not None
    total += Requests(lists=2, puts=0) if has_ledger else Requests()
    for group in groups:
        reads = sum(len(entries) for work in group.partitions for entries in work.inputs.values())
        rows = sum(work.inputs[step.requires[0].name][0].rows for work in group.partitions)
        made = len(group.partitions)
        total += Requests(gets=reads, heads=made, puts=made + 1)  # each object, and the group's record
        if has_ledger:
            total += Requests(puts=made + segments(rows), lists=1, deletes=1)
    return len(groups), total


def simulate(documents: int, chunks: int, dimensions: int, workers: int) -> Simulated:
    """What the first build of a base takes."""
    all_chunks = documents * chunks
    partitions = min(4096, max(64, -(-all_chunks // CHUNKS_OF_A_PARTITION)))
    sources = manifest_of(SOURCE_DOCUMENTS.name, partitions, documents, 150)
    parsed = manifest_of("parsed_documents", partitions, documents, BYTES_OF_A_CHUNK * chunks)
    cut = manifest_of("chunks", partitions, all_chunks, 900)
    vectors = manifest_of("embeddings", partitions, all_chunks, 4 * dimensions + 60)
    steps: list[tuple[Step, dict[str, Manifest], Callable[[int], int]]] = [
        (ParseDocuments(), {SOURCE_DOCUMENTS.name: sources}, lambda rows: -(-rows // 256)),
        (SplitDocuments(), {"parsed_documents": parsed, SOURCE_DOCUMENTS.name: sources}, lambda rows: -(-rows // 256)),
        (EmbedChunks(), {"chunks": cut}, lambda rows: -(-rows // BATCH_TEXTS)),
    ]
    task_runs, requests = 0, Requests(puts=2 * len(sources.partitions), heads=len(sources.partitions))
    ledger_gets = 0
    for step, inputs, segments in steps:
        groups, asked = of_step(step, inputs, segments=segments)
        task_runs += groups
        requests += asked
        if step.produces.item_key is not None and workers > 1:
            # Another process opens the ledger for each group, and reads the key files that are there by then.
            ledger_gets += groups * partitions // 2
    artifacts = (sources, parsed, cut, vectors)
    largest = max(entry.rows for entry in cut.partitions)
    return Simulated(
        documents=documents,
        partitions=partitions,
        task_runs=task_runs,
        model_calls=-(-all_chunks // BATCH_TEXTS),
        objects=sum(len(one.partitions) for one in artifacts) + task_runs + 2 * partitions,
        stored_bytes=sum(entry.size_bytes for one in artifacts for entry in one.partitions),
        requests=requests,
        ledger_gets=ledger_gets,
        task_run_bytes=largest * (PYTHON_BYTES_A_CHUNK + 3 * 4 * dimensions),
        ledger_bytes=all_chunks * LEDGER_BYTES_AN_ITEM,
        scan_bytes=documents * bytes_of_a_scanned_document(),
    )


def bytes_of_a_scanned_document(sample: int = 5_000) -> int:
    """Bytes that a document takes in the list of the scan, measured."""
    tracemalloc.start()
    rows = [
        SourceDocument(f"doc-{number:032x}", f"folder/{number:09}.md", "documents", f"/documents/{number:09}.md",
                       f"{number:064x}", 5000)
        for number in range(sample)
    ]  # fmt: skip
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size // len(rows)


class CountingStore(LocalObjectStore):
    """Counts the requests that reach objects of partitions and their records, as the simulation does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.counts: Counter[str] = Counter()

    def get(self, key: str) -> bytes:
        """Counted where it is part of a partition."""
        self.counts["get"] += "/objects/" in key
        return super().get(key)

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """As `get`."""
        self.counts["put"] += any(part in key for part in ("/objects/", "/finished/", "/ledger/"))
        super().put(key, content, durable=durable)

    def exists(self, key: str) -> bool:
        """As `get`."""
        self.counts["head"] += "/objects/" in key
        return super().exists(key)

    def delete(self, keys: Iterable[str]) -> None:
        """Counted where segments go."""
        gone = list(keys)
        self.counts["delete"] += any("/ledger/" in key for key in gone)
        super().delete(gone)


class CountedWorkspace(BenchWorkspace):
    """A workspace whose store counts."""

    store: CountingStore

    @property
    def object_store(self) -> CountingStore:
        """The store."""
        return self.store


async def check(documents: int, sections: int) -> list[tuple[str, int, int]]:
    """Kind of request, how many a real build made, how many the simulation says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "documents", documents, sections)
        workspace = CountedWorkspace(folder / "workspace")
        workspace.store = CountingStore(folder / "objects")
        recipe = parse_recipe(RECIPE, folder=folder)
        record = (await KnowledgeBase(recipe.name, workspace).rebuild(recipe)).record
        assert record.status == "succeeded", record.error
        rows = {name: reference.rows for name, reference in record.artifacts.items()}
    partitions = recipe.partitions
    sources = manifest_of(SOURCE_DOCUMENTS.name, partitions, documents, 150)
    parsed = manifest_of("parsed_documents", partitions, documents, 7000)
    cut = manifest_of("chunks", partitions, rows["chunks"], 900)
    total = Requests(puts=len(sources.partitions), heads=len(sources.partitions))
    steps: tuple[tuple[Step, dict[str, Manifest], Callable[[int], int]], ...] = (
        (ParseDocuments(), {SOURCE_DOCUMENTS.name: sources}, lambda _: 0),  # written down when sealed, before 5 seconds
        (SplitDocuments(), {"parsed_documents": parsed, SOURCE_DOCUMENTS.name: sources}, lambda _: 0),
        (EmbedChunks(), {"chunks": cut}, lambda count: -(-count // LONG_CHUNKS_OF_A_CALL)),
    )
    for step, inputs, segments in steps:
        total += of_step(step, inputs, segments=segments)[1]
    seen = workspace.store.counts
    return [
        ("get", seen["get"], total.gets),
        ("put", seen["put"], total.puts),
        ("head", seen["head"], total.heads),
    ]


def table(rows: Sequence[Simulated], chunks: int) -> str:
    """The simulation as a table of Markdown."""
    usd_of_a_chunk = TOKENS_OF_A_CHUNK / 1e6 * USD_PER_MILLION_TOKENS
    columns: list[tuple[str, Callable[[Simulated], str]]] = [
        ("documents", lambda one: f"{one.documents:,}"),
        ("partitions", lambda one: f"{one.partitions:,}"),
        ("task runs", lambda one: f"{one.task_runs:,}"),
        ("orchestration, minutes of all workers", lambda one: f"{one.task_runs * TASK_RUN_SECONDS / 60:,.1f}"),
        ("calls of the embedding model", lambda one: f"{one.model_calls:,}"),
        ("objects kept", lambda one: f"{one.objects:,}"),
        ("GB kept", lambda one: f"{one.stored_bytes / 1e9:,.1f}"),
        ("puts and lists", lambda one: f"{one.requests.puts + one.requests.lists:,}"),
        ("gets and heads", lambda one: f"{one.requests.gets + one.requests.heads:,}"),
        ("gets of the ledger, other processes", lambda one: f"{one.ledger_gets:,}"),
        ("USD, requests", lambda one: f"{one.requests.usd + one.ledger_gets * USD_PER_GET:,.2f}"),
        ("USD a month, storage", lambda one: f"{one.stored_bytes / 1e9 * USD_PER_GB_MONTH:,.2f}"),
        ("USD, embedding", lambda one: f"{one.documents * chunks * usd_of_a_chunk:,.2f}"),
        ("MB, one task run", lambda one: f"{one.task_run_bytes / 1e6:,.0f}"),
        ("MB, ledger of a step, each process", lambda one: f"{one.ledger_bytes / 1e6:,.0f}"),
        ("MB, scan, process of the flow", lambda one: f"{one.scan_bytes / 1e6:,.0f}"),
    ]  # fmt: skip
    lines = ["| | " + " | ".join(columns[0][1](one) for one in rows) + " |", "|---" + "|---:" * len(rows) + "|"]
    lines += [f"| {title} | " + " | ".join(show(one) for one in rows) + " |" for title, show in columns[1:]]
    return "\n".join(lines)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10, help="chunks of a document")
    parser.add_argument("--dimensions", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=16, help="processes of the task runner")
    parser.add_argument("--check", action="store_true", help="build a small base and compare the counts")
    options = parser.parse_args()
    rows = [simulate(size, options.chunks, options.dimensions, options.workers) for size in SIZES]
    print(table(rows, options.chunks))
    if options.check:
        for kind, real, simulated in asyncio.run(check(documents=60, sections=3)):
            print(f"{kind}: {real} in a real build, {simulated} simulated")


if __name__ == "__main__":
    main()
