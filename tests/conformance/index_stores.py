"""The index stores that the conformance suites of vectors and of words go through."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.adapters.milvus.closed_file import LittleWrites
from lorebase.index.ports import EntityFields, IndexStore
from tests.fakes.closing_index import ClosingIndexStore
from tests.fakes.memory_index import MemoryIndexStore

EMBEDDED_AND_FAKE = ["embedded", "closed", "memory"]


@asynccontextmanager
async def opened(kind: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[IndexStore]:
    if kind == "memory":
        made: IndexStore = MemoryIndexStore()
    elif kind == "embedded":
        made = MilvusIndexStore.in_folder(folder)
    elif kind == "closed":  # what an embedded index does in its file while no Milvus serves that
        made = ClosingIndexStore(MilvusIndexStore.in_folder(folder, little=LittleWrites(least_rows=0, times=0)))
    else:
        server = request.getfixturevalue("milvus")
        made = MilvusIndexStore.on_server(server.uri, token=server.token.get_secret_value() if server.token else "")
    yield made
    await made.close()


@pytest.fixture
def base_name() -> str:
    return f"base-{uuid.uuid4().hex[:12]}"


def fields_of(
    chunk_id: str, *, document_id: str = "doc-1", tags: Sequence[str] = (), organ_id: int = 0
) -> EntityFields:
    return EntityFields(chunk_id, document_id, "rev-1", "base", organ_id, searchable=True, tags=tuple(tags))
