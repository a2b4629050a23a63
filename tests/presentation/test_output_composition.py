"""Composed outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lorebase.errors import (
    ContractError,
    OperationCancelledError,
    OutputNotPassedError,
)
from lorebase.operation import Cancellation, OperationContext, Passed, PydanticSchema
from lorebase.presentation.output_catalog import OutputCatalog, define_output_catalog
from lorebase.presentation.outputs import (
    BoundField,
    GeneratedField,
    GroupChild,
    GroupResult,
    MasterOutput,
    ProviderChoice,
    RecordOutput,
    RecordResult,
    TextOutput,
    TextResult,
)
from lorebase.presentation.templates import TextTemplateOptions, define_text_template
from tests.presentation.outputs_of_a_shop import Provider, Shop, providers, shop, shop_context

CARD = {"title": "a", "count": 1, "link": "refund"}
LETTER = {"body": "谢谢", "link": "退款"}


def one_bound(give: Callable[..., Any], schema: Any = None) -> tuple[OutputCatalog[Shop], Provider]:
    provider = Provider(give)
    field = BoundField(id="x", provider_id="p", **({"value_schema": schema} if schema else {}))
    return define_output_catalog([RecordOutput(id="r", fields=(field,))], providers={"p": provider}), provider


def test_a_text_is_what_the_model_wrote() -> None:
    """A-089, A-094."""
    assert shop().compose("answer", {"text": "您好"}, shop_context()) == TextResult("answer", "text", "您好")


def test_a_master_is_a_text_with_the_values_of_all_owners() -> None:
    """A-079, A-081, A-094."""
    result = shop().compose("letter", LETTER, shop_context())

    assert result == TextResult("letter", "master", "王，您好！\n谢谢\nhttps://shop.example/zh\nThe shop")


def test_a_text_of_the_model_that_looks_like_a_master_is_not_expanded() -> None:
    """A-108."""
    result = shop().compose("letter", {"body": "{{customer}} {{sign}}", "link": "refund"}, shop_context())

    assert result.value == "王，您好！\n{{customer}} {{sign}}\nhttps://shop.example/refund\nThe shop"


def test_a_record_keeps_its_structure_and_the_order_of_its_fields() -> None:
    """A-094."""
    result = shop().compose("card", CARD, shop_context())

    assert result == RecordResult(
        "card",
        "record",
        {
            "title": "a",
            "count": 1,
            "link": "https://shop.example/refund",
            "customer": "王",
            "style": {"colours": ["red"]},
        },
    )
    assert list(result.value) == ["title", "count", "link", "customer", "style"]


def test_children_of_a_group_get_ids_of_the_program_in_their_order() -> None:
    """A-090."""
    answer = {"output_id": "answer", "value": {"text": "a"}}
    group = {"output_id": "reply", "value": {"children": [answer, answer]}}

    result = shop().compose("thread", {"children": [answer, group]}, shop_context())

    assert result == GroupResult(
        "thread",
        "group",
        (
            GroupChild("c1", "answer", "a"),
            GroupChild("c2", "reply", (GroupChild("c2.c1", "answer", "a"), GroupChild("c2.c2", "answer", "a"))),
        ),
    )


def test_providers_are_asked_with_the_chosen_key_and_the_context() -> None:
    """A-085."""
    used = providers()

    result = shop(providers=used).compose("card", CARD, OperationContext(app=Shop("李")))

    assert {name: provider.asked for name, provider in used.items()} == {"customer": [None], "links": ["refund"]}
    assert result.value["customer"] == "李"


@pytest.mark.parametrize("value", [{"title": "a"}, {**CARD, "style": {}}, {**CARD, "link": "other"}, None])
def test_a_value_that_does_not_pass_is_not_composed_and_no_provider_is_asked(value: object) -> None:
    """A-087, A-088."""
    used = providers()

    with pytest.raises(OutputNotPassedError, match="'card'") as raised:
        shop(providers=used).compose("card", value, shop_context())

    assert raised.value.facts["issues"]
    assert used["links"].asked == used["customer"].asked == []


def test_what_a_failed_check_kept_completes_no_output() -> None:
    """A-088."""
    catalog = shop()
    partial = catalog.check("card", {**CARD, "count": "many"})

    with pytest.raises(OutputNotPassedError):
        catalog.compose("card", partial.value, shop_context())


def test_a_value_changed_after_its_check_is_checked_again() -> None:
    """A-087."""
    catalog = shop()
    checked = catalog.check("card", CARD)
    assert isinstance(checked, Passed)

    with pytest.raises(OutputNotPassedError):
        catalog.compose("card", {**checked.value, "link": "https://evil.example"}, shop_context())


def test_what_a_check_passed_can_be_composed() -> None:
    """A-087."""
    catalog = shop()
    children = [{"output_id": "card", "value": CARD}, {"output_id": "answer", "value": {"text": "a"}}]
    checked = catalog.check("reply", {"children": children})

    result = catalog.compose("reply", checked.value, shop_context())

    assert result == catalog.compose("reply", {"children": children}, shop_context())


async def test_a_provider_that_has_to_be_awaited_is_refused() -> None:
    """A-076."""

    async def later(choice: ProviderChoice, context: OperationContext[Shop]) -> str:
        return "x"

    for give in (later, lambda choice, context: asyncio.get_running_loop().create_future()):
        catalog, _ = one_bound(give)
        with pytest.raises(ContractError, match="'p' gave something to await"):
            catalog.compose("r", {}, shop_context())


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), TimeoutError(), LookupError("no such customer"), OperationCancelledError("x")]
)
def test_what_a_provider_raises_reaches_the_caller(error: BaseException) -> None:
    """A-093."""

    def fail(choice: ProviderChoice, context: OperationContext[Shop]) -> str:
        raise error

    catalog, _ = one_bound(fail)

    with pytest.raises(type(error)) as raised:
        catalog.compose("r", {}, shop_context())
    assert raised.value is error


def test_a_value_of_a_provider_passes_the_parser_too() -> None:
    """A-080."""
    catalog, _ = one_bound(lambda choice, context: "3", PydanticSchema(int))

    assert catalog.compose("r", {}, shop_context()).value == {"x": 3}


def test_a_wrong_value_of_a_provider_is_a_fault_of_the_program() -> None:
    """A-080, A-092."""
    catalog, _ = one_bound(lambda choice, context: 3)

    with pytest.raises(ContractError, match="The provider 'p' gave the field 'x'"):
        catalog.compose("r", {}, shop_context())


def test_none_of_a_provider_is_a_value() -> None:
    """A-080."""
    catalog, _ = one_bound(lambda choice, context: None, PydanticSchema(str | None))

    assert catalog.compose("r", {}, shop_context()).value == {"x": None}


def test_a_text_whose_schema_makes_no_text_is_a_fault_of_the_program() -> None:
    """A-094."""
    text = TextOutput(id="t", text=GeneratedField(id="x", value_schema=PydanticSchema(int)))
    master = MasterOutput(
        id="m",
        master=define_text_template("{{x}}", TextTemplateOptions(["x"])),
        fields=(GeneratedField(id="x", value_schema=PydanticSchema(int)),),
    )
    catalog = define_output_catalog([text, master])

    for output_id in ("t", "m"):
        with pytest.raises(ContractError, match="made no text"):
            catalog.compose(output_id, {"x": 3}, OperationContext(app=None))


def test_a_cancelled_operation_composes_nothing_and_asks_no_further_provider() -> None:
    signal = Cancellation()

    def cancel(choice: ProviderChoice, context: OperationContext[Shop]) -> str:
        signal.cancel()
        return "x"

    asked_after = Provider(lambda choice, context: "y")
    fields = (BoundField(id="x", provider_id="p"), BoundField(id="y", provider_id="q"))
    catalog = define_output_catalog(
        [RecordOutput(id="r", fields=fields)], providers={"p": Provider(cancel), "q": asked_after}
    )

    for _ in range(2):
        with pytest.raises(OperationCancelledError):
            catalog.compose("r", {}, OperationContext(app=Shop(), signal=signal))
    assert asked_after.asked == []


async def test_many_outputs_may_be_composed_at_once() -> None:
    catalog = shop()

    results = await asyncio.gather(
        *[asyncio.to_thread(catalog.compose, "card", {**CARD, "count": n}, shop_context()) for n in range(50)]
    )

    assert [result.value["count"] for result in results] == list(range(50))
