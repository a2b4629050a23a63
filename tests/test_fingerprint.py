"""Fingerprints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.fingerprint import fingerprint

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_values_share_a_fingerprint_only_if_they_are_equal_and_of_one_type(left: object, right: object) -> None:
    same = repr(_ordered(left)) == repr(_ordered(right))

    assert (fingerprint(left) == fingerprint(right)) == same


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(member) for member in value]
    return value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["ab", "c"], ["a", "bc"]),
        ("1", 1),
        (1, 1.0),
        (True, 1),
        (None, ""),
        ([], {}),
        (["a", ["b"]], ["a", "b"]),
        (b"a", "a"),
    ],
)
def test_values_that_look_alike_differ(left: object, right: object) -> None:
    assert fingerprint(left) != fingerprint(right)


def test_the_order_of_a_dictionary_does_not_count() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_another_process_with_another_hash_seed_gives_the_same_digest() -> None:
    code = (
        "from lorebase.fingerprint import fingerprint; "
        "print(fingerprint({'b': [1, 2.5], 'a': frozenset({'x', 'y', 'z'})}))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(seen) == 1


@pytest.mark.parametrize("value", [object(), Path("a"), {1: "a"}])
def test_a_value_without_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        fingerprint(value)
