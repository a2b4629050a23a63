"""The retry layer: what is tried again, how long it waits, and where it ends."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.adapters.models.attempts import RetryPolicy, with_retries
from lorebase.errors import LorebaseError, RateLimitedError, RefusedError, UnavailableError


class Service:
    """Raises the given errors one after another, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.sendings = 0

    async def send(self) -> str:
        self.sendings += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


class Waits:
    """Remembers how long it was to sleep, and does not."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def run(service: Service, waits: Waits, policy: RetryPolicy | None = None, seed: int = 0) -> str:
    return await with_retries(
        service.send,
        dependency="fake",
        policy=policy or RetryPolicy(),
        random=Random(seed),
        sleep=waits.sleep,
    )


async def test_error_that_may_pass_is_tried_again_after_growing_waits():
    service, waits = Service(*[UnavailableError("down")] * 3), Waits()

    assert await run(service, waits) == "answer"

    assert service.sendings == 4
    assert [0.25 <= waits.seconds[0] <= 0.5, 0.5 <= waits.seconds[1] <= 1, 1 <= waits.seconds[2] <= 2] == [True] * 3


async def test_waits_are_repeatable_with_the_same_seed():
    first, second, third = Waits(), Waits(), Waits()

    for waits, seed in ((first, 7), (second, 7), (third, 8)):
        await run(Service(*[UnavailableError("down")] * 3), waits, seed=seed)

    assert first.seconds == second.seconds != third.seconds


async def test_error_that_cannot_pass_is_raised_at_once():
    service, waits = Service(RefusedError("no such model")), Waits()

    with pytest.raises(RefusedError, match="no such model"):
        await run(service, waits)

    assert (service.sendings, waits.seconds) == (1, [])


async def test_foreign_error_is_raised_at_once():
    service, waits = Service(ValueError("a bug")), Waits()

    with pytest.raises(ValueError, match="a bug"):
        await run(service, waits)

    assert service.sendings == 1


async def test_the_wait_that_the_service_asks_for_is_kept():
    service, waits = Service(RateLimitedError("slow down", retry_after_seconds=41.5)), Waits()

    assert await run(service, waits) == "answer"

    assert waits.seconds == [41.5]


async def test_a_wait_past_the_deadline_is_not_begun():
    service, waits = Service(RateLimitedError("slow down", retry_after_seconds=500.0)), Waits()

    with pytest.raises(RateLimitedError):
        await run(service, waits)

    assert (service.sendings, waits.seconds) == (1, [])


async def test_after_max_attempts_the_last_error_is_raised():
    service, waits = Service(*[UnavailableError(f"down {number}") for number in range(9)]), Waits()

    with pytest.raises(UnavailableError, match="down 2"):
        await run(service, waits, RetryPolicy(max_attempts=3))

    assert service.sendings == 3


async def test_an_attempt_that_never_ends_ends_at_the_deadline():
    async def never() -> str:
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(UnavailableError, match=r"no answer within 0.05 seconds") as caught:
        await with_retries(
            never,
            dependency="fake",
            policy=RetryPolicy(deadline_seconds=0.05),
            random=Random(0),
            sleep=asyncio.sleep,
        )

    assert caught.value.retryable


async def test_cancellation_passes_through():
    started = asyncio.Event()

    async def never() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    task = asyncio.create_task(
        with_retries(never, dependency="x", policy=RetryPolicy(), random=Random(0), sleep=asyncio.sleep)
    )
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@given(attempt=st.integers(1, 50), seed=st.integers())
def test_own_waits_are_between_half_and_all_of_the_doubled_one(attempt: int, seed: int):
    policy = RetryPolicy(first_wait_seconds=0.5, longest_wait_seconds=30.0)
    doubled = min(30.0, 0.5 * 2.0 ** (attempt - 1))

    wait = policy.wait_seconds(attempt, LorebaseError("x"), Random(seed))

    assert doubled / 2 <= wait <= doubled
