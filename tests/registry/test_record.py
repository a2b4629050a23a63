"""Records of knowledge bases, read from any JSON and stored."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given, settings

from lorebase.registry.base_changes import Applied, BaseChange, apply_change
from lorebase.registry.problems import Problem
from lorebase.registry.record import RecipeReference, read_record, stored_record
from tests.registry.anything import entries

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)


def test_an_empty_object_is_a_base_with_its_defaults() -> None:
    """D-023, D-037."""
    record = read_record({}, "handbook", NOW).record

    assert (record.name, record.description, record.root_dir, record.is_default) == ("handbook", "", "", False)
    assert (record.created_at, record.updated_at) == (NOW, NOW)
    assert (record.index.top_k, record.recipe, record.parsers) == (10, None, ())
    assert read_record({}, "default", NOW).record.is_default


def test_names_of_former_versions_are_understood() -> None:
    """D-006, D-023, DQ-15."""
    data = {
        "rootDir": "/kb", "isDefault": True, "createdAt": "2024-05-01T10:00:00+08:00", "updatedAt": "not a time",
        "wikiTypes": [{"id": "check", "enabled": False}], "sourceTypes": [{"id": "doc", "label": "通用文档"}],
        "wikiSchemaMode": "strict",
    }  # fmt: skip

    record = read_record(data, "handbook", NOW).record

    assert (record.root_dir, record.is_default) == ("/kb", True)
    assert record.created_at == datetime(2024, 5, 1, 2, tzinfo=UTC)
    assert record.updated_at == NOW
    assert {known.id: known.enabled for known in record.card_types}["check_point"] is False
    assert record.source_types[0].label == "通用文档"
    assert "strict" not in json.dumps(stored_record(record))


def test_a_recipe_is_a_path_or_stands_inline() -> None:
    assert read_record({"recipe": "a.yaml"}, "a", NOW).record.recipe == RecipeReference(path="a.yaml")
    assert read_record({"recipe": {"inline": "name: a"}}, "a", NOW).record.recipe == RecipeReference(inline="name: a")
    assert read_record({"recipe": {"path": " "}}, "a", NOW).record.recipe is None


def test_a_model_that_cannot_be_one_is_left_to_the_workspace() -> None:
    models = {"embedding": {"provider": "x", "dimensions": -1}, "chat": " main/qwen ", "rerank": 0.0}

    record = read_record({"models": models}, "a", NOW).record

    assert record.models.embedding is None
    assert record.models.chat == "main/qwen"


@given(data=entries)
@settings(max_examples=100)
def test_any_object_is_a_record_and_comes_back_from_its_stored_form(data: dict[str, object]) -> None:
    """D-023."""
    read = read_record(data, "a", NOW)

    stored = json.loads(json.dumps(stored_record(read.record)))
    again = read_record(stored, "a", NOW)
    assert again.record == read.record
    assert not again.warnings
    assert stored_record(again.record) == stored_record(read.record)


@given(data=entries)
@settings(max_examples=60)
def test_any_object_as_a_change_is_applied_or_refused_with_a_code(data: dict[str, object]) -> None:
    outcome = apply_change(read_record({}, "a", NOW).record, BaseChange.from_json(data), NOW)

    match outcome:
        case Problem():
            assert outcome.code.isupper()
        case Applied():
            assert len(outcome.record.source_types) >= 8
            assert outcome.record.source_types[0].enabled
