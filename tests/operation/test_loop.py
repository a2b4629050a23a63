"""Workflows, and the record of visits."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from lorebase.errors import InvalidDefinitionError, OperationCancelledError, UnknownIdError
from lorebase.operation.context import Cancellation, OperationContext
from lorebase.operation.loop import Loop, Workflow

WORKFLOW = Workflow("test", ("generate", "check"))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class TickingClock:
    """Every look takes a second."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self) -> datetime:
        self.looks += 1
        return NOON + timedelta(seconds=self.looks)

    def monotonic(self) -> float:
        return float(self.looks)


def test_visits_are_recorded_with_attempt_items_and_times() -> None:
    """A-062: runs of stages are recorded by the loop."""
    context = OperationContext(app=None)
    loop = Loop(WORKFLOW, context, TickingClock())

    with loop.visit("generate", ["a", "b"]):
        pass
    with loop.visit("generate", ["b"]) as visit:
        visit.outcome = "unavailable"

    first, second = loop.visits
    assert (first.node, first.attempt, first.item_ids, first.outcome) == ("generate", 1, ("a", "b"), "completed")
    assert second.ended_at - second.started_at == timedelta(seconds=1)
    assert (second.attempt, second.outcome) == (2, "unavailable")
    assert [entry.facts["attempt"] for entry in context.diagnostics.entries] == [1, 2]


def test_a_node_records_in_a_scope_of_its_own() -> None:
    context = OperationContext(app=None)

    with Loop(WORKFLOW, context, TickingClock()).visit("check", []) as visit:
        visit.context.diagnostics.record("SEEN", "Seen.")

    assert [entry.scope for entry in context.diagnostics.entries] == [("check#1",), ()]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ZeroDivisionError(), "failed"),
        (TimeoutError(), "timed_out"),
        (OperationCancelledError("Stop."), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
    ],
)
def test_what_ends_a_visit_passes_and_is_its_outcome(error: BaseException, outcome: str) -> None:
    loop = Loop(WORKFLOW, OperationContext(app=None), TickingClock())

    with pytest.raises(type(error)), loop.visit("check", []):
        raise error

    assert [visit.outcome for visit in loop.visits] == [outcome]


def test_a_signal_given_before_a_visit_prevents_it_and_one_given_inside_ends_it() -> None:
    cancellation = Cancellation()
    loop = Loop(WORKFLOW, OperationContext(app=None, signal=cancellation), TickingClock())

    with pytest.raises(OperationCancelledError), loop.visit("check", []):
        cancellation.cancel()
    with pytest.raises(OperationCancelledError), loop.visit("check", []):
        raise AssertionError

    assert [visit.outcome for visit in loop.visits] == ["cancelled"]


def test_nodes_are_fixed() -> None:
    with pytest.raises(UnknownIdError, match="no node 'publish'"):
        Loop(WORKFLOW, OperationContext(app=None), TickingClock()).visit("publish", []).__enter__()
    for nodes in [(), ("a", "a"), ("",)]:
        with pytest.raises(InvalidDefinitionError):
            Workflow("test", nodes)
