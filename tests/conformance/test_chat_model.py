"""What every chat model must do, whoever answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from lorebase.adapters.models.factory import open_chat
from lorebase.models.call_ledger import CallLedger, LedgeredChat
from lorebase.models.chat import ChatMessage, ChatModel, ChatRequest
from lorebase.models.chat_stream import FinishChunk, TextDelta, UsageChunk
from lorebase.models.seam import collect_model_result
from lorebase.models.settings import ChatModelSpec, EndpointConfig
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_chat import ScriptedChat


@pytest.fixture(params=["endpoint", "scripted", "ledger"])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[ChatModel]:
    """A model that answers what it was told last."""
    if request.param == "endpoint":
        with OpenAIServer() as server:
            endpoints = {"fake": EndpointConfig(base_url=server.base_url)}
            opened = open_chat(ChatModelSpec(provider="fake", model="m"), endpoints)
            yield opened
            await opened.close()
    elif request.param == "scripted":
        yield ScriptedChat()
    else:
        yield LedgeredChat(ScriptedChat(), CallLedger())


async def test_a_reply_has_the_text_and_what_it_took(model: ChatModel) -> None:
    reply = await model.complete(ChatRequest(prompt="  什么是知识库?\n", system="Echo."))

    assert reply.text == "  什么是知识库?\n"
    assert (reply.finish, reply.truncated) == ("stop", False)
    assert reply.usage.calls == 1
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0


async def test_the_last_turn_of_a_conversation_is_answered(model: ChatModel) -> None:
    turns = (ChatMessage("user", "a"), ChatMessage("assistant", "b"), ChatMessage("user", "c"))

    assert (await model.complete(ChatRequest(messages=turns))).text == "c"


async def test_a_stream_is_the_reply_in_pieces_then_its_usage_then_its_finish(model: ChatModel) -> None:
    chunks = [chunk async for chunk in model.stream(ChatRequest(prompt="Answers come in pieces. 答案分段而来。"))]

    assert "".join(chunk.text for chunk in chunks[:-2] if isinstance(chunk, TextDelta)) == (
        "Answers come in pieces. 答案分段而来。"
    )
    assert [type(chunk) for chunk in chunks[-2:]] == [UsageChunk, FinishChunk]


async def test_a_stream_is_what_the_model_seam_collects(model: ChatModel) -> None:
    result = await collect_model_result(model.stream(ChatRequest(prompt="one two three")))

    assert (result.text, result.finish, result.truncated) == ("one two three", "stop", False)


async def test_many_requests_side_by_side_get_their_own_replies(model: ChatModel) -> None:
    replies = await asyncio.gather(*(model.complete(ChatRequest(prompt=f"number {n}")) for n in range(30)))

    assert [reply.text for reply in replies] == [f"number {n}" for n in range(30)]


def test_a_request_has_one_form_and_ends_with_the_user() -> None:
    with pytest.raises(ValueError, match="either a prompt or messages"):
        ChatRequest()
    with pytest.raises(ValueError, match="either a prompt or messages"):
        ChatRequest(prompt="a", messages=(ChatMessage("user", "a"),))
    with pytest.raises(ValueError, match="last message"):
        ChatRequest(messages=(ChatMessage("assistant", "a"),))
