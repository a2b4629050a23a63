"""The chat model of a run, with its budget."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from lorebase.answering.over_retrieval.runner import ChatRunner, StructuredCall
from lorebase.errors import MalformedAnswerError, ModelUnavailableError, RateLimitedError
from lorebase.models.call_ledger import CallLedger, LedgeredChat
from lorebase.models.chat import ChatRequest
from tests.fakes.scripted_chat import ScriptedChat


class Word(BaseModel):
    word: str


def call(prompt: str = "say") -> StructuredCall[Word]:
    return StructuredCall("answer-1", ChatRequest(prompt=prompt), Word)


async def test_calls_are_counted_and_end_with_the_budget() -> None:
    chat = ScriptedChat(['{"word": "ferry"}'])
    runner = ChatRunner(chat, 1)

    first = await runner.run(call())

    assert (first, runner.remaining(), runner.taken("answer-1").calls) == (Word(word="ferry"), 0, 1)
    with pytest.raises(ModelUnavailableError, match="1 calls"):
        await runner.run(call("again"))
    assert chat.calls == 1


async def test_kept_replies_cost_nothing() -> None:
    chat = LedgeredChat(ScriptedChat(['{"word": "ferry"}']), CallLedger())
    await ChatRunner(chat, 1).run(call())
    runner = ChatRunner(chat, 1)

    await runner.run(call())

    assert (runner.remaining(), runner.taken("answer-1").calls, runner.taken("answer-1").cached_calls) == (1, 0, 1)


async def test_an_answer_that_cannot_be_used_is_none_and_a_service_that_is_down_is_unavailable() -> None:
    malformed = ChatRunner(ScriptedChat([MalformedAnswerError("No text.", dependency="fake")]), 5)
    limited = ChatRunner(ScriptedChat([RateLimitedError("Too many.", dependency="fake")]), 5)

    assert await malformed.run(call()) is None
    with pytest.raises(ModelUnavailableError):
        await limited.run(call())


async def test_without_a_model_no_call_is_left() -> None:
    runner = ChatRunner(None, 5)

    assert runner.remaining() == 0
    with pytest.raises(ModelUnavailableError):
        await runner.run(call())
