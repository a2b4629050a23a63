"""What a model is told of an output."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from lorebase.errors import UnknownIdError
from lorebase.operation import OperationContext, PydanticSchema
from lorebase.presentation.output_catalog import define_output_catalog
from lorebase.presentation.outputs import (
    BoundField,
    ConstantField,
    GeneratedField,
    GroupOutput,
    OutputField,
    ProviderChoice,
    RecordOutput,
    SemanticField,
    TextOutput,
)
from tests.presentation.outputs_of_a_shop import shop

MARK = "private"
PRIVATE = st.text(alphabet="ab你", min_size=1, max_size=5).map(lambda text: MARK + text)
NAMES = st.text(alphabet="abc_你", min_size=1, max_size=6)


class Tree(BaseModel):
    word: str
    branches: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tree: Tree


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Selfish:
    """A schema that refers to itself as a whole, and has data that looks like a reference."""

    def parse(self, value: object) -> object:
        return value

    def json_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"next": {"$ref": "#"}, "default": {"$ref": "#/properties/word"}, "word": {"type": "string"}},
            "default": {"$ref": "#/no/reference"},
        }


class Private:
    def resolve(self, choice: ProviderChoice, context: OperationContext[None]) -> str:
        return f"{MARK} value of {choice.key}"


def fields() -> st.SearchStrategy[list[OutputField]]:
    schemas = st.sampled_from([PydanticSchema(kind) for kind in (str, int, list[str], Tree, Pet)])
    anything = st.recursive(PRIVATE, lambda inner: st.lists(inner) | st.dictionaries(PRIVATE, inner), max_leaves=4)
    generated = st.builds(GeneratedField, id=NAMES, value_schema=schemas)
    semantic = st.builds(
        SemanticField,
        id=NAMES,
        semantic_keys=st.lists(NAMES, min_size=1, unique=True),
        provider_id=st.just(f"{MARK} provider"),
    )
    bound = st.builds(
        BoundField, id=PRIVATE, provider_id=st.just(f"{MARK} provider"), value_schema=st.just(PydanticSchema(Tree))
    )
    constant = st.builds(ConstantField, id=PRIVATE, constant_value=anything, value_schema=st.just(PydanticSchema(Any)))
    return st.lists(st.one_of(generated, semantic, bound, constant), unique_by=lambda field: field.id, max_size=8)


@given(fields(), fields())
@settings(max_examples=200)
def test_no_constant_private_value_or_provider_shows_in_a_schema(
    first: list[OutputField], second: list[OutputField]
) -> None:
    """A-083, A-086."""
    records = [RecordOutput(id="a", fields=tuple(first)), RecordOutput(id="b", fields=tuple(second))]
    groups = [
        GroupOutput(id="g", allowed_output_ids=("a", "b")),
        GroupOutput(id="h", allowed_output_ids=("g", "a")),
    ]
    catalog = define_output_catalog([*records, *groups], providers={f"{MARK} provider": Private()})

    schemas = {output_id: catalog.to_model_schema(output_id) for output_id in catalog.ids()}

    assert MARK not in json.dumps(schemas, ensure_ascii=False)
    public = [field.id for field in first if isinstance(field, GeneratedField | SemanticField)]
    assert list(schemas["a"]["properties"]) == schemas["a"]["required"] == public


@given(fields())
@settings(max_examples=50)
def test_every_reference_in_a_schema_leads_somewhere(defined: list[OutputField]) -> None:
    output = RecordOutput(id="a", fields=tuple(defined))
    group = GroupOutput(id="g", allowed_output_ids=("a",))
    catalog = define_output_catalog([output, group], providers={f"{MARK} provider": Private()})

    schema = catalog.to_model_schema("g")

    jsonschema.Draft202012Validator.check_schema(schema)
    for reference in references_in(schema):
        place: Any = schema
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
        assert isinstance(place, dict)


def references_in(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [reference for part in schema for reference in references_in(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    mapped = [target for target in schema.get("mapping", {}).values() if isinstance(target, str)]
    return own + mapped + [reference for part in schema.values() for reference in references_in(part)]


def test_a_text_is_a_closed_object_with_its_one_field() -> None:
    """A-074, A-086."""
    assert shop().to_model_schema("answer") == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }


def test_a_master_shows_generated_fields_and_semantic_keys() -> None:
    """A-083, A-086."""
    assert shop().to_model_schema("letter")["properties"] == {
        "body": {"type": "string"},
        "link": {"type": "string", "enum": ["refund", "退款"]},
    }


def test_a_group_is_a_list_of_its_outputs_without_ids() -> None:
    """A-090."""
    schema = shop().to_model_schema("reply")

    validator = jsonschema.Draft202012Validator(schema)
    answer = {"output_id": "answer", "value": {"text": "a"}}
    card = {"output_id": "card", "value": {"title": "a", "count": 1, "link": "refund"}}
    assert validator.is_valid({"children": [answer, card, answer]})
    assert not validator.is_valid({"children": []})
    assert not validator.is_valid({"children": [{**answer, "id": "c1"}]})
    assert not validator.is_valid({"children": [{**answer, "output_id": "card"}]})


def test_types_with_definitions_of_their_own_keep_them_apart() -> None:
    record = RecordOutput(
        id="r",
        fields=(
            GeneratedField(id="tree", value_schema=PydanticSchema(Tree)),
            GeneratedField(id="pet", value_schema=PydanticSchema(Pet)),
            GeneratedField(id="selfish", value_schema=Selfish()),
        ),
    )
    catalog = define_output_catalog([record, GroupOutput(id="g", allowed_output_ids=("r",))])
    validator = jsonschema.Draft202012Validator(catalog.to_model_schema("g"))
    value: dict[str, Any] = {
        "tree": {"word": "a", "branches": [{"word": "b"}]},
        "pet": {"kind": "dog", "tree": {"word": "c"}},
        "selfish": {"next": {"next": {"default": "d"}}},
    }

    def is_valid(**changes: object) -> bool:
        return validator.is_valid({"children": [{"output_id": "r", "value": {**value, **changes}}]})

    assert is_valid()
    assert not is_valid(tree={"word": "a", "branches": [{"word": 1}]})
    assert not is_valid(pet={"kind": "dog", "tree": {"branches": []}})
    assert not is_valid(selfish={"next": {"next": {"default": 1}}})


def test_data_that_looks_like_a_reference_stays_as_it_is() -> None:
    output = TextOutput(id="t", text=GeneratedField(id="x", value_schema=Selfish()))

    schema = define_output_catalog([output]).to_model_schema("t")

    [definition] = schema["$defs"].values()
    assert definition["default"] == {"$ref": "#/no/reference"}


def test_a_schema_is_a_new_one_each_time() -> None:
    catalog = shop()

    catalog.to_model_schema("card")["properties"].clear()

    assert list(catalog.to_model_schema("card")["properties"]) == ["title", "count", "link"]


def test_an_unknown_output_has_no_schema() -> None:
    with pytest.raises(UnknownIdError, match="'nothing'"):
        shop().to_model_schema("nothing")
