"""Checks of what a model wrote for an output."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import ContractError, UnknownIdError
from lorebase.operation import CheckResult, Passed, PydanticSchema, TextSchema
from lorebase.presentation.output_catalog import define_output_catalog
from lorebase.presentation.outputs import GeneratedField, RecordOutput, TextOutput
from tests.presentation.outputs_of_a_shop import shop

CARD = {"title": "a", "count": 1, "link": "refund"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["refund", "answer", "card"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["children", "output_id", "value", "text", "title", "count", "link", "id", "style"]), inner
        )
    ),
    max_leaves=12,
)


class Raising:
    """A schema whose code fails with something else than a SchemaError."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def parse(self, value: object) -> str:
        raise self.error

    def json_schema(self) -> dict[str, Any]:
        return {}


class Slow:
    async def parse(self, value: object) -> str:
        return "later"

    def json_schema(self) -> dict[str, Any]:
        return {}


def found(result: CheckResult[Any]) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(issue.code, issue.path) for issue in result.issues]


def test_a_right_value_passes_with_its_parsed_fields() -> None:
    """A-075, A-080."""
    result = shop().check("card", {"title": "a", "count": "3", "link": "退款"})

    assert result == Passed(value={"title": "a", "count": 3, "link": "退款"})


def test_a_parse_failure_is_a_repairable_issue_and_right_fields_are_kept() -> None:
    """A-087, A-092."""
    result = shop().check("card", {**CARD, "count": "many"})

    assert found(result) == [("INT_PARSING", ("count",))]
    assert result.issues[0].repairable
    assert result.value == {"title": "a", "link": "refund"}


def test_every_fault_inside_a_value_is_an_issue_with_its_path() -> None:
    """A-048, A-092."""
    field = GeneratedField(id="rows", value_schema=PydanticSchema(list[dict[str, int]]))
    catalog = define_output_catalog([RecordOutput(id="r", fields=(field,))])

    result = catalog.check("r", {"rows": [{"a": 1}, {"b": "x"}, 3]})

    assert found(result) == [("INT_PARSING", ("rows", 1, "b")), ("DICT_TYPE", ("rows", 2))]


@pytest.mark.parametrize("name", ["customer", "style", "id", "unknown", ""])
def test_fields_that_the_model_does_not_own_are_issues_whatever_they_are(name: str) -> None:
    """A-086."""
    result = shop().check("card", {**CARD, name: "x"})

    assert found(result) == [("UNEXPECTED_FIELD", (name,))]
    assert result.value == CARD


def test_a_message_does_not_tell_bound_and_constant_fields_from_unknown_ones() -> None:
    """A-086."""
    messages = {
        name: shop().check("card", {**CARD, name: "x"}).issues[0].message.replace(name, "?")
        for name in ("customer", "style", "unknown")
    }

    assert len(set(messages.values())) == 1


def test_a_missing_field_is_an_issue() -> None:
    assert found(shop().check("card", {"count": 1, "link": "refund"})) == [("MISSING_FIELD", ("title",))]


def test_none_is_a_value_and_not_a_missing_field() -> None:
    """A-080."""
    optional = GeneratedField(id="note", value_schema=PydanticSchema(str | None))
    catalog = define_output_catalog([RecordOutput(id="r", fields=(optional, GeneratedField(id="text")))])

    assert catalog.check("r", {"note": None, "text": "a"}) == Passed(value={"note": None, "text": "a"})
    assert found(catalog.check("r", {"note": None, "text": None})) == [("STRING_TYPE", ("text",))]
    assert found(catalog.check("r", {"text": "a"})) == [("MISSING_FIELD", ("note",))]


@pytest.mark.parametrize("key", ["Refund", "https://shop.example/refund", "", None, 1, ["refund"], {"key": "refund"}])
def test_a_key_that_is_not_offered_is_a_repairable_issue(key: object) -> None:
    """A-083."""
    result = shop().check("card", {**CARD, "link": key})

    assert found(result) == [("UNKNOWN_KEY", ("link",))]
    assert "shop.example" not in result.issues[0].message
    assert result.value == {"title": "a", "count": 1}


@pytest.mark.parametrize("value", [None, "text", 3, ["text"], [("text", "a")]])
def test_what_is_no_object_is_one_issue(value: object) -> None:
    assert [code for code, _ in found(shop().check("answer", value))] == ["NOT_AN_OBJECT"]


def test_issues_of_children_say_which_child() -> None:
    """A-048, A-090."""
    children = [
        {"output_id": "answer", "value": {"text": "a"}},
        {"output_id": "answer", "value": {"text": 1}},
        {"output_id": "letter", "value": {}},
        {"output_id": "answer", "value": {"text": "b"}, "id": "c9"},
        {"output_id": ["answer"], "value": {"text": "b"}},
        {"value": {"text": "b"}},
        {"output_id": "answer"},
        "answer",
    ]

    result = shop().check("reply", {"children": children})

    assert found(result) == [
        ("STRING_TYPE", ("children", 1, "value", "text")),
        ("UNKNOWN_OUTPUT", ("children", 2, "output_id")),
        ("UNEXPECTED_FIELD", ("children", 3, "id")),
        ("UNKNOWN_OUTPUT", ("children", 4, "output_id")),
        ("MISSING_FIELD", ("children", 5, "output_id")),
        ("MISSING_FIELD", ("children", 6, "value")),
        ("NOT_AN_OBJECT", ("children", 7)),
    ]
    assert result.value == {"children": ({"output_id": "answer", "value": {"text": "a"}},)}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"children": []}, "EMPTY_GROUP"),
        ({"children": "ab"}, "NOT_A_LIST"),
        ({"children": {"output_id": "answer"}}, "NOT_A_LIST"),
        ({"children": None}, "NOT_A_LIST"),
        ({}, "MISSING_FIELD"),
        ([], "NOT_AN_OBJECT"),
    ],
)
def test_a_group_needs_a_list_of_at_least_one_child(value: object, code: str) -> None:
    assert [found_code for found_code, _ in found(shop().check("reply", value))] == [code]


@given(JSON, st.sampled_from(["answer", "letter", "card", "reply", "thread"]))
def test_whatever_a_model_writes_is_passed_or_has_issues_and_never_breaks_a_check(
    value: object, output_id: str
) -> None:
    """A-092."""
    result = shop().check(output_id, value)

    assert (result.status == "failed") == (len(result.issues) > 0)
    assert all(issue.repairable and issue.severity == "error" for issue in result.issues)


@pytest.mark.parametrize("error", [TimeoutError(), asyncio.CancelledError(), ZeroDivisionError(), ValueError("bug")])
def test_what_a_schema_raises_otherwise_reaches_the_caller(error: BaseException) -> None:
    """A-093."""
    catalog = define_output_catalog([TextOutput(id="t", text=GeneratedField(id="x", value_schema=Raising(error)))])

    with pytest.raises(type(error)):
        catalog.check("t", {"x": "a"})


def test_a_schema_that_has_to_be_awaited_is_refused() -> None:
    """A-076."""
    catalog = define_output_catalog([TextOutput(id="t", text=GeneratedField(id="x", value_schema=Slow()))])

    with pytest.raises(ContractError, match="'x' of the output 't' gave something to await"):
        catalog.check("t", {"x": "a"})


def test_the_limit_of_a_text_belongs_to_its_schema() -> None:
    """A-098, A-100."""
    text = GeneratedField(id="x", value_schema=TextSchema(max_chars=3))
    catalog = define_output_catalog([TextOutput(id="t", text=text)])

    assert catalog.check("t", {"x": "知识库"}).status == "passed"
    assert found(catalog.check("t", {"x": "知识库。"})) == [("STRING_TOO_LONG", ("x",))]


def test_a_value_is_not_changed_by_its_check() -> None:
    value = {"title": "a", "count": "3", "link": "refund"}

    shop().check("card", value)

    assert value == {"title": "a", "count": "3", "link": "refund"}


def test_an_unknown_output_has_no_check() -> None:
    with pytest.raises(UnknownIdError):
        shop().check("nothing", {})
