"""Filters as Milvus expressions, compared over a real embedded Milvus with their meaning in plain Python."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.adapters.milvus.expressions import literal, render, restored_text, stored_text
from lorebase.errors import UsageError
from lorebase.index.filters import check_fields
from lorebase.index.ports import (
    AnyOf,
    Condition,
    EntityFields,
    Equals,
    HasAllTags,
    HasAnyTag,
    NoneOf,
    VectorEntity,
    VectorIndex,
)
from tests.fakes.memory_index import matches

ODD_VALUES = (
    "",
    "a",
    "A",
    "ab",
    '"',
    "'",
    "\\",
    '\\"',
    "\\\\",
    "\\n",
    "\\u0041",
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\x7f",
    "\u2028",
    "%",
    "%0A",
    "%25",
    "_",
    "a%b",
    "{x}",
    "$meta",
    "知识库",
    "😀",
    "é",
    "e\u0301",
    '") or true or ("',
    "a] or true",
    "null",
    "true",
    "and",
)

ODD = st.sampled_from(ODD_VALUES) | st.text(max_size=8)
ODD_TUPLES = st.lists(ODD, max_size=4).map(tuple)
TEXT_FIELDS = st.sampled_from(("document_id", "revision_id", "base_id", "source_type"))
CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Equals, TEXT_FIELDS, ODD),
    st.builds(Equals, st.just("organ_id"), st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63) + 1])),
    st.builds(Equals, st.just("searchable"), st.booleans()),
    st.builds(AnyOf, TEXT_FIELDS, ODD_TUPLES),
    st.builds(NoneOf, TEXT_FIELDS, ODD_TUPLES),
    st.builds(HasAllTags, ODD_TUPLES),
    st.builds(HasAnyTag, ODD_TUPLES),
)

ENTITIES = tuple(
    EntityFields(
        chunk_id=f"c{number:03d}",
        document_id=value,
        revision_id=ODD_VALUES[-1 - number],
        base_id="base",
        organ_id=number % 7 - 3,
        searchable=number % 2 == 0,
        tags=(value, ODD_VALUES[-1 - number]) if number % 3 else (),
        source_type=value if number % 4 else "",
    )
    for number, value in enumerate(ODD_VALUES)
)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[VectorIndex]:
    store = MilvusIndexStore.in_folder(tmp_path)
    vectors = store.vectors("base", "p" * 32, 2)
    await vectors.upsert([VectorEntity(fields, np.array([1, 0], dtype=np.float32)) for fields in ENTITIES])
    yield vectors
    await store.close()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(where=st.lists(CONDITIONS, max_size=3).map(tuple))
async def test_milvus_finds_exactly_what_the_conditions_mean(index: VectorIndex, where: tuple[Condition, ...]) -> None:
    expected = [fields for fields in ENTITIES if matches(fields, where)]

    assert await index.fields(where) == expected
    assert await index.count(where) == len(expected)


@pytest.mark.parametrize("value", ODD_VALUES)
async def test_every_odd_value_finds_its_own_rows_and_no_others(index: VectorIndex, value: str) -> None:
    found = await index.fields((Equals("document_id", value),))
    tagged = await index.fields((HasAllTags((value,)),))

    assert [fields.document_id for fields in found] == [value]
    assert tagged == [fields for fields in ENTITIES if value in fields.tags]


@given(st.text())
def test_stored_text_comes_back(text: str) -> None:
    assert restored_text(stored_text(text)) == text


@given(st.text())
def test_a_literal_has_no_control_character_and_ends_where_its_quotes_end(text: str) -> None:
    quoted = literal(text)

    assert not any(ord(character) < 32 for character in quoted)
    assert quoted[0] == quoted[-1] == '"'
    assert '"' not in quoted[1:-1].replace("\\\\", "").replace('\\"', "")


def test_conditions_are_joined_with_and() -> None:
    where = (Equals("searchable", value=True), Equals("organ_id", 7), HasAnyTag(('x"y',)))

    assert render(where) == 'searchable == true and organ_id == 7 and array_contains_any(tags, ["x\\"y"])'


def test_a_condition_that_nothing_meets_makes_no_expression() -> None:
    assert render((Equals("organ_id", 7), AnyOf("chunk_id", ()))) is None


def test_conditions_that_everything_meets_are_left_out() -> None:
    assert render((NoneOf("chunk_id", ()), HasAllTags(()), HasAnyTag(()))) == ""


@pytest.mark.parametrize(
    "fields",
    [
        EntityFields("", "d", "r", "b"),
        EntityFields("c", "d" * 513, "r", "b"),
        EntityFields("c", "d", "r", "b", tags=("t" * 65,)),
        EntityFields("c", "d", "r", "b", tags=tuple(map(str, range(33)))),
        EntityFields("c", "d", "r", "b", organ_id=2**63),
        EntityFields("c", "\ud800", "r", "b"),
    ],
)
def test_an_entity_that_could_not_be_found_again_is_refused(fields: EntityFields) -> None:
    with pytest.raises(UsageError):
        check_fields(fields)
