"""What governance costs a retrieval: filters, re-check against the releases, citations, over the bare index search.

    [LOREBASE_TEST_POSTGRES_URL=...] python -m benchmarks.bench_retrieve [--chunks 100000] [--queries 200]

Chunks of 200 topics, all live, lie in the embedded index and in the database (SQLite where no PostgreSQL is named).
Each question is asked twice, in turn: of the index alone, with the same filter and width, and of governed retrieval.
Both embed it with the same model, which answers at once. Prints medians, their difference and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from lorebase.adapters.databases import open_database
from lorebase.adapters.parsers.office_containers import check_container
from lorebase.clock import SystemClock
from lorebase.database import Database
from lorebase.governance.bases import GovernedBase
from lorebase.governance.context import ALL_CAPABILITIES, PrincipalContext
from lorebase.governance.migrating import migrate
from lorebase.governance.row_ids import SnowflakeIds
from lorebase.governance.service import Governance
from lorebase.governance.settings import GovernanceSettings
from lorebase.governance.store import Store
from lorebase.governance.tables import chunks, items, releases, revisions
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.index.ports import EntityFields, Equals, VectorEntity
from lorebase.models.ports import Embedder, EmbeddingBatch, EmbeddingProfile
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.models.vectors import unit_rows
from lorebase.recipes.loading import parse_recipe
from lorebase.retrieval.answerability import RESULTS_READ
from lorebase.retrieval.governed.request import RetrievalRequest
from lorebase.retrieval.request import SEARCHABLE, checked_request
from lorebase.retrieval.search import embed_query
from lorebase.workspace import Workspace

AUTHOR = PrincipalContext(organ_id=7, user_id="bench", capabilities=ALL_CAPABILITIES)

TOPICS = 200
DIMENSIONS = 384
BATCH = 5000
RECIPE = (
    "name: handbook\ngovernance: reviewed\nmodels: {embedding: {provider: local}}\nprocedures: [{use: vector_index}]\n"
)


class InstantEmbedder:
    """A model that answers at once: the direction of a text is drawn from its checksum."""

    profile = EmbeddingProfile("bench", "drawn", DIMENSIONS, 512, min_score=0.0)
    max_concurrency = 4

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors of unit length."""
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIMENSIONS) for text in texts]
        return EmbeddingBatch(unit_rows(np.asarray(rows, dtype=np.float32)))

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """As `embed_passages`."""
        return await self.embed_passages(texts)

    async def close(self) -> None:
        """Nothing is held."""


class BenchWorkspace(Workspace):
    """A workspace whose embedding model costs nothing."""

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """The model."""
        del spec
        return InstantEmbedder()


@contextmanager
def opened_database(folder: Path) -> Iterator[Database]:
    """An empty database, on the PostgreSQL that the environment names where it does."""
    given = os.environ.get("LOREBASE_TEST_POSTGRES_URL")
    if not given:
        database = open_database(f"sqlite:///{folder / 'governance.db'}")
        migrate(database)
        yield database
        database.close()
        return
    server, name = make_url(given).set(drivername="postgresql+psycopg"), f"lorebase_bench_{uuid4().hex[:12]}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    database = open_database(server.set(database=name).render_as_string(hide_password=False))
    try:
        migrate(database)
        yield database
    finally:
        database.close()
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}"))
        engine.dispose()


def text_of(number: int) -> str:
    """The text of a chunk."""
    return f"Rule {number} of topic {number % TOPICS}: reports of kind {number % 97} are due within {number % 60} days."


async def fill(database: Database, base: GovernedBase, count: int) -> None:
    """Write topics, revisions, releases, chunks and entities, all live."""
    organ = {"organ_id": AUTHOR.organ_id}
    with database.transaction() as connection:
        for topic in range(1, TOPICS + 1):
            same = {"id": topic, "created_by": "bench", **organ}
            connection.execute(
                items.insert().values(base_id=base.base_id, knowledge_key=f"topic-{topic}", title="Topic", **same)
            )
            state = {"revision_number": 1, "status": "PUBLISHED", "index_status": "INDEXED", "source_kind": "file"}
            connection.execute(
                revisions.insert().values(item_id=topic, embedding_profile=base.profile_id, **state, **same)
            )
            connection.execute(
                releases.insert().values(id=topic, item_id=topic, active_revision_id=topic, version=1, **organ)
            )
    vectors = base.vectors()
    embedder = base.context.embedder
    assert vectors is not None
    assert embedder is not None
    place = {"document_name": "rules.md", "start": 0, "end": 80, "heading_path": ["Rules"], "tokens": 20}
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        rows = [
            {
                "id": 1_000_000 + number,
                "base_id": base.base_id,
                "item_id": number % TOPICS + 1,
                "revision_id": number % TOPICS + 1,
                "position": number,
                "text": text_of(number),
                "text_sha256": "0" * 64,
                "embedding_profile": base.profile_id,
                "place_json": place,
                **organ,
            }
            for number in numbers
        ]
        with database.transaction() as connection:
            connection.execute(chunks.insert(), rows)
        batch = await embedder.embed_passages([text_of(number) for number in numbers])
        await vectors.upsert(
            [
                VectorEntity(
                    EntityFields(
                        chunk_id=str(1_000_000 + number),
                        document_id=str(number % TOPICS + 1),
                        revision_id=str(number % TOPICS + 1),
                        base_id=base.base_id,
                        organ_id=AUTHOR.organ_id,
                        searchable=True,
                    ),
                    np.asarray(vector, dtype=np.float32),
                )
                for number, vector in zip(numbers, batch.vectors, strict=True)
            ]
        )


async def measure(
    knowledge: GovernedKnowledge, base: GovernedBase, count: int, queries: int
) -> tuple[list[float], list[float]]:
    """Seconds of each question: of the bare index, and of governed retrieval."""
    vectors, embedder = base.vectors(), base.context.embedder
    assert vectors is not None
    assert embedder is not None
    where = (SEARCHABLE, Equals("organ_id", AUTHOR.organ_id))
    bare: list[float] = []
    governed: list[float] = []
    for number in range(queries + 5):
        question = text_of(number * 7919 % count)
        width = checked_request(question, RESULTS_READ, ()).recall
        started = time.perf_counter()
        await vectors.search(await embed_query(embedder, question), where, width)
        bare.append(time.perf_counter() - started)
        started = time.perf_counter()
        found = await knowledge.retrieval.retrieve(
            AUTHOR, RetrievalRequest(base_id=base.base_id, query=question, mode="vector_search")
        )
        governed.append(time.perf_counter() - started)
        if not found.answerable:
            sys.exit(f"No evidence for {question!r}: the benchmark measures nothing.")
    return bare[5:], governed[5:]  # without those that warm up


async def run(count: int, queries: int) -> None:
    """Fill, measure, print."""
    with tempfile.TemporaryDirectory() as folder, opened_database(Path(folder)) as database:
        clock = SystemClock()
        workspace = BenchWorkspace(Path(folder))
        store = Store(database, clock, SnowflakeIds(clock, 0), GovernanceSettings())
        governance = Governance.over(store, workspace.object_store, check_container=check_container)
        async with GovernedKnowledge(workspace, governance) as knowledge:
            knowledge.bases.recipes.remember(parse_recipe(RECIPE))
            base = await knowledge.bases.open("handbook")
            await fill(database, base, count)
            with database.transaction() as connection:
                connection.execute(text("ANALYZE"))  # what the server does by itself after a while
            bare, governed = await measure(knowledge, base, count, queries)
        of_bare, of_governed = statistics.median(bare) * 1000, statistics.median(governed) * 1000
        sys.stdout.write(
            f"{count} chunks, {queries} questions, {database.engine.dialect.name}: bare index {of_bare:.1f} ms, "
            f"governed {of_governed:.1f} ms, difference {of_governed - of_bare:.1f} ms, "
            f"ratio {of_governed / of_bare:.2f} (target 1.50)\n"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args()
    asyncio.run(run(given.chunks, given.queries))
