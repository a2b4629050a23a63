"""Contexts, cancellation, diagnostics, and what must not be awaited."""

from __future__ import annotations

import asyncio
import threading

import pytest

from lorebase.errors import ContractError, OperationCancelledError
from lorebase.operation.awaitables import refuse_awaitable
from lorebase.operation.context import Cancellation, Diagnostics, OperationContext, until_cancelled


def test_a_derived_context_shares_app_and_signal_and_records_in_a_scope_inside() -> None:
    """A-003, A-072: the parts of a run share its signal."""
    context = OperationContext(app="shop", diagnostics=Diagnostics(("run",)))

    inner = context.derive("check").derive("citations")
    inner.diagnostics.record("SEEN", "Seen.", count=1)

    assert (inner.app, inner.signal) == ("shop", context.signal)
    assert [(entry.scope, entry.facts) for entry in context.diagnostics.entries] == [
        (("run", "check", "citations"), {"count": 1})
    ]


def test_fields_of_a_derived_context_can_be_put_in_place() -> None:
    context = OperationContext(app="shop")

    assert context.derive(app="other").app == "other"
    assert context.derive() == context
    with pytest.raises(TypeError):
        context.derive(budget=3)


def test_scopes_do_not_see_what_their_neighbours_record() -> None:
    root = Diagnostics()
    left, right = root.child("left"), root.child("right")

    left.record("A", "A.")

    assert (len(root.entries), len(left.entries), len(right.entries)) == (1, 1, 0)


def test_a_signal_stays_given_and_keeps_its_first_reason() -> None:
    cancellation = Cancellation()
    cancellation.raise_if_cancelled()

    cancellation.cancel("the customer left")
    cancellation.cancel("again")

    assert cancellation.cancelled
    with pytest.raises(OperationCancelledError, match="cancelled: the customer left"):
        cancellation.raise_if_cancelled()


async def test_a_signal_given_by_another_thread_wakes_those_who_wait() -> None:
    cancellation = Cancellation()
    waiting = [asyncio.create_task(cancellation.wait()) for _ in range(3)]
    await asyncio.sleep(0)

    thread = threading.Thread(target=cancellation.cancel)
    thread.start()
    await asyncio.gather(*waiting)
    thread.join()

    assert all(task.done() for task in waiting)
    await cancellation.wait()


async def test_work_is_stopped_and_waited_for_when_the_signal_is_given() -> None:
    cancellation = Cancellation()
    steps: list[str] = []

    async def work() -> None:
        try:
            steps.append("begun")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    running = asyncio.create_task(until_cancelled(work(), cancellation))
    await asyncio.sleep(0.01)
    cancellation.cancel()

    with pytest.raises(OperationCancelledError):
        await running
    assert steps == ["begun", "cleaned up"]


async def test_work_is_stopped_when_the_task_that_waits_for_it_is_cancelled() -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaned up")

    running = asyncio.create_task(until_cancelled(work(), Cancellation()))
    await asyncio.sleep(0.01)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert steps == ["cleaned up"]


async def test_work_that_goes_on_although_it_was_stopped_has_no_result() -> None:
    cancellation = Cancellation()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "unwanted"
        return "never"

    asyncio.get_running_loop().call_later(0.01, cancellation.cancel)
    with pytest.raises(OperationCancelledError):
        await until_cancelled(work(), cancellation)

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_work_begins_at_once_and_not_at_all_under_a_signal_that_was_given() -> None:
    cancellation = Cancellation()
    steps: list[int] = []

    async def work(step: int) -> None:
        steps.append(step)

    await until_cancelled(work(1), cancellation)
    cancellation.cancel()
    with pytest.raises(OperationCancelledError):
        await until_cancelled(work(2), cancellation)

    assert steps == [1]


async def test_work_that_ends_gives_its_result_or_its_error() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    assert await until_cancelled(asyncio.sleep(0, "done"), Cancellation()) == "done"
    with pytest.raises(ZeroDivisionError):
        await until_cancelled(fail(), Cancellation())


async def test_anything_to_await_is_refused_and_its_work_is_stopped() -> None:
    async def value() -> int:
        return 1

    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    for awaitable in (value(), future):
        with pytest.raises(ContractError, match="The maker gave something to await"):
            refuse_awaitable(awaitable, "The maker")

    assert future.cancelled()
    assert refuse_awaitable(None, "The maker") is None
