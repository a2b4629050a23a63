"""Registries for tests: a clock that is told the time, and stores of every kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lorebase.registry.reading import JsonObject
from lorebase.registry.service import KnowledgeBases
from lorebase.registry.stores import Change, RegistryStore


class SteppingClock:
    """A clock that is one second further at every look."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def monotonic(self) -> float:
        return 0.0


def opened(store: RegistryStore) -> KnowledgeBases[None, None]:
    """The knowledge bases of a store, without folders and runtimes."""
    return KnowledgeBases(store, clock=SteppingClock())


def counted_up(data: JsonObject) -> Change[int]:
    """One more in the description of a base."""
    count = int(str(data.get("description") or 0)) + 1
    return Change(count, {**data, "description": str(count)})
