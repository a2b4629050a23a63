"""An OpenAI-compatible endpoint: one client for each event loop, its limiter, and the one retry layer."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import openai
from openai import AsyncOpenAI

from lorebase.adapters.models.attempts import RetryPolicy, with_retries
from lorebase.adapters.models.loop_bound import LoopBound
from lorebase.adapters.models.openai_errors import translated
from lorebase.clock import Clock
from lorebase.errors import DependencyError, RateLimitedError
from lorebase.models.limiter import EndpointLimiter
from lorebase.models.settings import EndpointConfig

ResultT = TypeVar("ResultT")

_NO_KEY = "none"  # the client insists on a key; endpoints without authentication ignore it
_CONNECT_SECONDS = 10.0


@dataclass(slots=True)
class CallCount:
    """Requests of one embedding call that reached the endpoint, counted while it runs."""

    calls: int = 0


class OpenAIEndpoint:
    """Sends requests to one endpoint. Shares its limiter with every other user of the endpoint in the process.

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
        self._random = random
        self._sleep = sleep
        self._limiter = limiter_of(config)
        self._policy = RetryPolicy(max_attempts=config.max_attempts, deadline_seconds=config.timeout_seconds)
        self._clients = LoopBound(self._open_client, AsyncOpenAI.close)

    def __repr__(self) -> str:
        return f"OpenAIEndpoint({self.name!r}, {self.config.base_url!r})"

    async def send(
        self, request: Callable[[AsyncOpenAI], Awaitable[ResultT]], *, model: str, tokens: int, count: CallCount
    ) -> ResultT:
        """Send a request until it is answered or given up.

        The deadline begins when the limiter first lets the request through: a queue of our own making does not count.

        Args:
            request: Sends it once.
            model: For the errors.
            tokens: What it counts for at the limiter.
            count: Counts every attempt that reached the endpoint, failed ones included.

        Raises:
            DependencyError: As `openai_errors.translated`, or the deadline passed.
        """
        async with self._limiter.slot():
            self._refuse_endless_pause()
            await self._limiter.turn(tokens)
            attempts = 0

            async def attempt() -> ResultT:
                nonlocal attempts
                attempts += 1
                if attempts > 1:
                    await self._limiter.turn(tokens)
                return await self._send_once(request, model=model, count=count)

            return await with_retries(
                attempt,
                dependency=self.name,
                policy=self._policy,
                random=self._random,
                sleep=self._sleep,
            )

    def _refuse_endless_pause(self) -> None:
        """Fail instead of sitting out a pause that no single request would have waited for."""
        pause_seconds = self._limiter.pause_left_seconds()
        if pause_seconds > self.config.timeout_seconds:
            raise RateLimitedError(
                f"The endpoint {self.name!r} asked to wait, for {pause_seconds:.0f} more seconds.",
                remedy="Start again after that, or raise the account's limits.",
                dependency=self.name,
                retry_after_seconds=pause_seconds,
            )

    async def close(self) -> None:
        """Give the running event loop's connections back."""
        await self._clients.close()

    async def _send_once(
        self, request: Callable[[AsyncOpenAI], Awaitable[ResultT]], *, model: str, count: CallCount
    ) -> ResultT:
        client = await self._clients.get()
        count.calls += 1
        try:
            return await request(client)
        except openai.APIError as error:
            problem = self._problem(error, model)
            if problem.facts.get("reached") is False:
                count.calls -= 1
            if isinstance(problem, RateLimitedError):
                self._limiter.pause(problem.facts.get("retry_after_seconds") or 0.0)
            raise problem from error

    def _problem(self, error: openai.APIError, model: str) -> DependencyError:
        return translated(error, endpoint=self.name, model=model, secret=self._secret(), now=self._clock.now())

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


_LIMITERS: dict[tuple[object, ...], EndpointLimiter] = {}
_LIMITERS_LOCK = threading.Lock()


def limiter_of(config: EndpointConfig) -> EndpointLimiter:
    """The process's limiter for an endpoint: the same for equal address, account and limits."""
    account = config.api_key.get_secret_value() if config.api_key is not None else ""
    key = (
        config.base_url,
        hashlib.sha256(account.encode()).hexdigest(),
        config.max_concurrency,
        config.requests_per_minute,
        config.tokens_per_minute,
    )
    with _LIMITERS_LOCK:
        if key not in _LIMITERS:
            _LIMITERS[key] = EndpointLimiter(
                max_concurrency=config.max_concurrency,
                requests_per_minute=config.requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
            )
        return _LIMITERS[key]
