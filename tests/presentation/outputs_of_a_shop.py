"""A small application that the tests of the output catalog share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lorebase.operation import OperationContext, PydanticSchema
from lorebase.presentation.output_catalog import OutputCatalog, define_output_catalog
from lorebase.presentation.outputs import (
    BoundField,
    ConstantField,
    GeneratedField,
    GroupOutput,
    MasterOutput,
    ProviderChoice,
    RecordOutput,
    SemanticField,
    TextOutput,
)
from lorebase.presentation.templates import TextTemplateOptions, define_text_template

LINKS = {"refund": "https://shop.example/refund", "退款": "https://shop.example/zh"}


@dataclass(frozen=True)
class Shop:
    """The application: what its providers look things up in."""

    customer: str = "王"


class Provider:
    """Gives what a function gives, and remembers what it was asked."""

    def __init__(self, give: Callable[[ProviderChoice, OperationContext[Shop]], Any]) -> None:
        self.give = give
        self.asked: list[str | None] = []

    def resolve(self, choice: ProviderChoice, context: OperationContext[Shop]) -> Any:
        self.asked.append(choice.key)
        return self.give(choice, context)


def shop_context() -> OperationContext[Shop]:
    return OperationContext(app=Shop())


def providers() -> dict[str, Provider]:
    return {
        "customer": Provider(lambda choice, context: context.app.customer),
        "links": Provider(lambda choice, context: LINKS[choice.key or ""]),
    }


DEFINITIONS = (
    TextOutput(id="answer", text=GeneratedField(id="text")),
    MasterOutput(
        id="letter",
        master=define_text_template(
            "{{customer}}，您好！\n{{body}}\n{{link}}\n{{sign}}",
            TextTemplateOptions(["customer", "body", "link", "sign"]),
        ),
        fields=(
            BoundField(id="customer", provider_id="customer"),
            GeneratedField(id="body"),
            SemanticField(id="link", semantic_keys=("refund", "退款"), provider_id="links"),
            ConstantField(id="sign", constant_value="The shop"),
        ),
    ),
    RecordOutput(
        id="card",
        fields=(
            GeneratedField(id="title"),
            GeneratedField(id="count", value_schema=PydanticSchema(int)),
            SemanticField(id="link", semantic_keys=("refund", "退款"), provider_id="links"),
            BoundField(id="customer", provider_id="customer"),
            ConstantField(
                id="style", constant_value={"colours": ["red"]}, value_schema=PydanticSchema(dict[str, list[str]])
            ),
        ),
    ),
    GroupOutput(id="reply", allowed_output_ids=("answer", "card")),
    GroupOutput(id="thread", allowed_output_ids=("reply", "answer")),
)


def shop(**options: Any) -> OutputCatalog[Shop]:
    return define_output_catalog(DEFINITIONS, **{"providers": providers(), **options})
