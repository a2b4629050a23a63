"""Governed knowledge over a SQLite file: fixtures for suites that import them, and a base by vectors alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lorebase.adapters.databases import open_database
from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.database import Database
from lorebase.governance.migrating import migrate
from lorebase.recipes.loading import parse_recipe
from tests.governance.knowledge_world import KnowledgeWorld

_STEPS = [{"parse_documents": {}}, {"split_documents": {}}, {"embed_chunks": {}}, {"index_vectors": {}}]


def sqlite_database(folder: Path) -> Database:
    """A database in a folder, with its tables."""
    made = open_database(f"sqlite:///{folder / 'governance.db'}")
    migrate(made)
    return made


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = sqlite_database(tmp_path)
    yield made
    made.close()


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[KnowledgeWorld]:
    made = KnowledgeWorld(database, tmp_path)
    yield made
    await made.close()


@asynccontextmanager
async def world_by_vectors(folder: Path, store: MilvusIndexStore, base: str) -> AsyncIterator[KnowledgeWorld]:
    """A world in which a base has no index of words; what it opened, and the store, are closed at the end."""
    database = sqlite_database(folder)
    made = KnowledgeWorld(database, folder, index_store=store)
    made.knowledge.bases.recipes.remember(
        parse_recipe(
            f"name: {base}\ngovernance: reviewed\nmodels: {{embedding: {{provider: local}}}}\n"
            f"procedures: [{{name: index, steps: {_STEPS}}}]"
        )
    )
    try:
        yield made
    finally:
        await made.close()
        await store.close()
        database.close()
