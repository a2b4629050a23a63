"""The model seam: requests in the platform's form, and text out of streams that may fail, be silent, or end early."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from lorebase.errors import ModelSeamError
from lorebase.models.chat_stream import (
    FinishChunk,
    FinishReason,
    LlmFailure,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    UsageChunk,
)
from lorebase.models.seam import build_model_request, collect_model_result, collect_model_text, session_id_of


async def stream(*chunks: object) -> AsyncIterator[object]:
    for chunk in chunks:
        yield chunk


def text(value: object) -> dict[str, object]:
    return {"type": "text-delta", "index": 0, "text": value}


def finish(kind: str, **reason: object) -> dict[str, object]:
    return {"type": "finish", "reason": {"kind": kind, **reason}}


def test_a_request_holds_its_prompt_as_a_list_of_blocks_and_leaves_out_what_is_empty():
    """D-065, D-066"""
    request = build_model_request(provider="p", model="m", prompt="你好", session_id="knowledge:a")

    assert request == {
        "provider": "p",
        "model": "m",
        "sessionId": "knowledge:a",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "你好"}]}],
    }


def test_a_request_holds_system_and_effort_where_they_are_given():
    """D-065"""
    request = build_model_request(
        provider="p", model="m", prompt="x", session_id="s", system="be short", reasoning_effort="low"
    )

    assert (request["system"], request["reasoningEffort"]) == ("be short", "low")


def test_a_request_without_a_session_is_refused():
    """D-066"""
    with pytest.raises(ValueError, match="session_id"):
        build_model_request(provider="p", model="m", prompt="x", session_id=" ")


def test_the_session_of_a_base_is_always_the_same():
    """D-067"""
    assert session_id_of("b-1") == session_id_of("b-1") == "knowledge:b-1"


async def test_text_comes_from_text_deltas_alone_and_is_not_trimmed():
    """D-068, D-072, DX-07"""
    chunks = stream(
        None,
        "text",
        7,
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "reasoning-delta", "index": 0, "text": "hm"},
        text(" a"),
        text(7),
        {"type": "text-delta", "index": 0},
        {"type": "tool-call-delta", "index": 1, "id": "t", "argumentsDelta": "{}"},
        text("知 \n"),
        {"type": "usage", "usage": {"input": 1}},
        finish("stop"),
    )

    assert await collect_model_text(chunks) == " a知 \n"


async def test_chunks_of_our_own_models_are_read_alike():
    result = await collect_model_result(
        stream(
            ReasoningDelta(0, "hm"), TextDelta(1, "a"), UsageChunk(TokenUsage(1, 1)), FinishChunk(FinishReason("stop"))
        )
    )

    assert (result.text, result.finish, result.truncated) == ("a", "stop", False)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (finish("error", failure={"code": " RATE_LIMIT ", "message": " slow down \n"}), "RATE_LIMIT: slow down"),
        (finish("aborted", failure={"code": "ABORTED", "message": "stopped"}), "ABORTED: stopped"),
        (finish("error", failure={"code": " ", "message": ""}), "UNKNOWN: the model gave no reason"),
        (finish("error", failure="odd"), "UNKNOWN: the model gave no reason"),
        (finish("error"), "UNKNOWN: the model gave no reason"),
        (FinishChunk(FinishReason("error", LlmFailure("AUTH", "no key"))), "AUTH: no key"),
    ],
)
async def test_a_failure_is_raised_with_code_and_message_even_after_some_text(reason: object, message: str):
    """D-069, D-070, D-074, DQ-23"""
    with pytest.raises(ModelSeamError) as caught:
        await collect_model_text(stream(text("some"), reason))

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([finish("stop")], "its finish was stop"),
        ([text(""), finish("tool-calls")], "its finish was tool-calls"),
        ([{"type": "finish"}], "its finish was unnamed"),
        ([finish("max-tokens")], "its finish was max-tokens"),
        ([], "ended without a finish"),
        ([{"type": "reasoning-delta", "text": "hm"}], "ended without a finish"),
    ],
)
async def test_silence_is_an_error_that_names_how_it_ended(chunks: list[object], message: str):
    """D-071, D-073"""
    with pytest.raises(ModelSeamError, match=message):
        await collect_model_text(stream(*chunks))


async def test_text_without_a_finish_is_returned():
    """D-072"""
    result = await collect_model_result(stream(text("a")))

    assert (result.text, result.finish) == ("a", "")


async def test_text_that_ends_with_its_tokens_is_returned_and_marked():
    """DQ-24"""
    result = await collect_model_result(stream(text('{"a": '), finish("max-tokens")))

    assert (result.text, result.truncated) == ('{"a": ', True)


async def test_the_first_finish_counts_and_nothing_after_it():
    """DQ-25, DX-01"""
    failed = finish("error", failure={"code": "AUTH", "message": "no key"})

    with pytest.raises(ModelSeamError, match="AUTH"):
        await collect_model_text(stream(text("a"), failed, text("b"), finish("stop")))
    result = await collect_model_result(stream(text("a"), finish("stop"), text("b"), failed))

    assert result.text == "a"


async def test_what_the_stream_throws_passes_through():
    """D-073"""

    async def broken() -> AsyncIterator[object]:
        yield text("a")
        raise RuntimeError("middleware")

    with pytest.raises(RuntimeError, match="middleware"):
        await collect_model_text(broken())
