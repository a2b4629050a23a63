"""Claims on items: one task run works on each, the others learn when it has ended."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from lorebase.artifacts.claims import Claims


def test_an_item_is_claimed_by_the_first_and_awaited_by_the_second() -> None:
    claims = Claims()

    first, nothing = claims.take(["a", "b", "a"])
    second, awaited = claims.take(["b", "c"])

    assert (first, nothing) == ({"a", "b"}, {})
    assert second == {"c"}
    assert not awaited["b"].done()
    claims.release(["a", "b"])
    assert awaited["b"].done()


def test_a_released_item_can_be_claimed_again_and_releasing_twice_does_nothing() -> None:
    claims = Claims()
    claims.take(["a"])

    claims.release(["a", "unknown"])
    claims.release(["a"])

    assert claims.take(["a"]) == ({"a"}, {})


async def test_who_stops_waiting_takes_the_end_from_nobody_else() -> None:
    claims = Claims()
    claims.take(["a"])
    _, awaited = claims.take(["a"])
    impatient = asyncio.ensure_future(asyncio.wrap_future(awaited["a"]))
    patient = asyncio.ensure_future(asyncio.wrap_future(awaited["a"]))

    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    claims.release(["a"])

    assert await patient is None


def test_of_many_threads_exactly_one_gets_each_item() -> None:
    claims = Claims()
    keys = [str(number) for number in range(200)]

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: claims.take(keys)[0], range(8)))

    assert sum(len(mine) for mine in taken) == 200
    assert set().union(*taken) == set(keys)
