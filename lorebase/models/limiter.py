"""One limiter for one endpoint and process: requests under way, requests and tokens a minute, and pauses asked for.

It belongs to no event loop, so that builds that run one after another, or side by side in threads, share it. That is
why it is not one of the asyncio limiters of the package index: those hold futures of the loop that used them first.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from lorebase.models.settings import DEFAULT_BURST_SECONDS, EndpointConfig

_SECONDS_PER_MINUTE = 60.0


class EndpointLimiter:
    """Lets callers through as fast as the endpoint allows. Safe for several event loops and threads.

    Use: hold a `slot` for a request and all its retries, and wait for a `turn` before each sending.

    Attributes:
        max_concurrency: Most slots held at once.
    """

    def __init__(
        self,
        *,
        max_concurrency: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        burst_seconds: float = DEFAULT_BURST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.max_concurrency = max_concurrency
        self._slots = _Slots(max_concurrency)
        self._requests = _Pace(requests_per_minute, burst_seconds)
        self._tokens = _Pace(tokens_per_minute, burst_seconds)
        self._paused_until = float("-inf")
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """One of the `max_concurrency` places, first come, first served."""
        await self._slots.acquire()
        try:
            yield
        finally:
            self._slots.release()

    async def turn(self, tokens: int) -> None:
        """Wait until a request of `tokens` tokens may be sent.

        A request over the whole minute's tokens is let through, and the next ones wait for as long as it takes.
        """
        with self._lock:
            now = self._clock()
            ready_at = max(self._requests.reserve(now, 1), self._tokens.reserve(now, tokens))
        while (wait := max(ready_at, self._paused_until) - self._clock()) > 0:
            await self._sleep(wait)

    def charge(self, tokens: int) -> None:
        """Count tokens that a request took beyond those of its turn, such as its answer's; later ones wait for them."""
        with self._lock:
            self._tokens.reserve(self._clock(), tokens)

    def pause(self, seconds: float) -> None:
        """Let nobody through for `seconds` from now; a longer pause that is running stays."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def pause_left_seconds(self) -> float:
        """How long the pause goes on; 0 where there is none."""
        return max(0.0, self._paused_until - self._clock())

    async def settled(self) -> None:
        """Wait until the pace has caught up with all that has passed so far, so that somebody else may go on from here.

        What passes meanwhile is not waited for.
        """
        free_at = max(self._requests.free_at, self._tokens.free_at)
        while (wait := free_at - self._clock()) > 0:
            await self._sleep(wait)


_LIMITERS: dict[tuple[object, ...], EndpointLimiter] = {}
_LIMITERS_LOCK = threading.Lock()


def limiter_of(config: EndpointConfig) -> EndpointLimiter:
    """The process's limiter for an endpoint: the same for equal address, account and limits."""
    limits = (config.max_concurrency, config.requests_per_minute, config.tokens_per_minute, config.burst_seconds)
    key = (*account_of(config), *limits)
    with _LIMITERS_LOCK:
        if key not in _LIMITERS:
            _LIMITERS[key] = EndpointLimiter(
                max_concurrency=config.max_concurrency,
                requests_per_minute=config.requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
                burst_seconds=config.burst_seconds,
            )
        return _LIMITERS[key]


def account_of(config: EndpointConfig) -> tuple[str, str]:
    """Address and digest of the key: what an endpoint is to this process."""
    key = config.api_key.get_secret_value() if config.api_key is not None else ""
    return config.base_url, hashlib.sha256(key.encode()).hexdigest()


class _Pace:
    """A rate as one number: the moment from which the next piece may pass (the generic cell rate algorithm).

    Unused time is kept for `burst_seconds` only: endpoints measure in windows shorter than a minute.
    """

    def __init__(self, per_minute: int | None, burst_seconds: float) -> None:
        self._seconds_each = _SECONDS_PER_MINUTE / per_minute if per_minute else 0.0
        self._burst_seconds = burst_seconds
        self.free_at = float("-inf")

    def reserve(self, now: float, amount: int) -> float:
        ready_at = max(self.free_at, now - self._burst_seconds)
        self.free_at = ready_at + amount * self._seconds_each
        return ready_at


class _Slots:
    """A semaphore whose waiters may stand in different event loops."""

    def __init__(self, free: int) -> None:
        self._free = free
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def acquire(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            waiter = (loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter[1]
        except BaseException:
            self._give_up(waiter)
            raise

    def release(self) -> None:
        with self._lock:
            while self._waiting:
                loop, future = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_grant, future)
                except RuntimeError:  # that event loop has been closed meanwhile
                    continue
                return
            self._free += 1

    def _give_up(self, waiter: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]) -> None:
        with self._lock:
            still_waiting = waiter in self._waiting
            if still_waiting:
                self._waiting.remove(waiter)
        if not still_waiting:  # the slot was handed over while the waiter was being cancelled
            self.release()


def _grant(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
