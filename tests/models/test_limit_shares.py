"""Shares of an endpoint's limits: together never more than the limits, and nothing left lying while somebody waits."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.models.limit_shares import LimitShares, share_of, shared_out, units_of
from lorebase.models.settings import EndpointConfig

ADDRESS = "http://127.0.0.1:9/shares"


def endpoint(max_concurrency: int = 8, **limits: int) -> EndpointConfig:
    return EndpointConfig.model_validate({"base_url": ADDRESS, "max_concurrency": max_concurrency, **limits})


async def turns_of_the_loop(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Holders:
    """Task runs that ask for a share, and keep it until they are told to end."""

    def __init__(self, shares: LimitShares) -> None:
        self._shares = shares
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self.held: dict[str, Fraction] = {}

    async def ask(self, *names: str, peers: int = 1) -> None:
        for name in names:
            self._ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._hold(name, peers))
        await turns_of_the_loop()

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
        await turns_of_the_loop()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await turns_of_the_loop()

    async def _hold(self, name: str, peers: int) -> None:
        async with self._shares.taken({"gate"}, peers=peers) as shares:
            self.held[name] = shares["gate"]
            try:
                await self._ends[name].wait()
            finally:
                del self.held[name]

    def eighths(self) -> dict[str, int]:
        return {name: int(share * 8) for name, share in sorted(self.held.items())}


@pytest.mark.parametrize(
    ("limits", "share", "part"),
    [
        ({"max_concurrency": 8}, Fraction(1, 4), (2, None, None)),
        ({"max_concurrency": 8, "requests_per_minute": 600}, Fraction(3, 8), (3, 225, None)),
        ({"max_concurrency": 8, "requests_per_minute": 601}, Fraction(1, 8), (1, 75, None)),
        ({"max_concurrency": 4, "tokens_per_minute": 400_000}, Fraction(1, 2), (2, None, 200_000)),
        ({"max_concurrency": 64, "requests_per_minute": 3}, Fraction(1, 3), (21, 1, None)),
        ({"max_concurrency": 2}, Fraction(1, 8), (1, None, None)),
    ],
)
def test_a_share_is_that_part_of_every_limit(
    limits: dict[str, int], share: Fraction, part: tuple[int, int | None, int | None]
) -> None:
    shared = share_of(endpoint(**limits), share)

    assert (shared.max_concurrency, shared.requests_per_minute, shared.tokens_per_minute) == part
    assert shared.burst_seconds == 0


def test_endpoints_that_nobody_has_a_share_of_stay_as_they_are() -> None:
    endpoints = {"gate": endpoint(), "other": endpoint(5)}

    shared = shared_out(endpoints, {"gate": Fraction(1, 2)})

    assert (shared["gate"].max_concurrency, shared["other"]) == (4, endpoints["other"])


async def test_those_that_ask_together_get_equal_shares_and_what_is_over() -> None:
    holders = Holders(LimitShares({"gate": endpoint(8)}, at_once=3))

    await holders.ask("a", "b", "c", "d", peers=4)

    assert holders.eighths() == {"a": 2, "b": 3, "c": 3}


async def test_a_task_run_that_is_alone_gets_everything() -> None:
    holders = Holders(LimitShares({"gate": endpoint(8)}, at_once=64))

    await holders.ask("a")

    assert holders.eighths() == {"a": 8}


async def test_the_first_of_a_step_leaves_something_for_the_others() -> None:
    holders = Holders(LimitShares({"gate": endpoint(8)}, at_once=4))

    await holders.ask("a", peers=9)
    await holders.ask("b", peers=9)

    assert holders.eighths() == {"a": 2, "b": 2}


async def test_no_more_run_than_requests_may_be_under_way() -> None:
    holders = Holders(LimitShares({"gate": endpoint(2)}, at_once=16))

    await holders.ask("a", "b", "c", peers=3)
    before = set(holders.held)
    await holders.end("a")

    assert (before, set(holders.held)) == ({"a", "b"}, {"b", "c"})


async def test_a_share_passes_to_the_next_when_its_holder_is_cancelled() -> None:
    holders = Holders(LimitShares({"gate": endpoint(8)}, at_once=1))
    await holders.ask("a", "b", "c", peers=3)

    await holders.cancel("b")
    await holders.cancel("a")

    assert holders.eighths() == {"c": 8}


async def test_a_share_handed_to_somebody_who_is_cancelled_at_that_moment_is_not_lost() -> None:
    shares = LimitShares({"gate": endpoint(1)}, at_once=1)
    holders = Holders(shares)
    await holders.ask("a", "b")

    holders._ends["a"].set()
    await turns_of_the_loop(2)  # handed over, and "b" has not been told
    await holders.cancel("b")
    await holders.ask("c")

    assert holders.eighths() == {"c": 8}


async def test_names_of_one_account_are_divided_as_one() -> None:
    shares = LimitShares({"chat": endpoint(4), "embed": endpoint(4)}, at_once=2)
    order: list[str] = []

    async def hold(name: str) -> None:
        async with shares.taken({name}):
            order.append(f"{name} begins")
            await turns_of_the_loop()
            order.append(f"{name} ends")

    async with shares.whole({"chat"}):
        asking = asyncio.create_task(hold("embed"))
        await turns_of_the_loop()
        order.append("whole ends")
    await asking

    assert order == ["whole ends", "embed begins", "embed ends"]


async def test_the_whole_waits_for_every_share_and_nobody_overtakes_it() -> None:
    shares = LimitShares({"gate": endpoint(8)}, at_once=2)
    holders = Holders(shares)
    await holders.ask("a", "b", peers=2)
    had: list[dict[str, int]] = []

    async def everything() -> None:
        async with shares.whole({"gate"}):
            had.append(holders.eighths())

    asking = asyncio.create_task(everything())
    await turns_of_the_loop()
    await holders.ask("c")
    await holders.end("a")
    with_one_left = holders.eighths()
    await holders.end("b")
    await asking
    await turns_of_the_loop()

    assert with_one_left == {"b": 4}
    assert had == [{}]
    assert holders.eighths() == {"c": 8}


async def test_the_local_model_has_no_limits_to_share() -> None:
    async with LimitShares({}, at_once=4).taken({"local"}) as shares:
        assert shares == {}


async def test_steps_that_ask_two_endpoints_do_not_wait_for_each_other_for_ever() -> None:
    endpoints = {name: endpoint(1).model_copy(update={"base_url": ADDRESS + at}) for name, at in ENDPOINTS.items()}
    shares = LimitShares(endpoints, at_once=4)

    held: list[set[str]] = []

    async def hold(names: set[str]) -> None:
        async with shares.taken(names) as taken:
            held.append(set(taken))
            await turns_of_the_loop()

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(hold({"a", "b"}))
            tasks.create_task(hold({"b", "c"}))

    assert sorted(map(sorted, held)) == [["a", "b"]] * 3 + [["b", "c"]] * 3


ENDPOINTS = {"a": "/one", "b": "/two", "c": "/one"}
"""Two names of one account, and another between them."""


@given(
    concurrency=st.integers(1, 40),
    requests=st.none() | st.integers(1, 90),
    tokens=st.none() | st.integers(1, 400_000),
    at_once=st.integers(1, 12),
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=25),
)
def test_for_every_limit_all_shares_under_way_are_at_most_the_limit(
    concurrency: int, requests: int | None, tokens: int | None, at_once: int, lengths: list[int]
) -> None:
    config = EndpointConfig(
        base_url=ADDRESS, max_concurrency=concurrency, requests_per_minute=requests, tokens_per_minute=tokens
    )

    async def run() -> list[list[Fraction]]:
        shares = LimitShares({"gate": config}, at_once=at_once)
        held: dict[int, Fraction] = {}
        seen: list[list[Fraction]] = []

        async def group(number: int, length: int) -> None:
            async with shares.taken({"gate"}, peers=len(lengths)) as given_shares:
                held[number] = given_shares["gate"]
                seen.append(list(held.values()))
                await turns_of_the_loop(length)
                del held[number]

        async with asyncio.TaskGroup() as tasks:
            for number, length in enumerate(lengths):
                tasks.create_task(group(number, length))
        async with AsyncExitStack() as rest:  # nothing was lost on the way
            whole = await rest.enter_async_context(shares.taken({"gate"}))
            assert whole == {"gate": 1}
        return seen

    seen = asyncio.run(run())

    assert len(seen) == len(lengths)
    for moment in seen:
        parts = [share_of(config, share) for share in moment]
        assert all(share * units_of(config) >= 1 for share in moment)
        assert sum(part.max_concurrency for part in parts) <= concurrency
        assert requests is None or sum(part.requests_per_minute or 0 for part in parts) <= requests
        assert tokens is None or sum(part.tokens_per_minute or 0 for part in parts) <= tokens
