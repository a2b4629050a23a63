"""An OpenAI-compatible endpoint: one client for each event loop, behind the endpoint's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import TypeVar

import openai
from openai import AsyncOpenAI

from lorebase.adapters.models.endpoint_errors import problem_of
from lorebase.adapters.models.endpoint_queue import CallCount, EndpointQueue
from lorebase.adapters.models.loop_bound import LoopBound
from lorebase.adapters.models.openai_errors import answer_of_body, translated
from lorebase.clock import Clock
from lorebase.errors import DependencyError
from lorebase.models.settings import EndpointConfig
from lorebase.tracing import scope

ResultT = TypeVar("ResultT")

_NO_KEY = "none"  # the client insists on a key; endpoints without authentication ignore it
_CONNECT_SECONDS = 10.0


class OpenAIEndpoint:
    """Sends requests to one endpoint.

    Args:
        name: The endpoint's name in the workspace; stands in errors.
        config: Where it is and what it allows.
        clock: Reads Retry-After dates.
        random: Jitter of the waits.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        name: str,
        config: EndpointConfig,
        *,
        clock: Clock,
        random: Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.config = config
        self._clock = clock
        self._queue = EndpointQueue(name, config, random=random, sleep=sleep)
        self._clients = LoopBound(self._open_client, AsyncOpenAI.close)

    def __repr__(self) -> str:
        return f"OpenAIEndpoint({self.name!r}, {self.config.base_url!r})"

    async def send(
        self, request: Callable[[AsyncOpenAI], Awaitable[ResultT]], *, model: str, tokens: int, count: CallCount
    ) -> ResultT:
        """Send a request until it is answered or given up.

        Args:
            request: Sends it once.
            model: For the errors.
            tokens: What it counts for at the limiter.
            count: Counts every attempt that reached the endpoint, failed ones included.

        Raises:
            DependencyError: As `openai_errors.translated`, or the deadline passed.
        """
        async with self.opened(request, model=model, tokens=tokens, count=count) as answer:
            return answer

    def opened(
        self, request: Callable[[AsyncOpenAI], Awaitable[ResultT]], *, model: str, tokens: int, count: CallCount
    ) -> AbstractAsyncContextManager[ResultT]:
        """As `send`, with the request's place in the queue kept until the context is left: for answers that stream."""
        return self._queue.opened(lambda: self._send_once(request, model=model, count=count), tokens=tokens)

    def charge(self, tokens: int) -> None:
        """Count the tokens of an answer at the limiter."""
        self._queue.charge(tokens)

    def problem(self, error: openai.APIError, model: str) -> DependencyError:
        """The error of the tree that stands for one of the client's."""
        return translated(error, endpoint=self.name, model=model, secret=self._secret(), now=self._clock.now())

    def problem_of_body(self, body: Mapping[str, object], model: str) -> DependencyError:
        """The error that stands for an error object in place of an answer."""
        answer = answer_of_body(body, self._secret())
        return problem_of(answer, endpoint=self.name, model=model, now=self._clock.now())

    async def close(self) -> None:
        """Give the running event loop's connections back."""
        await self._clients.close()

    async def _send_once(
        self, request: Callable[[AsyncOpenAI], Awaitable[ResultT]], *, model: str, count: CallCount
    ) -> ResultT:
        client = await self._clients.get()
        count.calls += 1
        try:
            with scope("lorebase.model_request", endpoint=self.name, model=model):
                return await request(client)
        except openai.APIError as error:
            problem = self.problem(error, model)
            if problem.facts.get("reached") is False:
                count.calls -= 1
            raise problem from error

    def _open_client(self) -> AsyncOpenAI:
        seconds = self.config.timeout_seconds
        return AsyncOpenAI(
            base_url=self.config.base_url,
            api_key=self._secret() or _NO_KEY,
            max_retries=0,
            timeout=openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
        )

    def _secret(self) -> str:
        return self.config.api_key.get_secret_value() if self.config.api_key is not None else ""
