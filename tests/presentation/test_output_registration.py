"""What is checked and copied when outputs are registered."""

from __future__ import annotations

from typing import Any

import pytest

from lorebase.errors import (
    InvalidDefinitionError,
)
from lorebase.operation import OperationContext, PydanticSchema
from lorebase.presentation.output_catalog import OutputCatalog, define_output_catalog
from lorebase.presentation.outputs import (
    BoundField,
    ConstantField,
    GeneratedField,
    GroupOutput,
    MasterOutput,
    OutputDefinition,
    RecordOutput,
    SemanticField,
    TextOutput,
)
from lorebase.presentation.templates import TextTemplateOptions, define_text_template
from tests.presentation.outputs_of_a_shop import DEFINITIONS, Provider, providers, shop, shop_context

CARD = {"title": "a", "count": 1, "link": "refund"}


def test_a_constant_is_copied_when_it_is_registered() -> None:
    """A-082."""
    colours = ["red"]
    field = ConstantField(id="x", constant_value=colours, value_schema=PydanticSchema(Any))
    catalog = define_output_catalog([RecordOutput(id="r", fields=(field,))])

    colours.append("blue")

    assert catalog.compose("r", {}, OperationContext(app=None)).value == {"x": ["red"]}
    assert catalog.require("r").fields[0].constant_value == ["red"]


def test_a_constant_of_a_result_or_of_the_catalog_may_be_changed_without_effect() -> None:
    """A-082."""
    field = ConstantField(id="x", constant_value=["red"], value_schema=PydanticSchema(Any))
    catalog: OutputCatalog[None] = define_output_catalog([RecordOutput(id="r", fields=(field,))])

    catalog.compose("r", {}, OperationContext(app=None)).value["x"].append("blue")
    catalog.require("r").fields[0].constant_value.append("green")

    assert catalog.compose("r", {}, OperationContext(app=None)).value == {"x": ["red"]}


def test_none_is_a_constant() -> None:
    """A-082."""
    field = ConstantField(id="x", constant_value=None, value_schema=PydanticSchema(type(None)))
    catalog = define_output_catalog([RecordOutput(id="r", fields=(field,))])

    assert catalog.compose("r", {}, OperationContext(app=None)).value == {"x": None}


def test_a_provider_added_after_registration_is_not_used() -> None:
    """A-091."""
    used = providers()
    catalog = shop(providers=used)

    used["customer"] = Provider(lambda choice, context: "somebody else")

    assert catalog.compose("card", CARD, shop_context()).value["customer"] == "王"


def test_definitions_stay_as_they_were_given() -> None:
    shop()

    assert DEFINITIONS[2].fields[4].constant_value == {"colours": ["red"]}


MASTER = define_text_template("{{a}}", TextTemplateOptions(["a"]))
A = GeneratedField(id="a")


@pytest.mark.parametrize(
    "definitions",
    [
        [RecordOutput(id="", fields=())],
        [RecordOutput(id="r", fields=()), TextOutput(id="r", text=A)],
        [RecordOutput(id="r", fields=(A, ConstantField(id="a", constant_value="x")))],
        [RecordOutput(id="r", fields=(GeneratedField(id=" "),))],
        [RecordOutput(id="r", fields=(BoundField(id="a", provider_id="unknown"),))],
        [RecordOutput(id="r", fields=(SemanticField(id="a", semantic_keys=("k",), provider_id="unknown"),))],
        [RecordOutput(id="r", fields=(SemanticField(id="a", semantic_keys=(), provider_id="customer"),))],
        [RecordOutput(id="r", fields=(SemanticField(id="a", semantic_keys=("k", "k"), provider_id="customer"),))],
        [RecordOutput(id="r", fields=(SemanticField(id="a", semantic_keys=(" ",), provider_id="customer"),))],
        [RecordOutput(id="r", fields=(ConstantField(id="a", constant_value=3),))],
        [RecordOutput(id="r", fields=(ConstantField(id="a", constant_value=None),))],
        [TextOutput(id="t", text=ConstantField(id="a", constant_value="x"))],
        [MasterOutput(id="m", master=MASTER, fields=())],
        [MasterOutput(id="m", master=MASTER, fields=(A, GeneratedField(id="b")))],
        [
            MasterOutput(
                id="m",
                master=MASTER,
                fields=(ConstantField(id="a", constant_value=3, value_schema=PydanticSchema(int)),),
            )
        ],
        [GroupOutput(id="g", allowed_output_ids=())],
        [GroupOutput(id="g", allowed_output_ids=("unknown",))],
        [GroupOutput(id="g", allowed_output_ids=("g",))],
        [GroupOutput(id="g", allowed_output_ids=("h",)), GroupOutput(id="h", allowed_output_ids=("g",))],
        [TextOutput(id="t", text=A), GroupOutput(id="g", allowed_output_ids=("t", "t"))],
    ],
)
def test_definitions_that_cannot_work_are_refused(definitions: list[OutputDefinition]) -> None:
    """A-036, A-084."""
    with pytest.raises(InvalidDefinitionError):
        define_output_catalog(definitions, providers=providers())
