"""The fake server itself: as a process of its own, and its chat answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import openai
import pytest

from tests.fakes.openai_server import OpenAIServer, hash_vectors


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
async def client(server: OpenAIServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def test_vectors_do_not_depend_on_the_other_texts_and_shared_words_bring_texts_near():
    texts = ["the cat sat on the mat", "the cat sat on a mat", "quarterly revenue grew", "企业知识库", "知识库建设"]

    vectors = hash_vectors(texts)

    assert np.array_equal(vectors, np.concatenate([hash_vectors([text]) for text in texts]))
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert vectors[3] @ vectors[4] > vectors[3] @ vectors[0] + 0.3


def test_it_runs_as_a_process_and_is_told_and_asked_over_http():
    command = [sys.executable, "-m", "tests.fakes.openai_server", "--port", "0"]
    request = {"model": "m", "input": ["one", "two", "one"]}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            base_url = process.stdout.readline().strip()
            root = base_url.removesuffix("/v1")

            told = httpx.post(f"{root}/_script", json={"kind": "throttle", "times": 1, "retry_after": "3"})
            throttled = httpx.post(f"{base_url}/embeddings", json=request)
            answered = httpx.post(f"{base_url}/embeddings", json=request)
            stats = httpx.get(f"{root}/_stats").json()
        finally:
            process.terminate()

    assert told.status_code == 204
    assert (throttled.status_code, throttled.headers["retry-after"]) == (429, "3")
    assert [item["index"] for item in answered.json()["data"]] == [0, 1, 2]
    assert (stats["requests"], stats["inputs"]) == (2, 6)
    assert sorted(stats["seen"].values()) == [2, 4]


async def test_chat_echoes_or_answers_as_told(server: OpenAIServer, client: openai.AsyncOpenAI):
    server.script("chat", content='{"entities": []}', marker="Extract")

    scripted = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Extract this"}])
    echoed = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Extract this"}])

    assert scripted.choices[0].message.content == '{"entities": []}'
    assert echoed.choices[0].message.content == "Extract this"
    assert echoed.usage is not None
    assert echoed.usage.total_tokens > 0
    assert server.stats.chat_requests == 2


async def test_chat_streams_in_pieces_and_ends_with_usage_if_asked(client: openai.AsyncOpenAI):
    stream = await client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "a sentence of some length"}],
        stream=True,
        stream_options={"include_usage": True},
    )

    chunks = [chunk async for chunk in stream]

    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(pieces) > 1
    assert "".join(pieces) == "a sentence of some length"
    assert chunks[-1].usage is not None


async def test_an_order_for_chat_answers_is_not_spent_on_embeddings(server: OpenAIServer, client: openai.AsyncOpenAI):
    server.script("chat", content="told")

    await client.embeddings.create(model="m", input=["one"], encoding_format="float")
    answer = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])

    assert answer.choices[0].message.content == "told"
