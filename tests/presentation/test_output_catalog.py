"""The catalog as a whole, and its observers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from lorebase.errors import (
    UnknownIdError,
)
from lorebase.operation import PydanticSchema
from lorebase.presentation.output_catalog import OutputCatalog, define_output_catalog
from lorebase.presentation.outputs import (
    BoundField,
    RecordOutput,
    TextResult,
)
from tests.presentation.outputs_of_a_shop import Provider, Shop, shop, shop_context

CARD = {"title": "a", "count": 1, "link": "refund"}


def one_bound(give: Callable[..., Any], schema: Any = None) -> tuple[OutputCatalog[Shop], Provider]:
    provider = Provider(give)
    field = BoundField(id="x", provider_id="p", **({"value_schema": schema} if schema else {}))
    return define_output_catalog([RecordOutput(id="r", fields=(field,))], providers={"p": provider}), provider


def test_the_catalog_is_read_like_every_other() -> None:
    """A-073."""
    catalog = shop()

    assert catalog.ids() == ("answer", "letter", "card", "reply", "thread")
    assert [definition.kind for definition in catalog.values()] == ["text", "master", "record", "group", "group"]
    assert (catalog.has("card"), catalog.has("nothing"), catalog.get("nothing")) == (True, False, None)
    with pytest.raises(UnknownIdError):
        catalog.compose("nothing", {}, shop_context())


def test_observers_are_told_of_checks_and_composed_outputs_as_plain_data() -> None:
    """A-023."""
    events: list[Any] = []
    catalog = shop(observe=events.append)

    catalog.check("answer", {"text": 1})
    catalog.compose("answer", {"text": "a"}, shop_context())

    assert [event["event"] for event in events] == ["checked", "checked", "composed"]
    assert [issue["code"] for issue in events[0]["issues"]] == ["STRING_TYPE"]
    assert events[2]["result"] == {"output_id": "answer", "kind": "text", "value": "a"}


def test_an_observer_that_changes_what_it_is_told_changes_nothing_else() -> None:
    """A-023, A-026."""

    def vandal(event: Any) -> None:
        event.get("value", {}).clear()
        event.get("result", {}).get("value", {}).clear()

    catalog = shop(observe=vandal)

    checked = catalog.check("card", CARD)
    composed = catalog.compose("card", CARD, shop_context())

    assert checked == shop().check("card", CARD)
    assert composed == shop().compose("card", CARD, shop_context())


def test_a_failing_observer_changes_no_result_and_is_noted() -> None:
    """A-025."""

    def fail(event: Any) -> None:
        raise ZeroDivisionError

    context = shop_context()

    result = shop(observe=fail).compose("answer", {"text": "a"}, context)

    assert result == TextResult("answer", "text", "a")
    assert [entry.code for entry in context.diagnostics.entries] == ["OBSERVER_FAILED", "OBSERVER_FAILED"]


def test_an_output_that_cannot_be_copied_is_told_to_nobody() -> None:
    """A-024, A-026."""
    events: list[Any] = []
    lock = threading.Lock()
    catalog, _ = one_bound(lambda choice, context: lock, PydanticSchema(Any))
    observed = define_output_catalog(
        catalog.values(), providers={"p": Provider(lambda choice, context: lock)}, observe=events.append
    )
    context = shop_context()

    result = observed.compose("r", {}, context)

    assert result.value == {"x": lock}
    assert [event["event"] for event in events] == ["checked"]
    assert [entry.code for entry in context.diagnostics.entries] == ["OBSERVATION_SKIPPED"]
