"""Semantic slots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import InvalidDefinitionError
from lorebase.presentation.slots import SemanticSlotsDefinition, define_semantic_slots

SLOTS = define_semantic_slots(SemanticSlotsDefinition("card", ("refund", "退款"), max_occurrences=2))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no slots",
        "see [[card:refund]]",
        "看[[card:退款]]和[[card:refund]]。",
        "[link](x) a[0]",
        "[[card:refund]][[card:refund]]",
    ],
)
def test_known_slots_up_to_the_limit_are_valid(text: str) -> None:
    """A-096."""
    assert SLOTS.is_valid(text)


@pytest.mark.parametrize(
    "text",
    [
        "[[card:unknown]]",
        "[[other:refund]]",
        "[[Card:refund]]",
        "[[card:refund]",
        "[[card:refund",
        "card:refund]]",
        "[[card: refund]]",
        "[[card:refund ]]",
        "[[card]]",
        "[[card:]]",
        "[[]]",
        "[[[card:refund]]]",
        "[[card:refund]]]",
        "[[card:[[card:refund]]]]",
        "[[card:refund\n]]",
        "[[card:refund:x]]",
        "[[card:refund]] [[card:退款]] [[card:refund]]",
    ],
)
def test_unknown_foreign_malformed_and_surplus_slots_are_not(text: str) -> None:
    """A-096."""
    assert not SLOTS.is_valid(text)


@given(st.lists(st.sampled_from(["refund", "退款"]), max_size=5), st.text(alphabet="a你 [:", max_size=3))
def test_the_limit_counts_all_slots_whatever_their_keys(keys: list[str], between: str) -> None:
    """A-096."""
    text = f" {between.replace('[', '(')} ".join(f"[[card:{key}]]" for key in keys)

    assert SLOTS.is_valid(text) == (len(keys) <= 2)


@pytest.mark.parametrize(
    ("namespace", "keys", "max_occurrences"),
    [("", ("a",), 1), ("c:d", ("a",), 1), ("c", (), 1), ("c", ("a", "a"), 1), ("c", ("a]",), 1), ("c", ("a",), 0)],
)
def test_definitions_that_cannot_work_are_refused(namespace: str, keys: tuple[str, ...], max_occurrences: int) -> None:
    with pytest.raises(InvalidDefinitionError):
        define_semantic_slots(SemanticSlotsDefinition(namespace, keys, max_occurrences))
