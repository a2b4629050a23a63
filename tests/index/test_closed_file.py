"""Little writes to an embedded index that is closed: done in its file, and seen by Milvus as if it had done them."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.adapters.milvus.closed_file import LittleWrites
from lorebase.errors import MalformedAnswerError
from lorebase.index.ports import AnyOf, EntityFields, Equals, TextEntity, VectorEntity

PROFILE = "p" * 32
COLLECTION = f"kb_base_vectors_{PROFILE[:16]}"
SEARCHABLE = (Equals("searchable", value=True),)
LITTLE = LittleWrites(least_rows=40, times=10)
ALWAYS_MILVUS = LittleWrites(least_rows=10**9)
WORDS = ["whale oil and lamps", "灯塔与海岸", "the lamp of the lighthouse", "oil, oil and more oil", "quiet harbour"]

WRITER = """
import asyncio, os, signal, sqlite3, sys
from pathlib import Path
import numpy as np
from lorebase.adapters.milvus import MilvusIndexStore, closed_file
from lorebase.index.ports import EntityFields, VectorEntity

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

move = closed_file._move
where = sys.argv[2]
if where == "before the rows are moved":
    closed_file._move = die
elif where == "before the transaction ends":
    closed_file._move = lambda *arguments: (move(*arguments), die())
elif where == "before the counts are kept":
    save = closed_file.KnownCounts.save
    closed_file.KnownCounts.save = lambda counts: die() if counts._database.name == "base.db" else save(counts)

async def main():
    little = closed_file.LittleWrites(least_rows=40, times=10)
    store = MilvusIndexStore.in_folder(Path(sys.argv[1]), little=little)
    new = [VectorEntity(EntityFields(i, "d", "r", "base", searchable=True), np.float32([0, 1])) for i in ("n1", "n2")]
    await store.vectors("base", "p" * 32, 2).upsert(new)

asyncio.run(main())
"""


def entity(chunk_id: str, *, searchable: bool = True, tags: Sequence[str] = (), angle: float = 0.0) -> VectorEntity:
    fields = EntityFields(chunk_id, f"doc of {chunk_id}", "r", "base", 7, searchable, tuple(tags), "memo")
    return VectorEntity(fields, np.array([np.cos(angle), np.sin(angle)], dtype=np.float32))


def passage(chunk_id: str, text: str) -> TextEntity:
    return TextEntity(EntityFields(chunk_id, "d", "r", "base", searchable=True), text)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A closed index of 60 vectors and 60 texts whose searchable ones were counted."""
    store = MilvusIndexStore.in_folder(tmp_path)
    vectors, lexical = store.vectors("base", PROFILE, 2), store.lexical("base")
    await vectors.upsert([entity(f"c{number:02}", angle=number / 50) for number in range(60)])
    await lexical.upsert([passage(f"c{number:02}", WORDS[number % 5]) for number in range(60)])
    assert [await vectors.count(SEARCHABLE), await lexical.count(SEARCHABLE)] == [60, 60]
    await store.close()
    return tmp_path


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[MilvusIndexStore]:
    made = MilvusIndexStore.in_folder(folder, little=LITTLE)
    yield made
    await made.close()


def is_open(store: MilvusIndexStore) -> bool:
    return store._connection("base")._client is not None


async def counted_by_milvus(folder: Path) -> list[int]:
    """All rows and the searchable ones of both collections, with nothing known of them."""
    (folder / "base.db.counts").unlink(missing_ok=True)
    store = MilvusIndexStore.in_folder(folder, little=ALWAYS_MILVUS)
    try:
        indexes = [store.vectors("base", PROFILE, 2), store.lexical("base")]
        return [await index.count(where) for index in indexes for where in ((), SEARCHABLE)]
    finally:
        await store.close()


async def test_a_changed_document_is_staged_counted_and_switched_without_opening_milvus(
    folder: Path, store: MilvusIndexStore
) -> None:
    vectors = store.vectors("base", PROFILE, 2)

    assert await vectors.fields((AnyOf("chunk_id", ("new", "c07")),)) == [entity("c07").fields]
    await vectors.upsert([entity("new", searchable=False, tags=["a", "灯"], angle=1.5)])
    assert await vectors.count(SEARCHABLE) == 60
    assert await vectors.set_searchable(["new", "unknown"], searchable=True) == 1
    assert await vectors.count(SEARCHABLE) == 61
    assert await vectors.set_searchable(["c07"], searchable=False) == 1

    assert await vectors.count(SEARCHABLE) == 60
    assert await store.lexical("base").count(SEARCHABLE) == 60
    assert not is_open(store)
    await store.close()
    assert await counted_by_milvus(folder) == [61, 60, 60, 60]


async def test_milvus_searches_and_reads_what_was_written_into_its_file(store: MilvusIndexStore) -> None:
    vectors = store.vectors("base", PROFILE, 2)
    new = entity("new", searchable=False, tags=["a", "100 %", "灯"], angle=1.5)
    await vectors.upsert([new])
    await vectors.set_searchable(["c59"], searchable=False)
    assert not is_open(store)

    found = await vectors.search(new.vector, (), 1)

    assert [(one.chunk_id, one.document_id) for one in found] == [("new", "doc of new")]
    assert found[0].score == pytest.approx(1.0, abs=1e-6)
    assert await vectors.fields((Equals("searchable", value=False),)) == [
        EntityFields("c59", "doc of c59", "r", "base", 7, False, (), "memo"),
        new.fields,
    ]


async def test_words_that_were_moved_into_the_file_score_as_if_milvus_had_written_them(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copied = tmp_path_factory.mktemp("milvus")
    shutil.copy(folder / "base.db", copied)
    scores = []
    for place, little in ((folder, LITTLE), (copied, ALWAYS_MILVUS)):
        store = MilvusIndexStore.in_folder(place, little=little)
        lexical = store.lexical("base")
        await lexical.upsert([passage("n1", "a new lamp, 新的灯塔"), passage("n2", "oil")])
        await lexical.set_searchable(["c00"], searchable=False)
        assert is_open(store) is (little is ALWAYS_MILVUS)
        asked = [await lexical.search(text, SEARCHABLE, 70) for text in ("lamp", "灯塔", "oil", "new", "harbour")]
        scores.append([[(one.chunk_id, one.score) for one in found] for found in asked])
        await store.close()

    assert scores[0] == scores[1]
    assert all(scores[0])


@pytest.mark.parametrize("reason", ["known words", "many rows", "small collection", "other table", "nothing there"])
async def test_what_is_not_little_or_not_as_expected_is_left_to_milvus(folder: Path, reason: str) -> None:
    little = LittleWrites(least_rows=1000) if reason == "small collection" else LITTLE
    store = MilvusIndexStore.in_folder(folder, little=little)
    vectors, lexical = store.vectors("base", PROFILE, 2), store.lexical("base")
    match reason:
        case "known words":  # only Milvus knows what the words of the replaced row have added to its statistics
            await lexical.upsert([passage("c00", "replaced")])
        case "many rows":
            await vectors.upsert([entity(f"n{number}") for number in range(7)])
        case "small collection":
            await vectors.upsert([entity("n0")])
        case "other table":
            with closing(sqlite3.connect(folder / "base.db")) as file:
                file.execute(f"ALTER TABLE {COLLECTION} ADD COLUMN more INTEGER")
            await vectors.fields((AnyOf("chunk_id", ("c00",)),))
        case "nothing there":
            await store.vectors("base", "q" * 32, 2).upsert([entity("n0")])

    assert is_open(store)
    await store.close()


async def test_many_little_writes_end_in_one_milvus(store: MilvusIndexStore) -> None:
    vectors = store.vectors("base", PROFILE, 2)

    opened = []
    for chunk_ids in (["c00", "c01", "c02"], ["c03", "c04"], ["c05", "c06"]):
        await vectors.set_searchable(chunk_ids, searchable=False)
        opened.append(is_open(store))

    assert opened == [False, False, True]
    assert await vectors.count(SEARCHABLE) == 53


async def test_a_vector_of_another_width_is_refused_as_ever(store: MilvusIndexStore) -> None:
    three = VectorEntity(EntityFields("n", "d", "r", "base"), np.array([1, 0, 0], dtype=np.float32))

    with pytest.raises(MalformedAnswerError, match="holds vectors of 2 numbers"):
        await store.vectors("base", PROFILE, 3).upsert([three])


@pytest.mark.parametrize(
    ("place", "rows"),
    [
        ("before the rows are moved", 60),
        ("before the transaction ends", 60),
        ("before the counts are kept", 62),
    ],
)
async def test_after_a_kill_anywhere_all_rows_are_there_or_none_and_milvus_is_asked(
    folder: Path, store: MilvusIndexStore, place: str, rows: int
) -> None:
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(folder), place)
    assert await killed.wait() == -signal.SIGKILL

    assert await store.vectors("base", PROFILE, 2).count(SEARCHABLE) == rows
    assert is_open(store)
    assert not (folder / ".base.db.new").exists()
    await store.close()
    assert await counted_by_milvus(folder) == [rows, rows, 60, 60]


async def test_a_write_through_milvus_leaves_the_count_known_to_the_next_build(folder: Path) -> None:
    first = MilvusIndexStore.in_folder(folder, little=ALWAYS_MILVUS)
    vectors = first.vectors("base", PROFILE, 2)
    await vectors.upsert([entity("new")])
    await vectors.count(SEARCHABLE)
    await vectors.set_searchable(["c00"], searchable=False)
    await first.close()

    second = MilvusIndexStore.in_folder(folder)
    assert await second.vectors("base", PROFILE, 2).count(SEARCHABLE) == 60
    assert not is_open(second)
