"""How the command line shows a build: bars on a terminal, plain lines elsewhere; both on stderr."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from rich.console import Console

    from lorebase.runs.records import RecipeRunRecord, StepRunRecord

_LINE_EVERY_SECONDS = 5.0


class ConsoleProgress:
    """Bars on a terminal; elsewhere a line for each event, and one every five seconds of a long step."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._bars = (
            Progress(
                SpinnerColumn(finished_text="[green]✓"),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=screen,
            )
            if screen.is_terminal
            else None
        )
        self._tasks: dict[str, TaskID] = {}
        self._totals: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._last_line = 0.0

    def shown(self) -> AbstractContextManager[object]:
        """The context in which bars are drawn."""
        return self._bars if self._bars is not None else nullcontext()

    async def build_started(self, base_name: str, run_id: str, steps: tuple[str, ...]) -> None:
        """The build has begun."""
        self._screen.print(f"Building {base_name}, run {run_id}: {' -> '.join(steps)}")

    async def scanned(self, documents: int, size_bytes: int) -> None:
        """The sources were read through."""
        self._screen.print(f"Scanned {documents} documents, {size_bytes / 1_000_000:.1f} MB")

    async def step_started(self, record: StepRunRecord, items: int, task_runs: int) -> None:
        """A step begins."""
        self._totals[record.step_name], self._done[record.step_name] = items, 0
        if self._bars is not None:
            self._tasks[record.step_name] = self._bars.add_task(record.step_name, total=items)
        elif task_runs:
            self._screen.print(f"{record.step_name}: {items} to do in {task_runs} task runs ({record.reason})")

    async def step_advanced(self, step_name: str, items: int) -> None:
        """So many more items of the step are done."""
        self._done[step_name] += items
        if self._bars is not None:
            self._bars.advance(self._tasks[step_name], items)
        elif time.monotonic() - self._last_line > _LINE_EVERY_SECONDS:
            self._last_line = time.monotonic()
            self._screen.print(f"{step_name}: {self._done[step_name]} of {self._totals[step_name]}")

    async def step_ended(self, record: StepRunRecord) -> None:
        """A step has come to its end."""
        name = record.step_name
        if self._bars is not None and name in self._tasks:
            total = self._totals[name]
            self._bars.update(
                self._tasks[name],
                description=f"{name} [dim]{record.status}[/]",
                total=max(total, 1),
                completed=max(total, 1) if record.status in {"succeeded", "skipped"} else self._done[name],
            )
        elif self._bars is None:
            self._screen.print(f"{name}: {record.status} in {record.seconds:.1f} s, {record.counts.rows} rows")

    async def build_ended(self, record: RecipeRunRecord) -> None:
        """The build has come to its end."""
