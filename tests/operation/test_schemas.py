"""Schemas that run."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from lorebase.errors import SchemaError
from lorebase.operation.schemas import PydanticSchema, SchemaAdapter, TextSchema, schema_issues


class Question(BaseModel):
    text: str
    limits: list[int] = []


def test_a_model_parses_and_describes_itself() -> None:
    schema: SchemaAdapter[Question] = PydanticSchema(Question)

    assert schema.parse({"text": "When?", "limits": ["1"]}) == Question(text="When?", limits=[1])
    assert schema.json_schema()["properties"]["text"]["type"] == "string"


def test_every_fault_is_an_issue_with_its_place() -> None:
    with pytest.raises(SchemaError) as caught:
        PydanticSchema(Question).parse({"limits": [1, "many"]})

    issues = schema_issues(caught.value)
    assert [(issue.code, issue.path) for issue in issues] == [("MISSING", ("text",)), ("INT_PARSING", ("limits", 1))]
    assert "many" not in "".join(issue.message for issue in issues)


def test_a_strict_schema_converts_nothing() -> None:
    with pytest.raises(SchemaError):
        PydanticSchema(int, strict=True).parse("1")


def test_a_type_adapter_is_a_schema() -> None:
    schema = PydanticSchema(TypeAdapter(Annotated[int, Field(ge=1)]))

    assert schema.parse(1) == 1
    with pytest.raises(SchemaError, match="greater than or equal to 1"):
        schema.parse(0)


@settings(deadline=None)
@given(st.text())
def test_text_is_taken_as_it_is(text: str) -> None:
    assert TextSchema().parse(text) == text


@pytest.mark.parametrize("value", [None, 1, b"x", ["x"]])
def test_text_takes_nothing_but_text(value: object) -> None:
    with pytest.raises(SchemaError, match="should be text"):
        TextSchema().parse(value)


def test_text_has_the_limit_that_its_schema_shows() -> None:
    schema = TextSchema(max_chars=2)

    assert (schema.parse("知识"), schema.json_schema()) == ("知识", {"type": "string", "maxLength": 2})
    with pytest.raises(SchemaError, match="3 characters; at most 2"):
        schema.parse("知识库")
