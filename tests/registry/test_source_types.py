"""Source types: the built-in table, and reading what files hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from lorebase.registry.source_types import (
    LEGACY_SOURCE_TYPE_IDS,
    SOURCE_TYPE_ID_PATTERN,
    builtin_source_types,
    normalise_source_types,
    stored_source_type,
)
from tests.registry.anything import type_lists

BUILTIN_IDS = [
    "document", "policy", "manual", "faq", "metric_definition", "table_schema", "incident_report", "meeting_note",
]  # fmt: skip


def ids_of(stored: object) -> list[str]:
    return [known.id for known in normalise_source_types(stored).types]


def test_built_in_types_have_texts_to_decide_by_in_two_languages() -> None:
    types = builtin_source_types()

    assert [known.id for known in types] == BUILTIN_IDS
    assert [known.id for known in types if known.fallback] == ["document"]
    for known in types:
        assert len(known.signals) >= 2
        assert known.excludes
        assert known.description
        assert any(signal.isascii() for signal in known.signals)
        assert any(not signal.isascii() for signal in known.signals)


def test_built_in_types_declare_no_metadata() -> None:
    """D-035."""
    assert all(not known.metadata_fields for known in builtin_source_types())


@pytest.mark.parametrize("stored", [None, [], {}, "policy", 7])
def test_without_a_stored_list_a_base_has_the_built_in_types(stored: object) -> None:
    """D-036, D-037."""
    assert ids_of(stored) == BUILTIN_IDS


def test_a_missing_built_in_type_is_put_back_in_its_place() -> None:
    """D-038."""
    found = normalise_source_types([{"id": "faq"}, {"id": "contract", "label": "合同"}, {"id": "document"}])

    assert [known.id for known in found.types] == [*BUILTIN_IDS, "contract"]
    assert found.restored == (
        "policy",
        "manual",
        "metric_definition",
        "table_schema",
        "incident_report",
        "meeting_note",
    )


def test_a_former_id_is_stored_under_its_present_one() -> None:
    """D-036, D-039."""
    found = normalise_source_types([{"id": "general", "label": "Anything"}])

    assert [known.id for known in found.types] == BUILTIN_IDS
    assert found.types[0].label == "Anything"
    assert found.types[0].fallback


def test_no_alias_leads_to_another_alias() -> None:
    """DQ-05."""
    assert not set(LEGACY_SOURCE_TYPE_IDS.values()) & set(LEGACY_SOURCE_TYPE_IDS)
    assert set(LEGACY_SOURCE_TYPE_IDS.values()) <= set(BUILTIN_IDS)


def test_of_a_former_and_a_present_id_the_first_entry_counts_and_the_other_is_reported() -> None:
    """DQ-06."""
    found = normalise_source_types([{"id": "doc", "label": "First"}, {"id": "document", "label": "Second"}])

    assert found.types[0].label == "First"
    assert [warning.split(":")[0] for warning in found.warnings] == ["DUPLICATE_TYPE_ID"]


@pytest.mark.parametrize("type_id", ["", " ", "Contract", "9lives", "con tract", "con-tract", "../x", "x" * 49, "x\n"])
def test_an_entry_whose_id_is_none_is_left_out(type_id: str) -> None:
    """D-036, DQ-04."""
    stored = [{"id": type_id}] if type_id != "x\n" else [{"id": "x\ny"}]

    assert ids_of(stored) == BUILTIN_IDS


def test_the_fallback_is_always_enabled_and_others_unless_explicitly_not() -> None:
    """D-034."""
    found = normalise_source_types(
        [{"id": "document", "enabled": False}, {"id": "faq", "enabled": False}, {"id": "policy", "enabled": None}]
    )

    enabled = {known.id: known.enabled for known in found.types}
    assert enabled["document"]
    assert not enabled["faq"]
    assert enabled["policy"]


def test_a_file_cannot_make_a_type_built_in_or_the_fallback() -> None:
    """D-034."""
    found = normalise_source_types([{"id": "contract", "builtin": True, "fallback": True, "source_count": 9}])

    custom = found.types[-1]
    assert (custom.builtin, custom.fallback, custom.source_count) == (False, False, 0)
    assert [known.id for known in found.types if known.fallback] == ["document"]


def test_texts_are_trimmed_and_blank_words_dropped() -> None:
    """D-028."""
    found = normalise_source_types([{"id": "contract", "label": "  合同 ", "signals": [" 合同 ", "", 12, None, "  "]}])

    assert found.types[-1].label == "合同"
    assert found.types[-1].signals == ("合同", "12")


def test_unusable_metadata_fields_are_left_out_and_the_first_of_a_key_stays() -> None:
    """DQ-13."""
    fields = [
        {"key": "甲方"},
        {"key": "甲方", "type": "number"},
        {"key": " "},
        {"key": "k" * 65},
        {"key": "e", "type": "enum"},
    ]

    found = normalise_source_types([{"id": "contract", "metadataFields": fields}])

    assert [(field.key, field.type) for field in found.types[-1].metadata_fields] == [("甲方", "string")]


@given(stored=type_lists)
@settings(max_examples=100)
def test_any_json_gives_complete_types_and_the_same_again(stored: object) -> None:
    """D-036, D-038, DQ-20."""
    found = normalise_source_types(stored)

    again = normalise_source_types([known.model_dump(mode="json") for known in found.types])
    kept = normalise_source_types(json.loads(json.dumps([stored_source_type(known) for known in found.types])))
    assert [known.id for known in found.types][:8] == BUILTIN_IDS
    assert len({known.id for known in found.types}) == len(found.types)
    assert all(SOURCE_TYPE_ID_PATTERN.fullmatch(known.id) for known in found.types)
    assert found.types[0].enabled
    assert again.types == found.types
    assert kept.types == found.types
    assert not again.warnings
