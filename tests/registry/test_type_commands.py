"""Adding, updating, deleting and replacing types, and every way in which that is refused."""

from __future__ import annotations

from typing import Any

import pytest

from lorebase.registry.base_changes import BaseChange
from lorebase.registry.changes import CardTypeChange, SourceTypeChange
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.record import BaseStatistics
from lorebase.registry.service import KnowledgeBases
from lorebase.registry.source_types import SourceType
from tests.registry.opening import SteppingClock

Bases = KnowledgeBases[None, None]

CONTRACT: dict[str, Any] = {
    "id": "contract",
    "label": "合同",
    "description": "双方签署的合同、协议和补充条款。",
    "signals": ["合同", "协议"],
    "excludes": ["发票"],
}
RULE: dict[str, Any] = {
    "id": "rule",
    "label": "规则",
    "description": "约束人们行为的规则，包括例外。",
    "sections": ["内容 | 规则本身 | 必填", "例外"],
    "fields": ["valid_from | 生效日期 | date"],
}
COUNTS = BaseStatistics(sources_by_type={"contract": 2}, cards_by_type={"rule": 3})


@pytest.fixture
def used(store: FileRegistryStore) -> Bases:
    """A base with a contract and a rule type that documents and cards have."""
    made: Bases = KnowledgeBases(store, clock=SteppingClock(), statistics=lambda _: COUNTS)
    made.create("a")
    made.source_types.add("a", SourceTypeChange.from_json(CONTRACT))
    made.card_types.add("a", CardTypeChange.from_json(RULE))
    return made


def code_of(envelope: object) -> str:
    error = getattr(envelope, "error", None)
    return error.code if error else ""


def source_type(bases: Bases, type_id: str) -> SourceType:
    return next(known for known in bases.source_types.list("a").data if known.id == type_id)


def test_a_source_type_is_added_at_the_end(used: Bases) -> None:
    """D-025."""
    added = source_type(used, "contract")

    assert used.source_types.list("a").data[-1] == added
    assert (added.enabled, added.builtin, added.fallback, added.metadata_fields) == (True, False, False, ())
    assert added.source_count == 2


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"id": "Con-tract"}, "INVALID_TYPE_ID"),
        ({"id": ""}, "INVALID_TYPE_ID"),
        ({"id": "policy"}, "DUPLICATE_TYPE_ID"),
        ({"label": " "}, "LABEL_REQUIRED"),
        ({"label": "x" * 41}, "TEXT_TOO_LONG"),
        ({"label": "POLICY"}, "DUPLICATE_LABEL"),
        ({"description": "too short"}, "DESCRIPTION_REQUIRED"),
        ({"description": "x" * 501}, "TEXT_TOO_LONG"),
        ({"signals": []}, "SIGNALS_REQUIRED"),
        ({"signals": [" ", ""]}, "SIGNALS_REQUIRED"),
        ({"signals": [str(number) for number in range(21)]}, "TEXT_TOO_LONG"),
        ({"signals": ["x" * 101]}, "TEXT_TOO_LONG"),
        ({"excludes": None}, "EXCLUDES_REQUIRED"),
    ],
)
def test_a_source_type_without_its_complete_text_is_refused(bases: Bases, changed: dict[str, Any], code: str) -> None:
    """D-020, DQ-10."""
    bases.create("a")

    answer = bases.source_types.add("a", SourceTypeChange.from_json({**CONTRACT, **changed}))

    assert code_of(answer) == code
    assert answer.model_dump(mode="json")["data"] == {}
    assert len(bases.source_types.list("a").data) == 8


def test_the_longest_texts_are_accepted(bases: Bases) -> None:
    """DQ-10."""
    bases.create("a")
    longest = {"label": "x" * 40, "description": "x" * 500, "signals": [f"{number:0100}" for number in range(20)]}

    assert bases.source_types.add("a", SourceTypeChange.from_json({**CONTRACT, **longest})).ok


def test_an_update_of_a_source_type_keeps_what_is_not_given(used: Bases) -> None:
    """D-026, D-029."""
    fields = [{"key": "甲方", "required": True}]
    used.source_types.update("a", SourceTypeChange.from_json({"metadataFields": fields}, type_id="contract"))

    used.source_types.update(
        "a", SourceTypeChange.from_json({"label": "契约", "signals": None, "metadata_fields": None}, type_id="contract")
    )

    after = source_type(used, "contract")
    assert (after.label, after.signals, after.excludes) == ("契约", ("合同", "协议"), ("发票",))
    assert [field.key for field in after.metadata_fields] == ["甲方"]


def test_an_empty_list_of_metadata_fields_clears_them(used: Bases) -> None:
    """D-029."""
    used.source_types.update("a", SourceTypeChange.from_json({"metadataFields": [{"key": "x"}]}, type_id="contract"))

    used.source_types.update("a", SourceTypeChange(id="contract", metadata_fields=()))

    assert source_type(used, "contract").metadata_fields == ()


def test_an_update_is_validated_after_merging(used: Bases) -> None:
    """D-027."""
    answer = used.source_types.update("a", SourceTypeChange(id="contract", signals=()))

    assert code_of(answer) == "SIGNALS_REQUIRED"
    assert source_type(used, "contract").signals == ("合同", "协议")


def test_a_built_in_source_type_can_be_disabled_but_not_deleted_and_the_fallback_neither(used: Bases) -> None:
    """D-020, D-038."""
    disabled = used.source_types.update("a", SourceTypeChange(id="faq", enabled=False))

    assert disabled.ok
    assert not source_type(used, "faq").enabled
    assert code_of(used.source_types.delete("a", "faq", force=True)) == "BUILTIN_IMMUTABLE"
    assert code_of(used.source_types.update("a", SourceTypeChange(id="document", enabled=False))) == "FALLBACK_REQUIRED"


def test_a_source_type_that_documents_have_is_deleted_only_by_force(used: Bases) -> None:
    """DQ-21."""
    refused = used.source_types.delete("a", "contract")

    forced = used.source_types.delete("a", "contract", force=True)

    assert code_of(refused) == "TYPE_IN_USE"
    assert forced.ok
    assert forced.model_dump(mode="json")["data"] == {"deleted": True}
    assert len(used.source_types.list("a").data) == 8


def test_the_list_of_source_types_replaced_restores_built_in_ones_with_a_warning(used: Bases) -> None:
    """D-020, D-031, D-032."""
    used.source_types.update("a", SourceTypeChange(id="faq", enabled=False))
    changes = [
        SourceTypeChange(id="document", enabled=False),
        SourceTypeChange(id="policy", signals=(" 政策 ", "")),
        SourceTypeChange.from_json({**CONTRACT, "id": "order", "label": "订单"}),
        SourceTypeChange(id="contract", enabled=False),
    ]

    answer = used.source_types.replace("a", changes)

    by_id = {known.id: known for known in answer.data}
    codes = [warning.split(":")[0] for warning in answer.warnings]
    assert list(by_id)[8:] == ["order", "contract"]
    assert by_id["document"].enabled
    assert by_id["policy"].signals == ("政策",)
    assert not by_id["contract"].enabled
    assert by_id["contract"].label == "合同"
    assert not by_id["faq"].enabled
    assert codes == ["FALLBACK_REQUIRED", *["BUILTIN_RESTORED"] * 6]


def test_a_source_type_in_a_replaced_list_is_enabled_unless_it_says_otherwise(used: Bases) -> None:
    """D-031, D-032."""
    for type_id in ("faq", "policy", "contract"):
        used.source_types.update("a", SourceTypeChange(id=type_id, enabled=False))

    answer = used.source_types.replace("a", [SourceTypeChange(id="faq"), SourceTypeChange(id="contract")])

    enabled = {known.id: known.enabled for known in answer.data}
    assert (enabled["faq"], enabled["contract"], enabled["policy"]) == (True, True, False)


def test_a_replaced_list_drops_custom_types_unless_documents_have_them(used: Bases) -> None:
    used.source_types.add("a", SourceTypeChange.from_json({**CONTRACT, "id": "order", "label": "订单"}))

    kept = used.source_types.replace("a", [SourceTypeChange(id="contract")])
    refused = used.source_types.replace("a", [])

    assert [known.id for known in kept.data[8:]] == ["contract"]
    assert code_of(refused) == "TYPE_IN_USE"


def test_a_replaced_list_names_an_id_twice_or_two_equal_labels_in_vain(used: Bases) -> None:
    twice = used.source_types.replace("a", [SourceTypeChange(id="contract"), SourceTypeChange(id="contract")])
    labels = used.source_types.replace("a", [SourceTypeChange(id="contract", label="faq")])

    assert code_of(twice) == "DUPLICATE_TYPE_ID"
    assert code_of(labels) == "DUPLICATE_LABEL"


def test_at_most_24_custom_source_types_stand_beside_the_8_built_in_ones(bases: Bases) -> None:
    """D-033, DQ-07."""
    bases.create("a")
    drafts = [
        SourceTypeChange.from_json({**CONTRACT, "id": f"type_{number}", "label": f"Type {number}"})
        for number in range(25)
    ]

    too_many = bases.source_types.replace("a", drafts)
    enough = bases.source_types.replace("a", drafts[:24])
    one_more = bases.source_types.add("a", drafts[24])

    assert code_of(too_many) == "SOURCE_TYPE_LIMIT"
    assert enough.ok
    assert code_of(one_more) == "SOURCE_TYPE_LIMIT"


def test_a_type_or_a_base_that_is_not_there_is_named(used: Bases) -> None:
    assert code_of(used.source_types.update("a", SourceTypeChange(id="nothing"))) == "TYPE_NOT_FOUND"
    assert code_of(used.source_types.delete("a", "nothing")) == "TYPE_NOT_FOUND"
    assert code_of(used.card_types.update("a", CardTypeChange(id="nothing"))) == "TYPE_NOT_FOUND"
    assert code_of(used.card_types.delete("b", "rule")) == "BASE_NOT_FOUND"
    assert code_of(used.source_types.list("b")) == "BASE_NOT_FOUND"


def test_a_card_type_is_made_of_lines_and_its_template_derived(used: Bases) -> None:
    """D-045."""
    rule = used.card_types.list("a").data[-1]

    assert [(section.title, section.required) for section in rule.sections] == [("内容", True), ("例外", False)]
    assert [(field.key, field.type) for field in rule.fields] == [("valid_from", "date")]
    assert "## 内容" in rule.template
    assert rule.layer == "type"
    assert rule.card_count == 3


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"id": "check-list"}, "INVALID_TYPE_ID"),
        ({"id": "faq"}, "DUPLICATE_TYPE_ID"),
        ({"label": None}, "LABEL_REQUIRED"),
        ({"label": "metric"}, "DUPLICATE_LABEL"),
        ({"description": ""}, "DESCRIPTION_REQUIRED"),
        ({"sections": []}, "SECTIONS_REQUIRED"),
        ({"sections": [" | only a hint"]}, "SECTIONS_REQUIRED"),
        ({"sections": ["What", "what | again"]}, "DUPLICATE_SECTION"),
        ({"fields": ["单位"]}, "INVALID_FIELD"),
        ({"fields": ["unit", "unit | Again"]}, "INVALID_FIELD"),
        ({"fields": ["level | Level | enum"]}, "INVALID_FIELD"),
        ({"fields": [f"field_{number}" for number in range(21)]}, "INVALID_FIELD"),
    ],
)
def test_a_card_type_that_breaks_a_rule_is_refused(bases: Bases, changed: dict[str, Any], code: str) -> None:
    """DQ-11."""
    bases.create("a")

    answer = bases.card_types.add("a", CardTypeChange.from_json({**RULE, **changed}))

    assert code_of(answer) == code
    assert len(bases.card_types.list("a").data) == 8


def test_an_update_of_a_card_type_derives_its_template_again_and_keeps_the_rest(used: Bases) -> None:
    """D-046."""
    used.card_types.update("a", CardTypeChange(id="rule", enabled=False))

    after = used.card_types.update("a", CardTypeChange(id="rule", sections=("Scope",), layer="instance")).data

    assert after.model_dump()["layer"] == "instance"
    assert "## Scope" in after.model_dump()["template"]
    assert "## 内容" not in after.model_dump()["template"]
    assert after.model_dump()["enabled"] is False
    assert [field["key"] for field in after.model_dump()["fields"]] == ["valid_from"]


def test_a_card_type_that_cards_have_is_deleted_only_by_force(used: Bases) -> None:
    """D-048, DQ-21."""
    assert code_of(used.card_types.delete("a", "rule")) == "TYPE_IN_USE"
    assert code_of(used.card_types.delete("a", "faq")) == "BUILTIN_IMMUTABLE"
    assert used.card_types.delete("a", "rule", force=True).model_dump()["data"] == {"deleted": True}


def test_the_list_of_card_types_replaced_keeps_what_is_not_given(used: Bases) -> None:
    """D-047."""
    changes = [
        CardTypeChange(id="rule", label="规定"),
        CardTypeChange(id="check-point", enabled=False),
        CardTypeChange.from_json({**RULE, "id": "risk", "label": "Risk", "enabled": None}),
    ]

    answer = used.card_types.replace("a", changes)

    by_id = {known.id: known for known in answer.data}
    assert list(by_id)[8:] == ["rule", "risk"]
    assert by_id["rule"].label == "规定"
    assert by_id["rule"].sections[0].title == "内容"
    assert not by_id["check_point"].enabled
    assert by_id["risk"].enabled
    assert len(answer.warnings) == 7


def test_a_new_card_type_in_a_replaced_list_is_validated_as_a_draft(used: Bases) -> None:
    """D-047."""
    assert (
        code_of(used.card_types.replace("a", [CardTypeChange(id="rule"), CardTypeChange(id="risk")]))
        == "LABEL_REQUIRED"
    )
    assert used.update("a", BaseChange(card_types=[CardTypeChange(id="rule")])).ok
