"""Giving embedded indexes back while nobody searches: each belongs to one process at a time, and builds want it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from lorebase.clock import Clock
from lorebase.index.ports import IndexStore

IDLE_SECONDS: Final = 3.0


class IdleIndexes:
    """Closes the index store after a while without a request for it; the next search opens it anew.

    Args:
        store: The embedded store.
        clock: Measures how long nobody asked.
        idle_seconds: How long that is.
    """

    def __init__(self, store: IndexStore, clock: Clock, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._in_use = 0
        self._last_used: float | None = None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Around everything that may search."""
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
            self._last_used = self._clock.monotonic()

    async def close_if_idle(self) -> bool:
        """Close the store where it was used and is idle. Returns whether it was closed."""
        if self._in_use or self._last_used is None or self._clock.monotonic() - self._last_used < self._idle_seconds:
            return False
        self._last_used = None
        await self._store.close()
        return True

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look after the store for as long as the server runs."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):  # the one that was just given to it
                await watching

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._idle_seconds / 3)
            await self.close_if_idle()
