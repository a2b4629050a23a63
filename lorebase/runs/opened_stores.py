"""What builds and the operations beside them ask alike of the place that they run in."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from lorebase.clock import Clock
from lorebase.index.ports import IndexStore
from lorebase.runs.derived import DerivedTables


class OpenedStores(Protocol):
    """Stores that are opened when they are first needed, a clock and chance."""

    @property
    def index_store(self) -> IndexStore:
        """Where indexes are."""
        ...

    @property
    def derived_tables(self) -> Sequence[DerivedTables]:
        """Tables that are made of artifacts."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...

    @property
    def random(self) -> Random:
        """Source of ids."""
        ...

    async def close(self) -> None:
        """Give the connections of the stores back; a later call opens them anew."""
        ...
