"""Schemas in the form that endpoints enforce."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from lorebase.models.strict_schema import strict_schema


class Item(BaseModel):
    """An item."""

    name: str = Field(min_length=1, max_length=9, description="How it is called.")
    kind: Literal["a", "b"] = "a"
    parent: Item | None = None


class Items(BaseModel):
    items: list[Item] = []


class Free(BaseModel):
    values: dict[str, int]


class Anything(BaseModel):
    value: Any


class Pair(BaseModel):
    pair: tuple[int, str]


def test_every_field_is_required_and_nothing_else_allowed():
    narrow = strict_schema(Items.model_json_schema())

    assert narrow == {
        "$defs": {
            "Item": {
                "type": "object",
                "description": "An item.",
                "properties": {
                    "name": {"type": "string", "description": "How it is called."},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "parent": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
                },
                "additionalProperties": False,
                "required": ["name", "kind", "parent"],
            }
        },
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/Item"}}},
        "additionalProperties": False,
        "required": ["items"],
    }


@pytest.mark.parametrize("model", [Free, Anything, Pair])
def test_what_has_no_narrow_form_has_none(model: type[BaseModel]):
    assert strict_schema(model.model_json_schema()) is None
