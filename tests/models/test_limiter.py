"""The limiter of an endpoint, with a clock that only moves when somebody waits."""

from __future__ import annotations

import asyncio
import threading

import pytest

from lorebase.models.limiter import EndpointLimiter


class WaitingClock:
    """Time passes only in `sleep`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def moments(limiter: EndpointLimiter, clock: WaitingClock, turns: list[int]) -> list[float]:
    passed = []
    for tokens in turns:
        await limiter.turn(tokens)
        passed.append(clock.now - 1000.0)
    return passed


async def test_requests_of_a_minute_stay_below_the_limit_and_one_seconds_burst():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, requests_per_minute=120, clock=clock, sleep=clock.sleep)

    passed = await moments(limiter, clock, [1] * 300)

    assert max(sum(start <= moment < start + 60 for moment in passed) for start in range(90)) <= 122
    assert passed[-1] == pytest.approx(300 / 2, abs=2)


async def test_tokens_of_a_minute_stay_below_the_limit():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, tokens_per_minute=6_000, clock=clock, sleep=clock.sleep)

    passed = await moments(limiter, clock, [1_000] * 7)

    assert passed == pytest.approx([0, 9, 19, 29, 39, 49, 59])


async def test_request_over_the_minutes_tokens_passes_and_the_next_waits_for_it():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, tokens_per_minute=1_000, clock=clock, sleep=clock.sleep)

    passed = await moments(limiter, clock, [3_000, 1])

    assert passed == pytest.approx([0, 179])


async def test_without_limits_nobody_waits():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, clock=clock, sleep=clock.sleep)

    assert await moments(limiter, clock, [10_000_000] * 50) == [0.0] * 50


async def test_pause_holds_everybody_and_a_shorter_one_does_not_end_it():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, clock=clock, sleep=clock.sleep)
    limiter.pause(30)
    limiter.pause(5)

    assert await moments(limiter, clock, [1, 1]) == [30.0, 30.0]


async def test_pause_that_arrives_during_a_wait_counts():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, requests_per_minute=60, clock=clock, sleep=clock.sleep)
    await limiter.turn(1)
    await limiter.turn(1)

    waiting = asyncio.create_task(limiter.turn(1))
    await asyncio.sleep(0)
    limiter.pause(20)
    before = clock.now
    await waiting

    assert clock.now - before >= 19


async def test_no_more_than_max_concurrency_hold_a_slot():
    limiter = EndpointLimiter(max_concurrency=3)
    held = most = 0

    async def work() -> None:
        nonlocal held, most
        async with limiter.slot():
            held += 1
            most = max(most, held)
            await asyncio.sleep(0.001)
            held -= 1

    await asyncio.gather(*(work() for _ in range(20)))

    assert most == 3


async def can_take(limiter: EndpointLimiter) -> bool:
    """Whether there is a slot; waits for ever where one was lost."""
    async with limiter.slot():
        return True


async def test_cancelled_waiter_loses_no_slot():
    limiter = EndpointLimiter(max_concurrency=1)
    release = asyncio.Event()

    async def hold() -> None:
        async with limiter.slot():
            await release.wait()

    holder = asyncio.create_task(hold())
    await asyncio.sleep(0)
    waiters = [asyncio.create_task(hold()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    release.set()
    waiters[1].cancel()
    await asyncio.gather(holder, *waiters, return_exceptions=True)

    assert [waiter.cancelled() for waiter in waiters] == [True, True, False]
    assert await asyncio.wait_for(can_take(limiter), 1)


async def test_waiter_cancelled_just_as_it_is_given_a_slot_passes_it_on():
    limiter = EndpointLimiter(max_concurrency=1)
    slot = limiter.slot()
    await slot.__aenter__()
    waiter = asyncio.create_task(limiter.slot().__aenter__())
    await asyncio.sleep(0)

    await slot.__aexit__(None, None, None)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)

    assert waiter.cancelled()
    assert await asyncio.wait_for(can_take(limiter), 1)


def test_one_limiter_serves_two_event_loops_in_a_row():
    limiter = EndpointLimiter(max_concurrency=1, requests_per_minute=60_000)

    served = 0

    async def use() -> None:
        async def one() -> None:
            nonlocal served
            async with limiter.slot():
                await limiter.turn(1)
                await asyncio.sleep(0)
                served += 1

        await asyncio.gather(*(one() for _ in range(5)))

    asyncio.run(use())
    asyncio.run(use())

    assert served == 10


def test_slots_are_shared_by_event_loops_in_several_threads():
    limiter = EndpointLimiter(max_concurrency=2)
    lock = threading.Lock()
    held = most = done = 0

    async def work() -> None:
        nonlocal held, most, done
        async with limiter.slot():
            with lock:
                held += 1
                most = max(most, held)
            await asyncio.sleep(0.001)
            with lock:
                held -= 1
                done += 1

    async def several() -> None:
        await asyncio.gather(*(work() for _ in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(several(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done == 80
    assert most == 2


async def test_tokens_that_are_charged_afterwards_hold_up_the_next_request():
    clock = WaitingClock()
    limiter = EndpointLimiter(max_concurrency=1, tokens_per_minute=6_000, clock=clock, sleep=clock.sleep)

    await limiter.turn(100)
    limiter.charge(2_900)
    passed = await moments(limiter, clock, [100])

    assert passed == pytest.approx([29])


async def test_without_a_burst_nothing_that_was_not_used_is_made_up_for():
    clock = WaitingClock()
    limiter = EndpointLimiter(
        max_concurrency=1, requests_per_minute=60, burst_seconds=0, clock=clock, sleep=clock.sleep
    )
    await clock.sleep(100)

    passed = await moments(limiter, clock, [1, 1, 1])

    assert passed == [100.0, 101.0, 102.0]


async def test_a_share_that_goes_from_process_to_process_keeps_its_pace():
    clock = WaitingClock()
    limits = {"max_concurrency": 1, "requests_per_minute": 60, "tokens_per_minute": 6_000, "burst_seconds": 0}
    processes = [EndpointLimiter(**limits, clock=clock, sleep=clock.sleep) for _ in range(4)]  # type: ignore[arg-type]
    passed = []

    for limiter in processes:
        passed += await moments(limiter, clock, [10, 10])
        limiter.charge(180)
        await limiter.settled()

    assert passed == pytest.approx([0.0, 1.0, 2.8, 3.8, 5.6, 6.6, 8.4, 9.4])  # 1.8 seconds for the tokens of an answer
