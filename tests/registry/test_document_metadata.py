"""What is said about documents: read from YAML of any kind, checked, and kept as single values."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.registry.declared_fields import DeclaredField
from lorebase.registry.document_classes import DOCUMENT_CLASSES, DocumentClass, filter_tags
from lorebase.registry.document_metadata import (
    Description,
    MetadataRule,
    checked_metadata,
    described_by_rules,
    read_description,
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def row_of(metadata: dict[str, str | int | float | bool], tags: tuple[str, ...] = ()) -> DocumentClass:
    return DocumentClass("k", "doc-1", "r", "policy", "rules", "Found.", 3.0, tags, metadata)


@settings(deadline=None)  # the first Parquet takes seconds
@given(st.dictionaries(st.text(), ANYTHING, max_size=6))
def test_whatever_is_said_is_kept_as_json_keeps_it(values: dict[str, object]) -> None:
    accepted = checked_metadata(values, ()).values

    row = row_of(accepted)
    assert DOCUMENT_CLASSES.decode(DOCUMENT_CLASSES.encode([row])) == [row]
    assert set(accepted) <= set(values)


@given(st.text())
def test_any_text_is_a_description_or_a_value_error(text: str) -> None:
    refused = ""
    found = Description()
    try:
        found = read_description(text)
    except ValueError as error:
        refused = str(error)

    assert isinstance(found, Description)
    assert "\n" not in refused


@pytest.mark.parametrize(
    "text", ["[1, 2]", "a: [", "just words", "a: 2024-13-45", "? {a: b}\n: c", "a: &x [*x]\n- b", "[" * 5000]
)
def test_what_is_no_mapping_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="it is no"):
        read_description(text)


def test_tags_are_a_list_or_one_text() -> None:
    assert read_description("tags: [海, sea, 海]\nowner: 王芳").tags == ("海", "sea")
    assert read_description("tags: sea").tags == ("sea",)
    assert read_description("").values == {}


def test_a_later_value_takes_the_place_of_an_earlier_one_and_tags_add_up() -> None:
    said = Description(("a",), {"owner": "x", "year": 1}).and_then(Description(("b", "a"), {"owner": "y"}))

    assert said == Description(("a", "b"), {"owner": "y", "year": 1})


def test_rules_speak_of_names_and_the_last_one_has_the_last_word() -> None:
    rules = [
        MetadataRule(files=("**/*",), values={"site": "north"}),
        MetadataRule(files=("contracts/**",), tags=("合同",), values={"site": "south"}),
    ]

    assert described_by_rules(rules, "contracts/2026/a.pdf") == Description(("合同",), {"site": "south"})
    assert described_by_rules(rules, "b.pdf") == Description((), {"site": "north"})


def test_a_value_of_another_type_is_refused_and_the_rest_is_kept() -> None:
    """DQ-13."""
    fields = (DeclaredField(key="year", type="number"), DeclaredField(key="signed", type="date", required=True))

    found = checked_metadata({"year": "many", "signed": date(2026, 5, 1), "list": [1]}, fields)

    assert found.values == {"signed": "2026-05-01"}
    assert [(issue.code, issue.severity) for issue in found.issues] == [
        ("WRONG_FIELD_TYPE", "error"),
        ("UNDECLARED_FIELD", "warning"),
        ("UNUSABLE_VALUE", "warning"),
    ]


def test_where_nothing_is_declared_nothing_is_undeclared() -> None:
    """D-035."""
    assert checked_metadata({"owner": "王芳"}, ()).issues == ()


def test_filters_are_tags_and_values_up_to_what_an_index_takes() -> None:
    row = row_of({"final": True, "long": "x" * 100, "year": 2026}, ("海", "y" * 65))

    assert filter_tags(row) == (("海", "final=true", "year=2026"), ("y" * 65, f"long={'x' * 100}"))
    assert len(filter_tags(row_of({}, tuple(f"t{number}" for number in range(40))))[0]) == 32
