"""Counts of the embedded Milvus that are known without asking it: only as long as nothing has changed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.index.ports import EntityFields, Equals, TextEntity, VectorEntity

SEARCHABLE = (Equals("searchable", value=True),)
PROFILE = "p" * 32

WRITER = """
import asyncio, os, signal, sys
from pathlib import Path
import numpy as np
from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.index.ports import EntityFields, VectorEntity

async def main():
    store = MilvusIndexStore.in_folder(Path(sys.argv[1]))
    vector = np.array([1, 0], dtype=np.float32)
    fields = EntityFields("written-elsewhere", "d", "r", "base", searchable=True)
    await store.vectors("base", "p" * 32, 2).upsert([VectorEntity(fields, vector)])
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    await store.close()

asyncio.run(main())
"""


def entity(chunk_id: str) -> VectorEntity:
    fields = EntityFields(chunk_id, "d", "r", "base", searchable=True)
    return VectorEntity(fields, np.array([1, 0], dtype=np.float32))


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A folder with an index of two searchable vectors that were counted before it was closed."""
    store = MilvusIndexStore.in_folder(tmp_path)
    vectors = store.vectors("base", PROFILE, 2)
    await vectors.upsert([entity("a"), entity("b")])
    await vectors.count(SEARCHABLE)
    await store.close()
    return tmp_path


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[MilvusIndexStore]:
    made = MilvusIndexStore.in_folder(folder)
    yield made
    await made.close()


def is_open(store: MilvusIndexStore) -> bool:
    return store._connection("base")._client is not None


async def test_a_count_of_an_untouched_file_opens_no_milvus(store: MilvusIndexStore) -> None:
    count = await store.vectors("base", PROFILE, 2).count(SEARCHABLE)

    assert (count, is_open(store)) == (2, False)


async def test_another_question_is_asked(store: MilvusIndexStore) -> None:
    count = await store.vectors("base", PROFILE, 2).count((Equals("document_id", "elsewhere"),))

    assert (count, is_open(store)) == (0, True)


async def test_a_write_to_another_collection_of_the_file_ends_what_is_known(
    folder: Path, store: MilvusIndexStore
) -> None:
    await store.lexical("base").upsert([TextEntity(EntityFields("a", "d", "r", "base"), "words")])

    assert not (folder / "base.db.counts").exists()
    assert await store.vectors("base", PROFILE, 2).count(SEARCHABLE) == 2


@pytest.mark.parametrize("act", ["upsert", "switch", "delete", "drop"])
async def test_after_each_kind_of_write_the_count_is_that_of_now(store: MilvusIndexStore, act: str) -> None:
    vectors = store.vectors("base", PROFILE, 2)
    assert await vectors.count(SEARCHABLE) == 2

    match act:
        case "upsert":
            await vectors.upsert([entity("c")])
        case "switch":
            await vectors.set_searchable(["a"], searchable=False)
        case "delete":
            await vectors.delete((Equals("chunk_id", "a"),))
        case "drop":
            await vectors.drop()

    assert await vectors.count(SEARCHABLE) == {"upsert": 3, "switch": 1, "delete": 1, "drop": 0}[act]


@pytest.mark.parametrize("end", ["closed", "killed"])
async def test_what_another_process_wrote_is_counted(folder: Path, store: MilvusIndexStore, end: str) -> None:
    writer = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(folder), end)

    assert await writer.wait() == {"closed": 0, "killed": -signal.SIGKILL}[end]
    assert await store.vectors("base", PROFILE, 2).count(SEARCHABLE) == 3


async def test_a_file_that_was_put_in_place_of_the_counted_one_is_counted_anew(folder: Path, tmp_path: Path) -> None:
    database = folder / "base.db"
    content = database.read_bytes()
    database.unlink()
    database.write_bytes(content)

    store = MilvusIndexStore.in_folder(folder)
    try:
        assert await store.vectors("base", PROFILE, 2).count(SEARCHABLE) == 2
        assert is_open(store)
    finally:
        await store.close()


@pytest.mark.parametrize("content", ["", "{", '{"database": [1, 2, 3], "counts": {"x": "many"}}'])
async def test_a_damaged_file_of_counts_is_passed_over(folder: Path, content: str) -> None:
    (folder / "base.db.counts").write_text(content)

    store = MilvusIndexStore.in_folder(folder)
    try:
        assert await store.vectors("base", PROFILE, 2).count(SEARCHABLE) == 2
    finally:
        await store.close()
