"""The chat model over an OpenAI-compatible endpoint, against a server that misbehaves on order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from lorebase.errors import (
    DeclinedAnswerError,
    DependencyError,
    MalformedAnswerError,
    RateLimitedError,
    RefusedError,
    TruncatedAnswerError,
    UnavailableError,
)
from lorebase.models.chat import ChatMessage, ChatProfile, ChatRequest, concerns_one_request
from lorebase.models.ports import ModelUsage
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.opened_chats import KEY, OpenedChats

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
async def opened(server: OpenAIServer) -> AsyncIterator[OpenedChats]:
    opened = OpenedChats(server)
    yield opened
    await opened.close()


async def test_the_answer_comes_with_what_the_endpoint_says_it_took(opened: OpenedChats, server: OpenAIServer):
    reply = await opened().complete(ChatRequest(prompt="什么是知识库?", system="Answer shortly."))

    assert reply.text == "什么是知识库?"
    assert (reply.finish, reply.truncated) == ("stop", False)
    assert reply.usage == ModelUsage(calls=1, input_tokens=9, output_tokens=5)
    assert server.stats.messages == [
        [{"role": "system", "content": "Answer shortly."}, {"role": "user", "content": "什么是知识库?"}]
    ]
    assert server.stats.bodies == [{"model": "m"}]


async def test_only_what_is_wanted_is_sent(opened: OpenedChats, server: OpenAIServer):
    model = opened(ChatProfile("fake", "m", temperature=0.5, max_output_tokens=100, reasoning_effort="low"))
    turns = (ChatMessage("user", "a"), ChatMessage("assistant", "b"), ChatMessage("user", "c"))

    await model.complete(ChatRequest(messages=turns, temperature=0.0, seed=7, stop=("END",), session_id="knowledge:x"))

    assert server.stats.bodies == [
        {"model": "m", "temperature": 0.0, "max_tokens": 100, "seed": 7, "stop": ["END"], "reasoning_effort": "low"}
    ]
    assert [message["role"] for message in server.stats.messages[0]] == ["user", "assistant", "user"]
    assert server.stats.headers[0]["x-session-id"] == "knowledge:x"


async def test_without_usage_tokens_are_estimated(opened: OpenedChats, server: OpenAIServer):
    server.script("chat", content="four words stand here", reasoning="hm", tells_usage=False)

    reply = await opened().complete(ChatRequest(prompt="words"))

    assert reply.usage == ModelUsage(calls=1, input_tokens=2, output_tokens=7)


async def test_a_thought_is_no_part_of_the_answer(opened: OpenedChats, server: OpenAIServer):
    server.script("chat", content="<think>\nLet me see: {}\n</think>\n\nParis", reasoning="and more")

    reply = await opened().complete(ChatRequest(prompt="capital?"))

    assert reply.text == "Paris"


async def test_a_truncated_answer_says_so(opened: OpenedChats, server: OpenAIServer):
    server.script("chat", content="The first half of", finish="length")

    reply = await opened().complete(ChatRequest(prompt="tell"))

    assert (reply.text, reply.truncated, reply.finish) == ("The first half of", True, "max-tokens")


@pytest.mark.parametrize("content", ["", "<think>I think and think"])
async def test_tokens_that_ended_in_thought_are_reported_and_not_sent_again(
    opened: OpenedChats, server: OpenAIServer, content: str
):
    """C43"""
    server.script("chat", content=content, finish="length", reasoning="thinking")

    with pytest.raises(TruncatedAnswerError, match="max_output_tokens") as caught:
        await opened().complete(ChatRequest(prompt="think"))

    assert server.stats.requests == 1
    assert caught.value.facts["calls"] == 1
    assert caught.value.facts["input_tokens"] == 2
    assert concerns_one_request(caught.value)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"kind": "chat", "content": "", "refusal": "I cannot help with that."}, "declined to answer"),
        ({"kind": "chat", "content": "Half of", "finish": "content_filter"}, "content filter"),
    ],
)
async def test_a_refusal_is_an_error_of_its_own(
    opened: OpenedChats, server: OpenAIServer, order: dict[str, str], said: str
):
    server.script(**order)

    with pytest.raises(DeclinedAnswerError, match=said) as caught:
        await opened().complete(ChatRequest(prompt="x"))

    assert server.stats.requests == 1
    assert concerns_one_request(caught.value)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"kind": "chat", "content": "  "}, "gave no text"),
        ({"kind": "no_choices"}, "has no message"),
        ({"kind": "no_json"}, "no answer of the OpenAI API"),
    ],
)
async def test_an_answer_without_text_is_malformed(
    opened: OpenedChats, server: OpenAIServer, order: dict[str, str], said: str
):
    server.script(**order)

    with pytest.raises(MalformedAnswerError, match=said):
        await opened().complete(ChatRequest(prompt="x"))

    assert server.stats.requests == 1


async def test_a_throttled_request_waits_as_long_as_it_is_asked_to(opened: OpenedChats, server: OpenAIServer):
    server.script("throttle", times=2, retry_after="0.01")

    reply = await opened().complete(ChatRequest(prompt="x"))

    assert reply.usage.calls == server.stats.requests == 3
    assert opened.waits == [0.01, 0.01]


async def test_an_error_under_status_200_is_an_error_and_sent_again(opened: OpenedChats, server: OpenAIServer):
    """C39"""
    server.script("error_body", status=503, message="upstream is overloaded")

    reply = await opened().complete(ChatRequest(prompt="x"))

    assert (reply.text, server.stats.requests) == ("x", 2)


async def test_one_layer_sends_again_and_a_cut_answer_counts(opened: OpenedChats, server: OpenAIServer):
    server.script("error", status=500, times=1)
    server.script("cut", times=1)

    reply = await opened(max_attempts=3).complete(ChatRequest(prompt="x"))

    assert (reply.text, reply.usage.calls, server.stats.requests) == ("x", 3, 3)


async def test_one_deadline_ends_all_attempts(opened: OpenedChats, server: OpenAIServer):
    """C61"""
    server.script("stall", times=None)

    with pytest.raises(UnavailableError, match=r"no answer within 0\.3 seconds"):
        await opened(timeout_seconds=0.3).complete(ChatRequest(prompt="x"))

    assert server.stats.requests == 1


@pytest.mark.parametrize("kind", ["unauthorized", "unknown_model"])
async def test_what_no_repetition_mends_fails_at_once(opened: OpenedChats, server: OpenAIServer, kind: str):
    """C62"""
    server.script(kind, times=None)

    with pytest.raises(RefusedError) as caught:
        await opened().complete(ChatRequest(prompt="x", schema=SCHEMA))

    assert server.stats.requests == 1
    assert not concerns_one_request(caught.value)
    assert KEY not in str(caught.value)


async def test_a_prompt_over_the_context_window_concerns_its_request_only(opened: OpenedChats, server: OpenAIServer):
    server.script("error", status=400, message="This model's maximum context length is 8192 tokens.")

    with pytest.raises(RefusedError) as caught:
        await opened().complete(ChatRequest(prompt="x", schema=SCHEMA))

    assert server.stats.requests == 1
    assert concerns_one_request(caught.value)


async def test_a_content_policy_refusal_by_status_is_declined(opened: OpenedChats, server: OpenAIServer):
    server.script("error", status=400, message="filtered", code="content_filter")

    with pytest.raises(DeclinedAnswerError):
        await opened().complete(ChatRequest(prompt="x", schema=SCHEMA))

    assert server.stats.requests == 1


async def test_a_schema_is_enforced_by_the_endpoint(opened: OpenedChats, server: OpenAIServer):
    await opened().complete(ChatRequest(prompt='{"name": "a"}', schema=SCHEMA))

    sent = server.stats.bodies[0]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"] == {
        "name": "answer",
        "strict": True,
        "schema": {**SCHEMA, "additionalProperties": False},
    }
    assert len(server.stats.messages[0]) == 1


async def test_an_endpoint_that_refuses_schemas_is_asked_for_json_and_that_is_remembered(
    opened: OpenedChats, server: OpenAIServer
):
    server.script("refuse_field", field="response_format", content="json_schema", times=None)

    await opened().complete(ChatRequest(prompt="{}", schema=SCHEMA))
    await opened().complete(ChatRequest(prompt="{}", schema=SCHEMA))

    forms = [body["response_format"]["type"] for body in server.stats.bodies]
    assert forms == ["json_schema", "json_object", "json_object"]
    assert "JSON schema" in server.stats.messages[2][0]["content"]


async def test_an_endpoint_that_refuses_every_format_is_told_in_words(opened: OpenedChats, server: OpenAIServer):
    server.script("refuse_field", field="response_format", times=None)

    reply = await opened().complete(ChatRequest(prompt="{}", system="Extract.", schema=SCHEMA))

    assert server.stats.requests == 3
    assert reply.usage.calls == 3
    assert "response_format" not in server.stats.bodies[2]
    assert server.stats.messages[2][0]["content"].startswith("Extract.\n\nAnswer with nothing but one JSON value")


async def test_a_gateway_without_a_provider_for_schemas_is_asked_for_json(opened: OpenedChats, server: OpenAIServer):
    server.script("error", status=404, message="No endpoints found that can handle the requested parameters.")

    await opened().complete(ChatRequest(prompt="{}", schema=SCHEMA))

    assert [body["response_format"]["type"] for body in server.stats.bodies] == ["json_schema", "json_object"]


async def test_a_model_that_counts_completion_tokens_gets_its_field(opened: OpenedChats, server: OpenAIServer):
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.script("refuse_field", field="max_tokens", message=said, times=None)

    await opened().complete(ChatRequest(prompt="x", max_tokens=5))
    await opened().complete(ChatRequest(prompt="x", max_tokens=5))

    assert [sorted(body) for body in server.stats.bodies] == [
        ["max_tokens", "model"],
        ["max_completion_tokens", "model"],
        ["max_completion_tokens", "model"],
    ]


async def test_a_cancelled_call_passes_on_and_gives_its_place_back(opened: OpenedChats, server: OpenAIServer):
    server.script("stall", times=1)
    model = opened(max_concurrency=1)

    call = asyncio.create_task(model.complete(ChatRequest(prompt="x")))
    while server.stats.requests == 0:
        await asyncio.sleep(0.005)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    reply = await model.complete(ChatRequest(prompt="next"))

    assert reply.text == "next"


async def test_all_models_of_an_endpoint_share_its_places(server: OpenAIServer, opened: OpenedChats):
    models = [opened(max_concurrency=3) for _ in range(4)]

    await asyncio.gather(*(model.complete(ChatRequest(prompt=str(n))) for n, model in enumerate(models * 5)))

    assert server.stats.requests == 20
    assert server.stats.most_in_flight <= 3


async def test_a_throttle_stops_everybody_and_starts_no_storm(opened: OpenedChats, server: OpenAIServer):
    """C49"""
    server.script("throttle", times=2, retry_after="0.05")
    model = opened(max_concurrency=10)

    await asyncio.gather(*(model.complete(ChatRequest(prompt=str(number))) for number in range(100)))

    assert server.stats.requests == 102


def test_two_event_loops_one_after_another_use_one_model(server: OpenAIServer):
    opened = OpenedChats(server)
    model = opened()

    async def ask() -> str:
        return (await model.complete(ChatRequest(prompt="x"))).text

    assert [asyncio.run(ask()), asyncio.run(ask())] == ["x", "x"]


async def test_every_failure_counts_its_requests(opened: OpenedChats, server: OpenAIServer):
    server.script("throttle", times=None, retry_after="0.001")

    with pytest.raises(RateLimitedError) as caught:
        await opened(max_attempts=3).complete(ChatRequest(prompt="x"))

    assert isinstance(caught.value, DependencyError)
    assert caught.value.facts["calls"] == server.stats.requests == 3
