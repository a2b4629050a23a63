"""Observers and the copies they get."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from lorebase.operation.check_results import Passed
from lorebase.operation.context import Diagnostics
from lorebase.operation.observation import detached, notify

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    names: list[str]


@dataclass
class Order:
    lines: list[str] = field(default_factory=list)

    def total(self) -> int:
        return len(self.lines)


class Plain:
    def __init__(self) -> None:
        self.seats = [1, 2]

    def reserve(self) -> None:
        self.seats.pop()


class Shout(str):
    __slots__ = ()

    def upper(self) -> str:
        return "!"


@settings(deadline=None)
@given(PLAIN)
def test_plain_data_is_copied_as_it_is(value: Any) -> None:
    assert detached(value) == value


@settings(deadline=None)
@given(st.lists(st.lists(st.integers())))
def test_no_list_of_a_copy_is_a_list_of_the_value(value: list[list[int]]) -> None:
    before = deepcopy(value)

    copy = detached(value)
    for inner in copy:
        inner.append(1)
    copy.append([0])

    assert value == before


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        (Order(["tea"]), {"lines": ["tea"]}),
        (Model(names=["a"]), {"names": ["a"]}),
        (Plain(), {"seats": [1, 2]}),
        (Colour.RED, "red"),
        (MappingProxyType({"a": (1, {2})}), {"a": (1, {2})}),
        (Passed(value=None), {"status": "passed", "issues": (), "value": None}),
        (Passed(), {"status": "passed", "issues": ()}),
    ],
)
def test_objects_become_plain_data(value: object, copy: object) -> None:
    """A-023: no prototypes, no methods."""
    made = detached(value)

    assert made == copy
    assert type(made) is type(copy)


def test_a_subclass_of_text_becomes_text() -> None:
    assert type(detached(Shout("hello"))) is str
    assert type(detached(True)) is bool


def test_what_refers_to_itself_does_so_in_the_copy() -> None:
    ring: list[Any] = []
    ring.append(ring)

    copy = detached(ring)

    assert copy[0] is copy
    assert copy is not ring


@pytest.mark.parametrize("value", [len, lambda: 1, threading.Lock(), Order, iter([]), ValueError("x"), logging])
def test_what_is_no_data_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        detached({"deep": [value]})


def test_an_observer_cannot_reach_the_value() -> None:
    """A-026, A-027."""
    order = Order(["tea"])

    notify(lambda event: event["lines"].clear(), order)

    assert order.lines == ["tea"]


def test_a_payload_that_cannot_be_copied_is_not_told() -> None:
    """A-024, A-026."""
    told: list[object] = []
    diagnostics = Diagnostics()

    notify(told.append, {"lock": threading.Lock()}, diagnostics)

    assert told == []
    assert [entry.code for entry in diagnostics.entries] == ["OBSERVATION_SKIPPED"]


def test_a_failing_observer_is_recorded_and_goes_no_further() -> None:
    """A-025."""
    diagnostics = Diagnostics()

    def fail(_event: object) -> None:
        raise KeyError("secret")

    notify(fail, {"a": 1}, diagnostics)

    assert [(entry.code, entry.facts) for entry in diagnostics.entries] == [("OBSERVER_FAILED", {"error": "KeyError"})]
    assert "secret" not in diagnostics.entries[0].message


def test_a_mapping_whose_code_fails_cannot_break_the_operation() -> None:
    class Broken(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            raise ZeroDivisionError

        def __iter__(self) -> Any:
            raise ZeroDivisionError

        def __len__(self) -> int:
            raise ZeroDivisionError

    diagnostics = Diagnostics()

    notify(lambda _event: None, Broken(), diagnostics)

    assert [entry.code for entry in diagnostics.entries] == ["OBSERVATION_SKIPPED"]


def test_an_observer_that_would_have_to_be_awaited_is_a_failing_one(caplog: pytest.LogCaptureFixture) -> None:
    async def observe(_event: object) -> None:
        raise AssertionError

    notify(observe, {"a": 1})

    assert "OBSERVER_FAILED" in caplog.text


def test_too_deep_a_payload_is_not_told() -> None:
    deep: list[Any] = []
    for _level in range(100_000):
        deep = [deep]
    diagnostics = Diagnostics()

    notify(lambda _event: None, deep, diagnostics)

    assert [entry.code for entry in diagnostics.entries] == ["OBSERVATION_SKIPPED"]
