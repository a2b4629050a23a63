"""Drafts against the source types of the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase.errors import InvalidInputError
from lorebase.governance.source_type_rules import RegistrySourceTypes
from lorebase.registry.file_store import FileRegistryStore
from tests.governance.world import HandClock

POLICY = {
    "id": "policy",
    "label": "Policy",
    "metadataFields": [{"key": "year", "label": "Year", "type": "number", "required": True}],
}


@pytest.fixture
def rules(tmp_path: Path) -> RegistrySourceTypes:
    registry = FileRegistryStore(tmp_path / "registry.json")
    registry.insert("handbook", {"id": "handbook", "name": "Handbook", "sourceTypes": [POLICY]})
    return RegistrySourceTypes(registry, HandClock())


def test_fields_of_the_declared_type_pass(rules: RegistrySourceTypes) -> None:
    """X-03."""
    assert rules.check("handbook", "policy", {"year": 2026}) is None


def test_a_missing_required_field_is_left_to_the_reviewer(rules: RegistrySourceTypes) -> None:
    assert rules.check("handbook", "policy", {}) is None


def test_a_value_of_another_type_is_refused(rules: RegistrySourceTypes) -> None:
    """X-03."""
    with pytest.raises(InvalidInputError, match="year"):
        rules.check("handbook", "policy", {"year": "soon"})


def test_an_unknown_source_type_is_refused_with_those_that_there_are(rules: RegistrySourceTypes) -> None:
    with pytest.raises(InvalidInputError) as refused:
        rules.check("handbook", "novel", {})

    assert "policy" in refused.value.remedy


def test_a_base_outside_of_the_registry_declares_nothing(rules: RegistrySourceTypes) -> None:
    assert rules.check("elsewhere", "novel", {"anything": 1}) is None
