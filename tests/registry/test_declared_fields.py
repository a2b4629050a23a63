"""Metadata of documents against what their source type declares."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from lorebase.registry.declared_fields import DeclaredField, metadata_issues, read_fields
from tests.registry.anything import json_values

FIELDS = read_fields(
    [
        {"key": "甲方", "required": True},
        {"key": "amount", "type": "number"},
        {"key": "signed", "type": "boolean"},
        {"key": "signed_on", "type": "date"},
        {"key": "state", "type": "enum", "options": ["有效", "终止"]},
    ]
)


def test_metadata_that_fits_has_no_issues() -> None:
    metadata = {"甲方": "张三公司", "amount": 12.5, "signed": True, "signed_on": "2026-05-01", "state": "有效"}

    assert metadata_issues(metadata, FIELDS) == ()


def test_a_missing_required_value_and_an_undeclared_key_are_warnings() -> None:
    """DQ-13, X-03."""
    issues = metadata_issues({"甲方": "  ", "colour": "red", "amount": None}, FIELDS)

    assert [(issue.code, issue.key, issue.severity) for issue in issues] == [
        ("REQUIRED_FIELD_MISSING", "甲方", "warning"),
        ("UNDECLARED_FIELD", "colour", "warning"),
    ]


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("甲方", 7, "WRONG_FIELD_TYPE"),
        ("甲方", "x" * 1001, "VALUE_TOO_LONG"),
        ("amount", "12", "WRONG_FIELD_TYPE"),
        ("amount", True, "WRONG_FIELD_TYPE"),
        ("amount", float("nan"), "WRONG_FIELD_TYPE"),
        ("signed", "yes", "WRONG_FIELD_TYPE"),
        ("signed_on", "1 May", "WRONG_FIELD_TYPE"),
        ("signed_on", "2026-02-30", "WRONG_FIELD_TYPE"),
        ("state", "unknown", "WRONG_FIELD_TYPE"),
        ("state", ["有效"], "WRONG_FIELD_TYPE"),
    ],
)
def test_a_value_of_another_kind_is_an_error(key: str, value: object, code: str) -> None:
    """DQ-13."""
    issues = [issue for issue in metadata_issues({"甲方": "A", key: value}, FIELDS) if issue.severity == "error"]

    assert [(issue.code, issue.key) for issue in issues] == [(code, key)]


def test_twenty_fields_are_kept() -> None:
    """DQ-13."""
    fields = read_fields([{"key": f"field {number}"} for number in range(25)])

    assert [field.key for field in fields] == [f"field {number}" for number in range(20)]


def test_a_date_that_only_begins_like_one_is_none() -> None:
    field = DeclaredField(key="on", type="date")

    issues = metadata_issues({"on": "2026-05-01 or so"}, [field])

    assert [issue.code for issue in issues] == ["WRONG_FIELD_TYPE"]


@given(value=json_values)
@settings(max_examples=60)
def test_any_json_can_be_read_as_fields_and_checked(value: object) -> None:
    fields = read_fields(value)

    assert read_fields([field.model_dump(mode="json") for field in fields]) == fields
    assert len(metadata_issues({"甲方": value}, FIELDS)) <= 1
