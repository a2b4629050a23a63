"""The way to an endpoint, whatever is asked of it: its place in the process's limiter, and the one retry layer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from lorebase.adapters.models.attempts import RetryPolicy, with_retries
from lorebase.errors import RateLimitedError
from lorebase.models.limiter import limiter_of
from lorebase.models.settings import EndpointConfig

ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class CallCount:
    """Requests of one call that reached the endpoint, counted while it runs."""

    calls: int = 0


class EndpointQueue:
    """Lets requests through to one endpoint. Shares its limiter with every other user of the endpoint in the process.

    Args:
        name: The endpoint's name in the workspace; stands in errors.
        config: What it allows.
        random: Jitter of the waits.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        name: str,
        config: EndpointConfig,
        *,
        random: Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._timeout_seconds = config.timeout_seconds
        self._random = random
        self._sleep = sleep
        self._limiter = limiter_of(config)
        self._policy = RetryPolicy(max_attempts=config.max_attempts, deadline_seconds=config.timeout_seconds)

    @asynccontextmanager
    async def opened(self, send_once: Callable[[], Awaitable[ResultT]], *, tokens: int) -> AsyncIterator[ResultT]:
        """What `send_once` gave in the end, with the request's place in the queue kept until it is left.

        The deadline begins when the limiter first lets the request through: a queue of our own making does not count.

        Args:
            send_once: One attempt; raises Lorebase's own errors.
            tokens: What it counts for at the limiter.

        Raises:
            DependencyError: The last attempt's, or the deadline passed.
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
                try:
                    return await send_once()
                except RateLimitedError as problem:
                    self._limiter.pause(problem.facts.get("retry_after_seconds") or 0.0)
                    raise

            yield await with_retries(
                attempt,
                dependency=self._name,
                policy=self._policy,
                random=self._random,
                sleep=self._sleep,
            )

    async def send(self, send_once: Callable[[], Awaitable[ResultT]], *, tokens: int) -> ResultT:
        """As `opened`, for requests that end with their answer."""
        async with self.opened(send_once, tokens=tokens) as result:
            return result

    def charge(self, tokens: int) -> None:
        """Count the tokens of an answer at the limiter."""
        self._limiter.charge(tokens)

    def _refuse_endless_pause(self) -> None:
        """Fail instead of sitting out a pause that no single request would have waited for."""
        pause_seconds = self._limiter.pause_left_seconds()
        if pause_seconds > self._timeout_seconds:
            raise RateLimitedError(
                f"The endpoint {self._name!r} asked to wait, for {pause_seconds:.0f} more seconds.",
                remedy="Start again after that, or raise the account's limits.",
                dependency=self._name,
                retry_after_seconds=pause_seconds,
            )
