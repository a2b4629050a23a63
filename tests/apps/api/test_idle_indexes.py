"""Embedded indexes are given back while nobody searches."""

from __future__ import annotations

from apps.api.idle_indexes import IdleIndexes
from tests.fakes.memory_index import MemoryIndexStore
from tests.governance.world import HandClock


class CountedStore(MemoryIndexStore):
    """Counts how often it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1
        await super().close()


async def test_a_store_is_closed_once_after_it_was_idle_for_long_enough() -> None:
    clock, store = HandClock(), CountedStore()
    indexes = IdleIndexes(store, clock, idle_seconds=3)

    async with indexes.used():
        clock.turn(10)
        during = await indexes.close_if_idle()
    clock.turn(2)
    soon = await indexes.close_if_idle()
    clock.turn(2)
    later = await indexes.close_if_idle()
    again = await indexes.close_if_idle()

    assert [during, soon, later, again] == [False, False, True, False]
    assert store.closed == 1


async def test_a_store_that_was_never_used_is_left_alone() -> None:
    clock, store = HandClock(), CountedStore()

    closed = await IdleIndexes(store, clock).close_if_idle()

    assert not closed
    assert store.closed == 0
