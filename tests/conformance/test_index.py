"""What every index store does: the embedded Milvus, a Milvus server, and the fake in memory."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.adapters.milvus.closed_file import LittleWrites
from lorebase.errors import MalformedAnswerError, UsageError
from lorebase.index.ports import (
    AnyOf,
    EntityFields,
    Equals,
    HasAllTags,
    HasAnyTag,
    IndexStore,
    LexicalIndex,
    NoneOf,
    TextEntity,
    VectorEntity,
    VectorIndex,
)
from tests.fakes.closing_index import ClosingIndexStore
from tests.fakes.memory_index import MemoryIndexStore

PROFILE = "0123456789abcdef0123456789abcdef"
EMBEDDED_AND_FAKE = ["embedded", "closed", "memory"]
# Servers before 2.5 have no full text, and ours is one of them: tests/index/test_milvus_server.py holds what it says.
WITH_FULL_TEXT = [*EMBEDDED_AND_FAKE, *(["server"] if os.environ.get("LOREBASE_TEST_MILVUS_URI") else [])]


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


@pytest.fixture(params=[*EMBEDDED_AND_FAKE, "server"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexStore]:
    async with opened(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture(params=WITH_FULL_TEXT)
async def text_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexStore]:
    async with opened(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture
def base_name() -> str:
    return f"base-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def vectors(store: IndexStore, base_name: str) -> AsyncIterator[VectorIndex]:
    index = store.vectors(base_name, PROFILE, 2)
    yield index
    await index.drop()


@pytest.fixture
async def lexical(text_store: IndexStore, base_name: str) -> AsyncIterator[LexicalIndex]:
    index = text_store.lexical(base_name)
    yield index
    await index.drop()


def fields_of(
    chunk_id: str, *, document_id: str = "doc-1", tags: Sequence[str] = (), organ_id: int = 0
) -> EntityFields:
    return EntityFields(chunk_id, document_id, "rev-1", "base", organ_id, searchable=True, tags=tuple(tags))


def vector_at(degrees: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def near(chunk_id: str, degrees: float, **fields: object) -> VectorEntity:
    return VectorEntity(fields_of(chunk_id, **fields), vector_at(degrees))


def passage(chunk_id: str, text: str) -> TextEntity:
    return TextEntity(fields_of(chunk_id), text)


async def test_the_nearest_vectors_come_first_with_their_cosine(vectors: VectorIndex) -> None:
    await vectors.upsert([near("c", 90), near("a", 10), near("b", 60)])

    found = await vectors.search(vector_at(0), (), 2)

    assert [candidate.chunk_id for candidate in found] == ["a", "b"]
    assert found[0].score == pytest.approx(np.cos(np.radians(10)), abs=1e-5)
    assert (found[0].document_id, found[0].revision_id) == ("doc-1", "rev-1")


async def test_equal_scores_come_by_rising_chunk_id_even_where_the_limit_cuts_them(vectors: VectorIndex) -> None:
    ids = [f"chunk-{number:03d}" for number in range(60)]
    await vectors.upsert([near(chunk_id, 30) for chunk_id in reversed(ids)])

    found = await vectors.search(vector_at(0), (), 5)

    assert [candidate.chunk_id for candidate in found] == ids[:5]


async def test_a_repeated_id_in_one_batch_leaves_one_row_the_last_one(vectors: VectorIndex) -> None:
    await vectors.upsert([near("a", 0, tags=["old"]), near("b", 5), near("a", 90, tags=["new"])])

    assert await vectors.count(()) == 2
    assert [fields.tags for fields in await vectors.fields((Equals("chunk_id", "a"),))] == [("new",)]
    assert [candidate.chunk_id for candidate in await vectors.search(vector_at(90), (), 1)] == ["a"]


async def test_writing_a_known_id_again_takes_the_place_of_the_row(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "quarterly report")])
    await lexical.upsert([passage("a", "holiday calendar")])

    assert await lexical.count(()) == 1
    assert await lexical.search("report", (), 5) == []
    assert [candidate.chunk_id for candidate in await lexical.search("calendar", (), 5)] == ["a"]


async def test_what_was_written_is_found_at_once(vectors: VectorIndex) -> None:
    for number in range(10):
        await vectors.upsert([near(f"c{number}", number)])

        assert await vectors.count(()) == number + 1
        assert len(await vectors.search(vector_at(0), (), 20)) == number + 1


async def test_every_condition_restricts_searches_counts_and_reads(vectors: VectorIndex) -> None:
    await vectors.upsert(
        [
            near("a", 0, document_id="d1", tags=["x", "y"], organ_id=1),
            near("b", 1, document_id="d2", tags=["y"], organ_id=2),
            near("c", 2, document_id="d3"),
        ]
    )
    expected = {
        (): "abc",
        (Equals("organ_id", 2),): "b",
        (Equals("searchable", value=True),): "abc",
        (Equals("searchable", value=False),): "",
        (AnyOf("document_id", ("d1", "d3", "d9")),): "ac",
        (AnyOf("document_id", ()),): "",
        (NoneOf("chunk_id", ("a",)),): "bc",
        (NoneOf("chunk_id", ()),): "abc",
        (HasAllTags(("x", "y")),): "a",
        (HasAllTags(()),): "abc",
        (HasAnyTag(("x", "y")),): "ab",
        (HasAnyTag(()),): "abc",
        (HasAnyTag(("y",)), NoneOf("document_id", ("d1",))): "b",
    }

    for where, chunk_ids in expected.items():
        found = await vectors.search(vector_at(0), where, 10)

        assert "".join(candidate.chunk_id for candidate in found) == chunk_ids, where
        assert await vectors.count(where) == len(chunk_ids), where
        assert "".join(fields.chunk_id for fields in await vectors.fields(where)) == chunk_ids, where


async def test_a_value_that_looks_like_an_expression_matches_only_itself(vectors: VectorIndex) -> None:
    injection = '") or true or ("'
    await vectors.upsert([near("a", 0, tags=["other"]), near("b", 1, tags=[injection], document_id=injection)])

    assert [f.chunk_id for f in await vectors.fields((HasAnyTag((injection,)),))] == ["b"]
    assert [f.chunk_id for f in await vectors.fields((Equals("document_id", injection),))] == ["b"]
    assert await vectors.count((Equals("base_id", injection),)) == 0


@pytest.mark.parametrize(
    "condition",
    [
        Equals("x == 1 or chunk_id", "a"),
        Equals("tags", "a"),
        Equals("organ_id", "1"),
        Equals("organ_id", value=True),
        Equals("searchable", 1),
        AnyOf("organ_id", ("1",)),
        HasAnyTag(("t" * 65,)),
        Equals("source_type", "\ud800"),
    ],
)
async def test_a_condition_that_no_entity_could_meet_is_refused(vectors: VectorIndex, condition: object) -> None:
    await vectors.upsert([near("a", 0)])

    with pytest.raises(UsageError):
        await vectors.count((condition,))


async def test_fields_come_back_as_they_were_written(vectors: VectorIndex) -> None:
    fields = EntityFields(
        chunk_id="chk-知识",
        document_id='say "hi"\n100%',
        revision_id="back\\slash",
        base_id="库",
        organ_id=-(2**53) - 1,
        searchable=False,
        tags=("😀", "a\tb", "", "%0A"),
        source_type="\r\n",
    )
    await vectors.upsert([VectorEntity(fields, vector_at(0))])

    assert await vectors.fields(()) == [fields]


async def test_switching_keeps_everything_else_and_passes_over_unknown_ids(vectors: VectorIndex) -> None:
    await vectors.upsert([near("a", 20, tags=["x"]), near("b", 40)])

    switched = await vectors.set_searchable(["a", "unknown", "a"], searchable=False)

    assert switched == 1
    assert await vectors.fields((Equals("searchable", value=False),)) == [
        replace(fields_of("a", tags=["x"]), searchable=False)
    ]
    (found,) = await vectors.search(vector_at(20), (Equals("searchable", value=False),), 5)
    assert found.score == pytest.approx(1.0, abs=1e-5)


async def test_switched_words_are_found_as_before(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "企业知识库建设"), passage("b", "年度报告")])

    await lexical.set_searchable(["a", "b"], searchable=False)
    await lexical.set_searchable(["a"], searchable=True)

    found = await lexical.search("知识库 报告", (Equals("searchable", value=True),), 5)
    assert [candidate.chunk_id for candidate in found] == ["a"]


async def test_deleting_gives_the_number_and_leaves_the_rest(vectors: VectorIndex) -> None:
    await vectors.upsert(
        [near("a", 0, document_id="d1"), near("b", 1, document_id="d1"), near("c", 2, document_id="d2")]
    )

    deleted = await vectors.delete((Equals("document_id", "d1"),))

    assert deleted == 2
    assert [fields.chunk_id for fields in await vectors.fields(())] == ["c"]
    assert await vectors.delete((Equals("document_id", "d1"),)) == 0


@pytest.mark.parametrize("where", [(), (NoneOf("chunk_id", ()),), (HasAllTags(()),)])
async def test_a_deletion_without_restriction_is_refused(vectors: VectorIndex, where: object) -> None:
    await vectors.upsert([near("a", 0)])

    with pytest.raises(UsageError):
        await vectors.delete(where)
    assert await vectors.count(()) == 1


async def test_an_index_that_was_never_written_is_empty(vectors: VectorIndex) -> None:
    assert await vectors.count(()) == 0
    assert await vectors.fields(()) == []
    assert await vectors.search(vector_at(0), (), 5) == []
    assert await vectors.set_searchable(["a"], searchable=True) == 0
    assert await vectors.delete((Equals("chunk_id", "a"),)) == 0
    await vectors.drop()


async def test_an_index_of_words_that_was_never_written_is_empty(lexical: LexicalIndex) -> None:
    assert await lexical.count(()) == 0
    assert await lexical.search("anything", (), 5) == []
    await lexical.drop()


async def test_a_dropped_index_is_empty_and_takes_new_rows(vectors: VectorIndex) -> None:
    await vectors.upsert([near("a", 0)])
    await vectors.drop()

    assert await vectors.count(()) == 0
    await vectors.upsert([near("b", 0)])
    assert [fields.chunk_id for fields in await vectors.fields(())] == ["b"]


async def test_another_width_than_the_collection_is_refused_with_both_numbers_and_loses_nothing(
    store: IndexStore, vectors: VectorIndex, base_name: str
) -> None:
    await vectors.upsert([near("a", 0)])
    wider = store.vectors(base_name, PROFILE, 3)

    with pytest.raises(MalformedAnswerError, match=r"2.*3"):
        await wider.upsert([VectorEntity(fields_of("b"), np.array([1, 0, 0], dtype=np.float32))])
    assert await vectors.count(()) == 1


@pytest.mark.parametrize("vector", [[1.0, 0.0, 0.0], [np.nan, 0.0], [np.inf, 0.0]])
async def test_a_vector_that_cannot_be_compared_is_refused(vectors: VectorIndex, vector: list[float]) -> None:
    with pytest.raises(MalformedAnswerError):
        await vectors.upsert([VectorEntity(fields_of("a"), np.array(vector, dtype=np.float32))])
    assert await vectors.count(()) == 0


async def test_bases_and_profiles_do_not_see_each_other(store: IndexStore, base_name: str) -> None:
    indexes = [
        store.vectors(base_name, PROFILE, 2),
        store.vectors(base_name, "f" * 32, 2),
        store.vectors(f"{base_name}-text", PROFILE, 2),
        store.vectors(base_name, PROFILE, 2, kind="cards"),
        store.vectors(base_name, PROFILE, 2, kind="faq"),
    ]
    for number, index in enumerate(indexes):
        await index.upsert([near(f"c{number}", 0)])

    found = [[fields.chunk_id for fields in await index.fields(())] for index in indexes]
    assert found == [["c0"], ["c1"], ["c2"], ["c3"], ["c4"]]
    for index in indexes:
        await index.drop()


async def test_the_words_of_cards_and_of_questions_lie_apart_from_those_of_chunks(
    text_store: IndexStore, base_name: str
) -> None:
    indexes = [text_store.lexical(base_name, kind=kind) for kind in ("chunks", "cards", "faq")]
    for number, index in enumerate(indexes):
        await index.upsert([passage(f"c{number}", "lighthouse")])

    found = [[one.chunk_id for one in await index.search("lighthouse", (), 5)] for index in indexes]

    assert found == [["c0"], ["c1"], ["c2"]]
    for index in indexes:
        await index.drop()


async def test_more_rows_than_a_message_takes_are_all_written_and_all_read(store: IndexStore, base_name: str) -> None:
    index = store.vectors(base_name, PROFILE, 1024)
    vector = np.ones(1024, dtype=np.float32) / 32
    ids = [f"chunk-{number * 7919 % 3000:05d}" for number in range(3000)]

    await index.upsert([VectorEntity(fields_of(chunk_id), vector) for chunk_id in ids])

    assert await index.count(()) == 3000
    assert [fields.chunk_id for fields in await index.fields(())] == sorted(ids)
    assert await index.set_searchable(ids, searchable=False) == 3000
    assert await index.count((Equals("searchable", value=False),)) == 3000
    await index.drop()


async def test_chinese_is_found_by_any_stretch_of_it(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "企业知识库建设"), passage("b", "年度财务报告"), passage("c", "一只小狗")])

    assert [candidate.chunk_id for candidate in await lexical.search("知识库", (), 5)] == ["a"]
    assert [candidate.chunk_id for candidate in await lexical.search("报告", (), 5)] == ["b"]
    assert [candidate.chunk_id for candidate in await lexical.search("狗", (), 5)] == ["c"]


async def test_traditional_chinese_finds_simplified_and_the_other_way_around(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "图书馆每天八点开门"), passage("b", "圖書館的燈塔")])
    for query, sought in (("幾點開門", {"a"}), ("灯塔", {"b"}), ("圖書館", {"a", "b"})):
        assert {candidate.chunk_id for candidate in await lexical.search(query, (), 5)} == sought


async def test_english_is_found_whatever_its_case_and_ending(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "The Pumps were INSTALLED."), passage("b", "Payment terms: 30 days")])

    assert [candidate.chunk_id for candidate in await lexical.search("installing a pump", (), 5)] == ["a"]
    assert [candidate.chunk_id for candidate in await lexical.search("ＰＡＹＭＥＮＴ", (), 5)] == ["b"]


async def test_the_passage_with_more_of_the_words_comes_first_and_scores_are_above_zero(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "red"), passage("b", "red green"), passage("c", "blue")])

    found = await lexical.search("red green", (), 5)

    assert [candidate.chunk_id for candidate in found] == ["b", "a"]
    assert all(candidate.score > 0 for candidate in found)


@pytest.mark.parametrize("text", ["", "  ", "?!。，", "😀"])
async def test_a_text_without_words_finds_nothing_and_may_be_indexed(lexical: LexicalIndex, text: str) -> None:
    await lexical.upsert([passage("a", text), passage("b", "words ?!。，")])

    assert await lexical.search(text, (), 5) == []
    assert await lexical.count(()) == 2


async def test_a_closed_store_can_be_used_again(store: IndexStore, vectors: VectorIndex) -> None:
    await vectors.upsert([near("a", 0)])

    await store.close()

    assert await vectors.count(()) == 1
