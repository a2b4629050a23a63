"""Others who are told of a build's progress beside Prefect: the terminal that a build was started from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from lorebase.runs.progress import BuildProgress
from lorebase.runs.records import RecipeRunRecord, StepRunRecord

_WATCHERS: ContextVar[tuple[BuildProgress, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched_by(progress: BuildProgress) -> Iterator[None]:
    """Builds of flows that run in this context also tell `progress`."""
    token = _WATCHERS.set((*_WATCHERS.get(), progress))
    try:
        yield
    finally:
        _WATCHERS.reset(token)


def with_watchers(progress: BuildProgress) -> BuildProgress:
    """A progress that tells `progress` and everybody who watches in this context."""
    watchers = _WATCHERS.get()
    return Broadcast((progress, *watchers)) if watchers else progress


class Broadcast:
    """Tells several listeners, one after the other."""

    def __init__(self, listeners: Sequence[BuildProgress]) -> None:
        self._listeners = listeners

    async def build_started(self, base_name: str, run_id: str, steps: tuple[str, ...]) -> None:
        """The build has begun."""
        for listener in self._listeners:
            await listener.build_started(base_name, run_id, steps)

    async def scanned(self, documents: int, size_bytes: int) -> None:
        """The sources were read through."""
        for listener in self._listeners:
            await listener.scanned(documents, size_bytes)

    async def step_started(self, record: StepRunRecord, items: int, task_runs: int) -> None:
        """A step begins."""
        for listener in self._listeners:
            await listener.step_started(record, items, task_runs)

    async def step_advanced(self, step_name: str, items: int) -> None:
        """So many more items of the step are done."""
        for listener in self._listeners:
            await listener.step_advanced(step_name, items)

    async def step_ended(self, record: StepRunRecord) -> None:
        """A step has come to its end."""
        for listener in self._listeners:
            await listener.step_ended(record)

    async def build_ended(self, record: RecipeRunRecord) -> None:
        """The build has come to its end."""
        for listener in self._listeners:
            await listener.build_ended(record)
