"""The limits of endpoints, divided among the task runs of a build that other processes do."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from lorebase.models.limiter import EndpointLimiter, limiter_of
from lorebase.models.settings import EndpointConfig

EndpointShares = Mapping[str, Fraction]
"""Which part of an endpoint's limits somebody may use, by the endpoint's name in the workspace."""


class LimitShares:
    """Gives each task run a share of the endpoints that it asks; all shares under way are never more than the limits.

    Endpoints that have one limiter in a process (the same address, account and limits) are divided as one.

    Args:
        endpoints: The workspace's endpoints by name.
        at_once: How many task runs the other processes do at once.
    """

    def __init__(self, endpoints: Mapping[str, EndpointConfig], *, at_once: int) -> None:
        self._endpoints = endpoints
        purses: dict[EndpointLimiter, _Purse] = {}
        for name in sorted(endpoints):
            limiter = limiter_of(endpoints[name])
            purses.setdefault(limiter, _Purse(units_of(endpoints[name]), at_once=at_once, place=len(purses)))
        self._purse_of = {name: purses[limiter_of(config)] for name, config in endpoints.items()}

    @asynccontextmanager
    async def taken(self, names: Collection[str], *, peers: int = 1) -> AsyncIterator[dict[str, Fraction]]:
        """Shares of endpoints for another process, waited for in the order of asking; given back at the end.

        Args:
            names: Which; names that are no endpoints, as that of the local model, are passed over.
            peers: How many task runs, this one included, the same step has not finished: something is left for them.
        """
        async with AsyncExitStack() as held:
            shares: dict[_Purse, Fraction] = {}
            for purse in self._purses(names):
                shares[purse] = await held.enter_async_context(purse.taken(peers))
            yield {name: shares[self._purse_of[name]] for name in names if name in self._purse_of}

    @asynccontextmanager
    async def whole(self, names: Collection[str]) -> AsyncIterator[None]:
        """All of some endpoints, for this process: its own limiters, which know of no shares, bound it."""
        async with AsyncExitStack() as held:
            for purse in self._purses(names):
                await held.enter_async_context(purse.taken(whole=True))
            yield
            await settled(self._endpoints, names)

    def _purses(self, names: Collection[str]) -> list[_Purse]:
        """In one order for everybody: two that held one each and waited for the other's would wait for ever."""
        found = {self._purse_of[name] for name in names if name in self._purse_of}
        return sorted(found, key=lambda purse: purse.place)


def units_of(config: EndpointConfig) -> int:
    """Into how many parts the limits of an endpoint can be divided so that none of them is left without."""
    limits = (config.max_concurrency, config.requests_per_minute, config.tokens_per_minute)
    return min(limit for limit in limits if limit is not None)


def share_of(config: EndpointConfig, share: Fraction) -> EndpointConfig:
    """An endpoint as the holder of a share may use it: rounded down, but at least 1 of each.

    Nothing that was not used may be made up for: what each of many holders has saved would be sent at the same moment.
    """

    def part(limit: int) -> int:
        return max(1, int(limit * share))

    requests, tokens = config.requests_per_minute, config.tokens_per_minute
    limits = {
        "max_concurrency": part(config.max_concurrency),
        "requests_per_minute": part(requests) if requests is not None else None,
        "tokens_per_minute": part(tokens) if tokens is not None else None,
        "burst_seconds": 0.0,
    }
    return config.model_copy(update=limits)


def shared_out(endpoints: Mapping[str, EndpointConfig], shares: EndpointShares) -> dict[str, EndpointConfig]:
    """Endpoints as the holder of shares may use them; those that it has no share of stay as they are."""
    return {name: share_of(config, shares[name]) if name in shares else config for name, config in endpoints.items()}


async def settled(endpoints: Mapping[str, EndpointConfig], names: Collection[str]) -> None:
    """Wait until this process's limiters of some endpoints have caught up with what it has sent.

    Without that a share which goes from process to process would begin anew in each of them.
    """
    for name in names:
        if name in endpoints:
            await limiter_of(endpoints[name]).settled()


@dataclass(eq=False)
class _Asking:
    peers: int
    whole: bool
    given: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _Purse:
    """The limits of one limiter, as units that are handed out and come back. Belongs to one event loop.

    What is free is divided evenly among those that ask, and will ask, as far as they can run at once; so a step with
    a single task run gets everything.
    """

    def __init__(self, units: int, *, at_once: int, place: int) -> None:
        self.place = place
        self._units = units
        self._free = units
        self._at_once = at_once
        self._holders = 0
        self._asking: deque[_Asking] = deque()

    @asynccontextmanager
    async def taken(self, peers: int = 1, *, whole: bool = False) -> AsyncIterator[Fraction]:
        asking = _Asking(peers, whole)
        self._asking.append(asking)
        # Not at once: the other task runs of a step ask in this same turn of the event loop.
        asyncio.get_running_loop().call_soon(self._hand_out)
        try:
            units = await asking.given
        except BaseException:
            self._give_up(asking)
            raise
        try:
            yield Fraction(units, self._units)
        finally:
            self._give_back(units)

    def _hand_out(self) -> None:
        while self._asking:
            first = self._asking[0]
            if first.given.done():  # cancelled, and not yet told so
                self._asking.popleft()
                continue
            units = self._units if first.whole else self._fair(first)
            if units > self._free:
                return
            self._asking.popleft()
            self._free -= units
            self._holders += 1
            first.given.set_result(units)

    def _fair(self, asking: _Asking) -> int:
        now = min(len(self._asking), max(1, self._at_once - self._holders))
        soon = min(asking.peers, self._at_once)
        return max(1, min(self._free // now, -(-self._units // soon)))

    def _give_up(self, asking: _Asking) -> None:
        if asking in self._asking:
            self._asking.remove(asking)
            self._hand_out()  # those behind it may have waited for it alone
        elif not asking.given.cancelled():  # handed over while it was being cancelled
            self._give_back(asking.given.result())

    def _give_back(self, units: int) -> None:
        self._free += units
        self._holders -= 1
        asyncio.get_running_loop().call_soon(self._hand_out)
