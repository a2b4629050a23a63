"""Card types: the built-in table, reading what files hold, lines, templates."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from lorebase.registry.card_lines import field_of, read_card_fields, read_sections, section_of
from lorebase.registry.card_parts import CardSection
from lorebase.registry.card_types import (
    CARD_TYPE_ID_PATTERN,
    LEGACY_CARD_TYPE_IDS,
    builtin_card_types,
    card_types_customised,
    derived_template,
    normalise_card_types,
    stored_card_type,
)
from lorebase.registry.declared_fields import DeclaredField
from tests.registry.anything import type_lists

BUILTIN_IDS = ["concept", "entity", "metric", "procedure", "faq", "check_point", "failure_reason", "case"]


def test_built_in_types_are_these_in_this_order() -> None:
    """DQ-02."""
    types = {known.id: known for known in builtin_card_types()}

    assert list(types) == BUILTIN_IDS
    assert [known.id for known in types.values() if known.layer == "instance"] == ["case"]
    assert [section.title for section in types["metric"].sections] == ["Definition", "Formula", "Dimensions", "Caveats"]
    assert [field.key for field in types["check_point"].fields] == ["metric", "threshold"]
    assert [field.key for field in types["failure_reason"].fields] == ["severity"]


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("check", "check_point"),
        ("check-point", "check_point"),
        ("diagnosis/check", "check_point"),
        ("diagnosis/check-point", "check_point"),
        ("diagnosis/check_point", "check_point"),
        ("failure-mode", "failure_reason"),
        ("failure_mode", "failure_reason"),
        ("diagnosis/failure-mode", "failure_reason"),
        ("diagnosis/failure_reason", "failure_reason"),
    ],
)
def test_a_former_id_means_the_built_in_type_of_today(former: str, present: str) -> None:
    """D-042, DQ-03."""
    found = normalise_card_types([{"id": former, "label": "Ours"}])

    assert [known.id for known in found.types] == BUILTIN_IDS
    assert {known.id: known.label for known in found.types}[present] == "Ours"


def test_no_alias_leads_to_another_alias() -> None:
    assert not set(LEGACY_CARD_TYPE_IDS.values()) & set(LEGACY_CARD_TYPE_IDS)
    assert set(LEGACY_CARD_TYPE_IDS.values()) <= set(BUILTIN_IDS)


def test_a_custom_type_that_can_produce_no_card_is_left_out() -> None:
    """D-041."""
    found = normalise_card_types([{"id": "risk", "label": "Risk"}, {"id": "rule", "sections": ["What"]}])

    assert [known.id for known in found.types] == [*BUILTIN_IDS, "rule"]
    assert [warning.split(":")[0] for warning in found.warnings] == ["INCOMPLETE_TYPE"]


def test_a_custom_type_has_these_defaults() -> None:
    """D-043."""
    custom = normalise_card_types([{"id": "rule", "sections": ["What"]}]).types[-1]

    assert (custom.label, custom.description, custom.layer) == ("rule", "", "type")
    assert (custom.fields, custom.examples, custom.card_count) == ((), (), 0)
    assert custom.enabled
    assert not custom.builtin


def test_an_empty_list_of_fields_empties_them_and_empty_sections_do_not() -> None:
    """D-044."""
    stored = [{"id": "metric", "fields": [], "sections": [], "examples": []}]

    metric = {known.id: known for known in normalise_card_types(stored).types}["metric"]

    assert metric.fields == ()
    assert [section.title for section in metric.sections] == ["Definition", "Formula", "Dimensions", "Caveats"]
    assert metric.examples == ("Monthly active users", "月活跃用户数")


def test_the_mode_and_the_binding_of_former_versions_are_passed_over() -> None:
    """D-040, DQ-15."""
    found = normalise_card_types([{"id": "concept", "sourceTypes": ["policy"], "wikiSchemaMode": "strict"}])

    assert found.types == builtin_card_types()
    assert not found.warnings


def test_a_section_is_a_line_of_title_hint_and_required() -> None:
    """DQ-12."""
    assert section_of("Cause | why | required") == CardSection(title="Cause", hint="why", required=True)
    assert section_of("原因 ｜ 为什么 ｜ 必填") == CardSection(title="原因", hint="为什么", required=True)
    assert section_of(" | no title") is None
    assert read_sections("A\n\n  \nB | b\na") == (CardSection(title="A"), CardSection(title="B", hint="b"))


def test_a_field_is_a_line_of_key_label_type_and_required() -> None:
    """DQ-12."""
    assert field_of("unit | Unit | string | required") == DeclaredField(key="unit", label="Unit", required=True)
    assert field_of("level|级别|enum（低，高）|必填") == DeclaredField(
        key="level", label="级别", type="enum", options=("低", "高"), required=True
    )
    assert field_of("count") == DeclaredField(key="count", label="count")
    assert read_card_fields("a | A\nB | big\na | again") == (DeclaredField(key="a", label="A"),)


def test_structured_parts_are_taken_as_they_are() -> None:
    """DQ-12."""
    section, field = CardSection(title="Cause | effect"), DeclaredField(key="unit")

    assert read_sections([section]) == (section,)
    assert read_card_fields([field]) == (field,)


def test_a_template_is_derived_from_sections_and_fields() -> None:
    """D-045."""
    sections = read_sections(["Cause | why --> how | required", "Remedy"])
    fields = read_card_fields(["severity | Severity | enum(low, high) | required"])

    template = derived_template("risk", sections, fields)

    assert template == (
        "---\ncard_type: risk\nseverity:  # Severity, one of low, high, required\n---\n\n# {{title}}\n\n"
        "## Cause\n\n<!-- required: why –> how -->\n\n## Remedy\n"
    )


def test_templates_and_counts_make_no_customisation_but_order_and_texts_do() -> None:
    """D-050, DQ-20."""
    types = builtin_card_types()
    counted = tuple(known.model_copy(update={"card_count": 3, "template": "x"}) for known in types)
    disabled = (types[0].model_copy(update={"enabled": False}), *types[1:])

    assert not card_types_customised(counted)
    assert card_types_customised(disabled)
    assert card_types_customised(types[:-1])
    assert card_types_customised(types[::-1])


@given(stored=type_lists)
@settings(max_examples=100)
def test_any_json_gives_complete_types_and_the_same_again(stored: object) -> None:
    """D-041, DQ-20."""
    found = normalise_card_types(stored)

    again = normalise_card_types([known.model_dump(mode="json") for known in found.types])
    kept = normalise_card_types(json.loads(json.dumps([stored_card_type(known) for known in found.types])))
    assert [known.id for known in found.types][:8] == BUILTIN_IDS
    assert len({known.id for known in found.types}) == len(found.types)
    assert all(CARD_TYPE_ID_PATTERN.fullmatch(known.id) for known in found.types)
    assert all(known.sections and known.template for known in found.types)
    assert again.types == found.types
    assert kept.types == found.types
    assert not again.warnings
