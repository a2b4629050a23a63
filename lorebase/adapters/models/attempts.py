"""Sending a request again: the one retry layer of a model endpoint, under one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
)

from lorebase.errors import LorebaseError, UnavailableError

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a request is tried.

    Attributes:
        max_attempts: Most times that it is sent.
        deadline_seconds: From the first sending to the answer, waiting included. What would wait past it ends at once.
        first_wait_seconds: Wait after the first failure; doubles with each one more.
        longest_wait_seconds: Where the doubling ends. A wait that the service asks for may be longer.
    """

    max_attempts: int = 6
    deadline_seconds: float = 120.0
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 30.0

    def wait_seconds(self, attempt: int, error: BaseException | None, random: Random) -> float:
        """How long to wait after attempt number `attempt` (from 1) ended with `error`.

        What the service asked for; otherwise between half and all of the doubled wait, so that callers that failed
        together do not come back together.
        """
        asked: float | None = error.facts.get("retry_after_seconds") if isinstance(error, LorebaseError) else None
        if asked:
            return asked
        backoff = min(self.longest_wait_seconds, self.first_wait_seconds * 2.0 ** (attempt - 1))
        return backoff * random.uniform(0.5, 1.0)


async def with_retries(
    send: Callable[[], Awaitable[ResultT]],
    *,
    dependency: str,
    policy: RetryPolicy,
    random: Random,
    sleep: Callable[[float], Awaitable[None]],
) -> ResultT:
    """Call `send` until it answers, fails for good, or the policy ends it.

    Args:
        send: One attempt. Its errors are Lorebase's own; only `retryable` decides whether it is called again.
        dependency: Name of the service, for the sentence about the deadline.
        policy: How often and how long.
        random: Source of the jitter.
        sleep: Waits for seconds.

    Raises:
        UnavailableError: The deadline passed while an attempt or a wait was under way.
        DependencyError: The last attempt's error.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(_may_succeed_later),
        wait=lambda state: policy.wait_seconds(state.attempt_number, _error_of(state), random),
        stop=stop_after_attempt(policy.max_attempts) | stop_before_delay(policy.deadline_seconds),
        sleep=sleep,
        reraise=True,
    )
    scope = asyncio.timeout(policy.deadline_seconds)
    try:
        async with scope:
            return await retrying(send)
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise UnavailableError(
            f"The service {dependency!r} gave no answer within {policy.deadline_seconds:g} seconds.",
            remedy="Look whether it is overloaded, or raise timeout_seconds of the endpoint.",
            dependency=dependency,
            deadline_seconds=policy.deadline_seconds,
        ) from error


def _may_succeed_later(error: BaseException) -> bool:
    return isinstance(error, LorebaseError) and error.retryable


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
