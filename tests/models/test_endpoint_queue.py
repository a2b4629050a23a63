"""The way to an endpoint: one limiter in a process, a place that is held, and pauses that are too long to sit out."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from lorebase.adapters.models.endpoint_queue import EndpointQueue
from lorebase.errors import RateLimitedError
from lorebase.models.limiter import limiter_of
from lorebase.models.settings import EndpointConfig


def test_endpoints_with_different_keys_have_limiters_of_their_own():
    def config(key: str) -> EndpointConfig:
        return EndpointConfig.model_validate({"base_url": "http://127.0.0.1:9/v1", "api_key": key})

    assert limiter_of(config("a")) is limiter_of(config("a"))
    assert limiter_of(config("a")) is not limiter_of(config("b"))


async def test_users_of_an_endpoint_share_its_places_whatever_they_ask():
    config = EndpointConfig(base_url="http://127.0.0.1:9/shared", max_concurrency=1)
    chat, reranker = (EndpointQueue("gate", config, random=Random(0)) for _ in range(2))
    order: list[str] = []

    async def answer(name: str) -> None:
        order.append(f"{name} begins")
        await asyncio.sleep(0.01)
        order.append(f"{name} ends")

    await asyncio.gather(chat.send(lambda: answer("chat"), tokens=1), reranker.send(lambda: answer("rerank"), tokens=1))

    assert order == ["chat begins", "chat ends", "rerank begins", "rerank ends"]


async def test_a_pause_longer_than_the_deadline_fails_at_once_for_everybody():
    config = EndpointConfig(base_url="http://127.0.0.1:9/paused", timeout_seconds=5, max_attempts=1)
    first, second = (EndpointQueue("gate", config, random=Random(0)) for _ in range(2))
    sent: list[int] = []

    async def throttled() -> None:
        sent.append(1)
        raise RateLimitedError("Wait.", retry_after_seconds=600.0)

    with pytest.raises(RateLimitedError, match="Wait"):
        await first.send(throttled, tokens=1)
    with pytest.raises(RateLimitedError, match="for 600 more seconds"):
        await second.send(throttled, tokens=1)

    assert len(sent) == 1
