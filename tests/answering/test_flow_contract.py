"""What a run refuses: requests and handlers that are not of the form they must have, and going on when cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.flow_input import check_request
from lorebase.answering.flow_model import AnswerItem, AnswerRequest
from lorebase.errors import AnswerContractError, OperationCancelledError
from lorebase.operation.check_results import UNSET, Passed
from lorebase.operation.context import Cancellation, OperationContext
from tests.answering.flow_scene import Scene, item, request


def asking(inputs: list[Any], *items: tuple[str, list[Any]]) -> AnswerRequest[None]:
    return AnswerRequest(
        input_ids=inputs,
        items=[AnswerItem(id=name, input_ids=ids, source_status="ready", data=None) for name, ids in items],
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (asking([]), "no inputs"),
        (asking(["q", "q"], ("a", ["q"])), "input id 'q' is there twice"),
        (asking([""], ("a", [""])), "not blank"),
        (asking([7], ("a", [7])), "not blank"),
        (AnswerRequest(input_ids="q", items=()), "one text"),
        (asking(["q", "r"], ("a", ["q"]), ("a", ["r"])), "item id 'a' is there twice"),
        (asking(["q"], (" ", ["q"])), "not blank"),
        (asking(["q"], ("a", ["q"]), ("b", [])), "answers no input"),
        (asking(["q"], ("a", ["q", "z"])), "refers to the input 'z'"),
        (asking(["q", "r"], ("a", ["q"])), "'r' is answered 0 times"),
        (asking(["q"], ("a", ["q"]), ("b", ["q"])), "'q' is answered 2 times"),
        (asking(["q"], ("a", ["q", "q"])), "'q' is answered 2 times"),
        (asking(list("qrs"), ("a", ["q"]), ("b", ["r"]), ("c", ["s"])), "3 items; at most 2"),
        (
            AnswerRequest(
                input_ids=["q"],
                items=[AnswerItem(id="a", input_ids=["q"], source_status="rumour", data=None)],  # type: ignore[arg-type]  # what an untyped caller gives
            ),
            "source status 'rumour'",
        ),
    ],
)
async def test_a_request_of_the_wrong_form_is_refused_before_anything_is_called(
    wrong: AnswerRequest[Any], message: str
) -> None:
    """A-066, A-067."""
    scene = Scene()

    with pytest.raises(AnswerContractError, match=message):
        await scene.flow(max_items=2).run(wrong, OperationContext(app=None))

    assert (scene.asked, scene.generated, scene.fallen_back) == (0, [], [])


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("pqrs"), max_size=3), max_size=4))
def test_exactly_complete_and_unambiguous_attributions_are_taken(attributions: list[list[str]]) -> None:
    """A-066, A-067."""
    wanted = asking(list("pqrs"), *((f"item {number}", ids) for number, ids in enumerate(attributions)))
    is_partition = sorted(name for ids in attributions for name in ids) == list("pqrs") and all(attributions)

    if is_partition:
        check_request(wanted, max_items=4)
    else:
        with pytest.raises(AnswerContractError):
            check_request(wanted, max_items=4)


async def coroutine(*_arguments: object) -> Any:
    return Passed()


async def unknown(*_arguments: object) -> Any:
    return {"a": Passed(), "z": Passed()}


async def no_mapping(*_arguments: object) -> Any:
    return ["good"]


async def awaitable_inside(*_arguments: object) -> Any:
    return {"a": coroutine()}


async def no_value(*_arguments: object) -> Any:
    return {"a": UNSET}


async def no_result(*_arguments: object) -> Any:
    return {"a": "passed"}


def plain(*_arguments: object) -> Any:
    return {"a": "good"}


@pytest.mark.parametrize(
    ("handler", "wrong", "message"),
    [
        ("generate", unknown, "not asked about: 'z'"),
        ("generate", no_mapping, "gave a list"),
        ("generate", awaitable_inside, "gave something to await"),
        ("generate", plain, "gave nothing to await"),
        ("generate", no_value, "UNSET for a value"),
        ("review", unknown, "not asked about: 'z'"),
        ("review", no_mapping, "gave a list"),
        ("review", plain, "gave nothing to await"),
        ("review", awaitable_inside, "gave something to await"),
        ("review", no_result, "gave a str"),
        ("check", coroutine, "gave something to await"),
        ("check", lambda *_: True, "gave a bool"),
        ("fallback", coroutine, "gave something to await"),
        ("fallback", lambda *_: "text", "gave a str"),
        ("can_invoke", coroutine, "gave something to await"),
        ("can_invoke", lambda *_: 3, "gave a int"),
    ],
)
async def test_a_handler_that_breaks_its_contract_ends_the_run(
    handler: str, wrong: Callable[..., Any], message: str
) -> None:
    """A-045, A-055, A-067."""
    scene = Scene()

    with pytest.raises(AnswerContractError, match=message):
        await scene.run(item("a"), item("b", "unavailable"), **{handler: wrong})


@pytest.mark.parametrize("handler", ["generate", "check", "review", "fallback"])
async def test_a_signal_given_inside_any_handler_ends_the_run(handler: str) -> None:
    """A-062, A-072."""
    cancellation = Cancellation()
    context = OperationContext(app=None, signal=cancellation)
    called: list[str] = []

    def stop(name: str, _context: object) -> None:
        called.append(name)
        if name == handler:
            cancellation.cancel()

    flow = Scene({"a": ["false"]}, during=stop).flow(max_repairs=0)
    with pytest.raises(OperationCancelledError):
        await flow.run(request(item("a")), context)

    assert called[-1] == handler
    visits = [entry.facts for entry in context.diagnostics.entries if entry.code == "NODE_VISITED"]
    assert (visits[-1]["node"], visits[-1]["outcome"]) == (handler, "cancelled")


@pytest.mark.parametrize("handler", ["generate", "review"])
@pytest.mark.parametrize("policy", ["optional", "required"])
async def test_a_handler_that_waits_is_stopped_by_signal_and_by_task(handler: str, policy: str) -> None:
    """A-062, A-072: under no policy is a cancelled review one that can be done without."""
    steps: list[str] = []

    async def wait(*_arguments: object) -> Any:
        try:
            steps.append("waiting")
            await asyncio.Event().wait()
        finally:
            steps.append("stopped")

    cancellation = Cancellation()
    flow = Scene().flow(review_policy=policy, **{handler: wait})
    by_signal = asyncio.create_task(flow.run(request(item("a")), OperationContext(app=None, signal=cancellation)))
    by_task = asyncio.create_task(flow.run(request(item("a")), OperationContext(app=None)))
    while len(steps) < 2:
        await asyncio.sleep(0)
    cancellation.cancel()
    by_task.cancel()

    ends = await asyncio.gather(by_signal, by_task, return_exceptions=True)

    assert [type(end) for end in ends] == [OperationCancelledError, asyncio.CancelledError]
    assert steps == ["waiting", "waiting", "stopped", "stopped"]


async def test_a_signal_given_before_a_run_prevents_every_call() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    scene = Scene()

    with pytest.raises(OperationCancelledError):
        await scene.flow().run(request(item("a")), OperationContext(app=None, signal=cancellation))

    assert scene.generated == []


async def test_a_time_out_of_the_run_passes_through_a_review_that_waits() -> None:
    async def wait(*_arguments: object) -> Any:
        await asyncio.Event().wait()

    flow = Scene().flow(review_policy="optional", review=wait)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await flow.run(request(item("a")), OperationContext(app=None))


async def test_what_handlers_are_given_cannot_be_changed_by_them() -> None:
    async def generate(wanted: Any, _context: object) -> dict[str, str]:
        if wanted.repairs is not None:
            with pytest.raises(TypeError):
                wanted.repairs["a"] = ()
            with pytest.raises(TypeError):
                wanted.previous["a"] = "good"
        return {"a": "bad"}

    (result,) = await Scene().run(item("a"), generate=generate)

    assert result.status == "fallback"
