"""Streamed answers of a chat model over an OpenAI-compatible endpoint, against a server that misbehaves on order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from lorebase.adapters.models.openai_chat import OpenAIChat
from lorebase.models.chat import ChatRequest
from lorebase.models.chat_stream import FinishChunk, ReasoningDelta, StreamChunk, TextDelta, UsageChunk
from lorebase.models.ports import ModelUsage
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.opened_chats import OpenedChats


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
async def opened(server: OpenAIServer) -> AsyncIterator[OpenedChats]:
    opened = OpenedChats(server)
    yield opened
    await opened.close()


async def chunks_of(model: OpenAIChat, request: ChatRequest) -> list[StreamChunk]:
    return [chunk async for chunk in model.stream(request)]


def text_of(chunks: list[StreamChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


async def test_a_stream_tells_thought_from_text_and_ends_with_usage_and_finish(
    opened: OpenedChats, server: OpenAIServer
):
    """DX-01, DX-07"""
    server.script("chat", content="<think>so</think>\nAn answer in pieces", reasoning="hm")

    chunks = await chunks_of(opened(), ChatRequest(prompt="x"))

    assert text_of(chunks) == "An answer in pieces"
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)) == "hmso"
    assert [type(chunk) for chunk in chunks[-2:]] == [UsageChunk, FinishChunk]
    assert isinstance(chunks[-1], FinishChunk)
    assert chunks[-1].reason.kind == "stop"


async def test_a_stream_without_usage_is_estimated_and_one_that_refuses_to_be_asked_is_not_asked(
    opened: OpenedChats, server: OpenAIServer
):
    server.script("refuse_field", field="stream_options", message="stream_options is not supported", times=None)

    chunks = await chunks_of(opened(), ChatRequest(prompt="four words stand here"))

    assert [sorted(body) for body in server.stats.bodies] == [
        ["model", "stream", "stream_options"],
        ["model", "stream"],
    ]
    assert isinstance(chunks[-2], UsageChunk)
    assert chunks[-2].usage.as_model_usage(1) == ModelUsage(1, 6, 6)


async def test_a_stream_is_sent_again_until_something_of_it_has_come(opened: OpenedChats, server: OpenAIServer):
    server.script("error", status=503, times=1)
    server.script("throttle", times=1, retry_after="0.01")
    server.script("error_body", status=502, times=1)

    chunks = await chunks_of(opened(), ChatRequest(prompt="at last"))

    assert text_of(chunks) == "at last"
    assert server.stats.requests == 4


@pytest.mark.parametrize(
    ("order", "code", "text"),
    [
        ({"kind": "cut"}, "DEPENDENCY_UNAVAILABLE", "0123456701234567"),
        ({"kind": "no_finish"}, "INCOMPLETE_RESPONSE", "01234567012345670123456701234567"),
        ({"kind": "chat", "content": ""}, "EMPTY_RESPONSE", ""),
        ({"kind": "chat", "content": "bad", "finish": "content_filter"}, "DECLINED", "bad"),
        ({"kind": "chat", "content": "", "refusal": "No."}, "DECLINED", ""),
        ({"kind": "unauthorized"}, "AUTH", ""),
    ],
)
async def test_a_failed_stream_is_a_finish_and_no_exception(
    opened: OpenedChats, server: OpenAIServer, order: dict[str, str], code: str, text: str
):
    """D-073, DX-02, DX-03"""
    server.script(**order)

    chunks = await chunks_of(opened(), ChatRequest(prompt="01234567" * 4))

    assert text_of(chunks) == text
    assert isinstance(chunks[-1], FinishChunk)
    assert chunks[-1].reason.kind == "error"
    assert chunks[-1].reason.failure is not None
    assert chunks[-1].reason.failure.code == code
    assert server.stats.requests == 1


async def test_a_stream_that_stalls_ends_at_the_deadline(opened: OpenedChats, server: OpenAIServer):
    server.script("stall", times=None)

    chunks = await chunks_of(opened(timeout_seconds=0.3), ChatRequest(prompt="x"))

    assert len(chunks) == 1
    assert isinstance(chunks[0], FinishChunk)
    assert chunks[0].reason.failure is not None
    assert chunks[0].reason.failure.code == "DEPENDENCY_UNAVAILABLE"


async def test_a_stream_that_is_left_gives_its_place_back(opened: OpenedChats, server: OpenAIServer):
    model = opened(max_concurrency=1)

    stream = model.stream(ChatRequest(prompt="0123456789" * 10))
    first = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]  # the port promises an iterator, ours is a generator
    reply = await model.complete(ChatRequest(prompt="next"))

    assert isinstance(first, TextDelta)
    assert (reply.text, server.stats.requests) == ("next", 2)
