"""Replies that are paid for once: by key, over runs, side by side, and never for an answer of no use."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.errors import BudgetExceededError, DeclinedAnswerError, RateLimitedError, TruncatedAnswerError
from lorebase.models.call_ledger import CallLedger, LedgeredChat, MemoryObjects
from lorebase.models.chat import CHAT_ROLE, ChatMessage, ChatProfile, ChatReply, ChatRequest, expected_usage
from lorebase.models.chat_stream import FinishChunk, StreamChunk, TextDelta, UsageChunk
from lorebase.models.ports import ModelUsage
from lorebase.recipes.model import Budget
from lorebase.runs.budget import RunBudget
from tests.fakes.scripted_chat import SCRIPTED, ScriptedChat

ASK = ChatRequest(prompt="知识库", system="s", temperature=0.0, max_tokens=10)


class SlowChat(ScriptedChat):
    """Answers when it is let."""

    def __init__(self, *answers: str) -> None:
        super().__init__(answers or ["slow"])
        self.may_answer = asyncio.Event()

    async def complete(self, request: ChatRequest) -> ChatReply:
        reply = await super().complete(request)
        await self.may_answer.wait()
        return reply


async def test_an_equal_request_is_paid_for_once_over_runs(tmp_path: Path):
    """B-020"""
    model = ScriptedChat(["first", "second"])

    first = await LedgeredChat(model, CallLedger(LocalObjectStore(tmp_path), "calls")).complete(ASK)
    second = await LedgeredChat(model, CallLedger(LocalObjectStore(tmp_path), "calls")).complete(ASK)

    assert (first.text, second.text) == ("first", "first")
    assert second.usage == ModelUsage(cached_calls=1)
    assert model.calls == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(ASK, prompt="x"),
        replace(ASK, system="x"),
        replace(ASK, temperature=0.5),
        replace(ASK, max_tokens=11),
        replace(ASK, seed=1),
        replace(ASK, stop=("x",)),
        replace(ASK, schema={"type": "object"}),
        replace(ASK, prompt="", messages=(ChatMessage("user", "a"), ChatMessage("user", "知识库"))),
    ],
)
async def test_another_request_is_another_call(other: ChatRequest):
    """C40"""
    model = ScriptedChat()
    chat = LedgeredChat(model, CallLedger())

    await chat.complete(ASK)
    await chat.complete(other)

    assert model.calls == 2


@pytest.mark.parametrize(
    "profile",
    [
        replace(SCRIPTED, provider="x"),
        replace(SCRIPTED, model="x"),
        replace(SCRIPTED, temperature=0.1),
        replace(SCRIPTED, max_output_tokens=9),
        replace(SCRIPTED, reasoning_effort="low"),
    ],
)
async def test_another_model_is_another_call(profile: ChatProfile):
    """C40"""
    ledger = CallLedger()
    other = ScriptedChat(profile=profile)

    await LedgeredChat(ScriptedChat(), ledger).complete(ASK)
    await LedgeredChat(other, ledger).complete(ASK)

    assert other.calls == 1


async def test_the_session_and_the_form_of_a_prompt_are_no_part_of_a_request():
    model = ScriptedChat()
    chat = LedgeredChat(model, CallLedger())

    await chat.complete(ASK)
    await chat.complete(replace(ASK, session_id="knowledge:a"))
    await chat.complete(replace(ASK, prompt="", messages=(ChatMessage("user", "知识库"),)))

    assert model.calls == 1


async def test_equal_requests_side_by_side_are_one_call():
    model = SlowChat()
    ledger = CallLedger()
    chats = [LedgeredChat(model, ledger) for _ in range(5)]

    calls = [asyncio.create_task(chat.complete(ASK)) for chat in chats]
    await asyncio.sleep(0.01)
    model.may_answer.set()
    replies = await asyncio.gather(*calls)

    assert {reply.text for reply in replies} == {"slow"}
    assert model.calls == 1
    assert ledger.usage.calls == 1
    assert ledger.usage.cached_calls == 4


async def test_one_who_waits_takes_over_a_cancelled_call():
    model = SlowChat()
    chat = LedgeredChat(model, CallLedger())

    first = asyncio.create_task(chat.complete(ASK))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(chat.complete(ASK))
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    model.may_answer.set()
    reply = await second

    assert reply.text == "slow"
    assert model.calls == 2


async def test_a_waiter_that_is_cancelled_cancels_nobody_else():
    model = SlowChat()
    chat = LedgeredChat(model, CallLedger())

    first = asyncio.create_task(chat.complete(ASK))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(chat.complete(ASK))
    await asyncio.sleep(0.01)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    model.may_answer.set()

    assert (await first).text == "slow"
    assert model.calls == 1


@pytest.mark.parametrize(
    "problem",
    [DeclinedAnswerError("No."), TruncatedAnswerError("Over."), RateLimitedError("Wait.", retry_after_seconds=1.0)],
)
async def test_a_failure_is_shared_and_never_kept(problem: Exception):
    """C39"""
    objects = MemoryObjects()
    model = ScriptedChat([problem, "good"])  # type: ignore[list-item]  # all three are errors of the tree
    chat = LedgeredChat(model, CallLedger(objects))

    first = await asyncio.gather(chat.complete(ASK), chat.complete(ASK), return_exceptions=True)
    then = await chat.complete(ASK)

    assert [type(error) for error in first] == [type(problem)] * 2
    assert (then.text, model.calls) == ("good", 2)


async def test_a_truncated_reply_is_given_and_not_kept():
    model = ScriptedChat([ChatReply.of("half", ModelUsage(1), "max-tokens"), "whole"])
    chat = LedgeredChat(model, CallLedger())

    first, second = await chat.complete(ASK), await chat.complete(ASK)

    assert (first.truncated, second.text) == (True, "whole")


async def test_a_damaged_object_is_asked_for_again():
    objects = MemoryObjects()
    await LedgeredChat(ScriptedChat(["first"]), CallLedger(objects)).complete(ASK)
    for key in list(objects.keys()):
        objects.put(key, b'{"text": "fir')
    model = ScriptedChat(["again"])

    reply = await LedgeredChat(model, CallLedger(objects)).complete(ASK)

    assert (reply.text, model.calls) == ("again", 1)


async def test_a_ledger_that_does_not_read_writes_all_the_same():
    objects = MemoryObjects()
    model = ScriptedChat(["first", "second"])

    await LedgeredChat(model, CallLedger(objects)).complete(ASK)
    anew = await LedgeredChat(model, CallLedger(objects, reads=False)).complete(ASK)
    after = await LedgeredChat(model, CallLedger(objects)).complete(ASK)

    assert (anew.text, after.text, model.calls) == ("second", "second", 2)


async def test_a_stream_is_kept_when_it_stopped_by_itself():
    model = ScriptedChat(["an answer in pieces"])
    chat = LedgeredChat(model, CallLedger())

    async def chunks() -> list[StreamChunk]:
        return [chunk async for chunk in chat.stream(ASK)]

    first, second = await chunks(), await chunks()

    assert [type(chunk) for chunk in second] == [TextDelta, UsageChunk, FinishChunk]
    assert len(first) > len(second)
    assert (await chat.complete(ASK)).text == "an answer in pieces"
    assert model.calls == 1


async def test_the_budget_pays_for_calls_and_not_for_replies_that_are_kept():
    budget = RunBudget(Budget(max_model_calls=2))
    model = ScriptedChat()
    chat = LedgeredChat(
        model, CallLedger(), lambda request: budget.reserve("extract", CHAT_ROLE, expected_usage(SCRIPTED, request))
    )

    await chat.complete(ChatRequest(prompt="one"))
    await chat.complete(ChatRequest(prompt="two"))
    await chat.complete(ChatRequest(prompt="one"))
    with pytest.raises(BudgetExceededError):
        await chat.complete(ChatRequest(prompt="three"))

    assert model.calls == 2
    assert budget.spent_by("extract").usage == ModelUsage(2, 2, 2)


async def test_an_answer_of_no_use_is_paid_for():
    budget = RunBudget()
    problem = TruncatedAnswerError("Over.", calls=1, input_tokens=7, output_tokens=90)
    chat = LedgeredChat(
        ScriptedChat([problem]),
        CallLedger(),
        lambda request: budget.reserve("extract", CHAT_ROLE, expected_usage(SCRIPTED, request)),
    )

    with pytest.raises(TruncatedAnswerError):
        await chat.complete(ASK)

    assert budget.spent_by("extract").usage == ModelUsage(1, 7, 90)


def test_a_ledger_serves_several_event_loops():
    ledger = CallLedger()
    model = ScriptedChat(["a", "b"])

    texts = [asyncio.run(LedgeredChat(model, ledger).complete(ASK)).text for _ in range(3)]

    assert texts == ["a", "a", "a"]
