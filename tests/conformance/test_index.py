"""What every index of vectors does: the embedded Milvus, a Milvus server, and the fake in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorebase.errors import MalformedAnswerError, UsageError
from lorebase.index.ports import (
    AnyOf,
    EntityFields,
    Equals,
    HasAllTags,
    HasAnyTag,
    IndexStore,
    NoneOf,
    VectorEntity,
    VectorIndex,
)
from tests.conformance.index_stores import EMBEDDED_AND_FAKE, base_name, fields_of, opened

__all__ = ["base_name"]  # a fixture, imported

PROFILE = "0123456789abcdef0123456789abcdef"


@pytest.fixture(params=[*EMBEDDED_AND_FAKE, "server"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexStore]:
    async with opened(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture
async def vectors(store: IndexStore, base_name: str) -> AsyncIterator[VectorIndex]:
    index = store.vectors(base_name, PROFILE, 2)
    yield index
    await index.drop()


def vector_at(degrees: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def near(chunk_id: str, degrees: float, **fields: object) -> VectorEntity:
    return VectorEntity(fields_of(chunk_id, **fields), vector_at(degrees))


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


async def test_a_closed_store_can_be_used_again(store: IndexStore, vectors: VectorIndex) -> None:
    await vectors.upsert([near("a", 0)])

    await store.close()

    assert await vectors.count(()) == 1
