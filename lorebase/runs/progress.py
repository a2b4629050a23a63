"""How a build tells that it goes on: a small port, and a listener that says nothing."""

from __future__ import annotations

from typing import Protocol

from lorebase.runs.records import RecipeRunRecord, StepRunRecord


class BuildProgress(Protocol):
    """Told of a build's progress, in order; must return quickly and must not raise."""

    async def build_started(self, base_name: str, run_id: str, steps: tuple[str, ...]) -> None:
        """The build has begun."""
        ...

    async def scanned(self, documents: int, size_bytes: int) -> None:
        """The sources were read through."""
        ...

    async def step_started(self, record: StepRunRecord, items: int, task_runs: int) -> None:
        """A step begins; `items` rows of input lie before it in `task_runs` task runs."""
        ...

    async def step_advanced(self, step_name: str, items: int) -> None:
        """So many more items of the step are done."""
        ...

    async def step_ended(self, record: StepRunRecord) -> None:
        """A step has come to its end."""
        ...

    async def build_ended(self, record: RecipeRunRecord) -> None:
        """The build has come to its end."""
        ...


class SilentProgress:
    """Says nothing."""

    async def build_started(self, base_name: str, run_id: str, steps: tuple[str, ...]) -> None:
        """The build has begun."""

    async def scanned(self, documents: int, size_bytes: int) -> None:
        """The sources were read through."""

    async def step_started(self, record: StepRunRecord, items: int, task_runs: int) -> None:
        """A step begins."""

    async def step_advanced(self, step_name: str, items: int) -> None:
        """So many more items of the step are done."""

    async def step_ended(self, record: StepRunRecord) -> None:
        """A step has come to its end."""

    async def build_ended(self, record: RecipeRunRecord) -> None:
        """The build has come to its end."""
