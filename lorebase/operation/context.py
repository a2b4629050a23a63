"""What every operation of the kits is given beside its input: the application, a signal to stop, and diagnostics."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

from lorebase.errors import OperationCancelledError

AppT_co = TypeVar("AppT_co", covariant=True)
ResultT = TypeVar("ResultT")


class CancelSignal(Protocol):
    """Says that an operation is no longer wanted. May be asked from any thread and from any event loop."""

    @property
    def cancelled(self) -> bool:
        """Whether the operation is no longer wanted; never becomes false again."""
        ...

    def raise_if_cancelled(self) -> None:
        """Stop here if it is no longer wanted.

        Raises:
            OperationCancelledError: It is not.
        """
        ...

    async def wait(self) -> None:
        """Come back when the operation is no longer wanted."""
        ...


class Cancellation:
    """A signal together with the means to give it. Where nobody cancels it, the operation runs to its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._reason = ""
        self._wakers: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self, reason: str = "") -> None:
        """Give the signal; from any thread. The first reason stays."""
        with self._lock:
            if self._cancelled:
                return
            self._cancelled, self._reason = True, reason
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def raise_if_cancelled(self) -> None:
        """Stop here if `cancel` was called.

        Raises:
            OperationCancelledError: It was.
        """
        if self._cancelled:
            raise OperationCancelledError(
                f"The operation was cancelled: {self._reason}." if self._reason else "The operation was cancelled."
            )

    async def wait(self) -> None:
        """Come back once `cancel` was called."""
        loop = asyncio.get_running_loop()
        given = asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(given.set)

        with self._lock:
            if self._cancelled:
                return
            self._wakers.append(wake)
        try:
            await given.wait()
        finally:
            with self._lock:
                if wake in self._wakers:
                    self._wakers.remove(wake)


@dataclass(frozen=True, slots=True)
class DiagnosticEntry:
    """One thing worth knowing about how an operation went.

    Attributes:
        scope: Names of the scopes it was recorded in, outer ones first.
        code: UPPER_SNAKE.
        message: One sentence; holds no evidence and no secrets.
        severity: How much it matters.
        facts: The values behind the sentence, JSON-like.
    """

    scope: tuple[str, ...]
    code: str
    message: str
    severity: Literal["info", "warning", "error"]
    facts: dict[str, Any]


class Diagnostics:
    """Entries of an operation and of the scopes inside it. Make one for each operation: entries are kept as long as it.

    Args:
        scope: Names of this scope, outer ones first.
        parent: The scope around it, which gets its entries too.
    """

    def __init__(self, scope: tuple[str, ...] = (), parent: Diagnostics | None = None) -> None:
        self.scope = scope
        self._parent = parent
        self._entries: list[DiagnosticEntry] = []

    @property
    def entries(self) -> tuple[DiagnosticEntry, ...]:
        """What was recorded here and in scopes inside, in the order of recording."""
        return tuple(self._entries)

    def record(
        self,
        code: str,
        message: str,
        *,
        severity: Literal["info", "warning", "error"] = "info",
        **facts: Any,  # noqa: ANN401 (facts are any JSON value)
    ) -> None:
        """Keep an entry, here and in the scopes around."""
        self._append(DiagnosticEntry(self.scope, code, message, severity, facts))

    def child(self, name: str) -> Diagnostics:
        """A scope inside this one."""
        return Diagnostics((*self.scope, name), self)

    def _append(self, entry: DiagnosticEntry) -> None:
        self._entries.append(entry)
        if self._parent is not None:
            self._parent._append(entry)  # noqa: SLF001 (the same class)


@dataclass(frozen=True, kw_only=True)
class OperationContext(Generic[AppT_co]):
    """What a run is given beside its input; definitions never hold any of it.

    Attributes:
        app: What the application offers to its own handlers in this run: model runner, accounts, connections.
        signal: Says that the run is no longer wanted.
        diagnostics: Where the run says how it went.
    """

    app: AppT_co
    signal: CancelSignal = field(default_factory=Cancellation)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)

    def derive(self, scope: str = "", **overrides: Any) -> Self:  # noqa: ANN401 (each field has a type of its own)
        """The context of a part of the run: the same app and signal, diagnostics of a scope inside.

        Args:
            scope: Name of the part; empty keeps the diagnostics as they are.
            overrides: Fields to put in place of the derived ones.
        """
        diagnostics = self.diagnostics.child(scope) if scope else self.diagnostics
        return replace(self, **{"diagnostics": diagnostics, **overrides})


async def until_cancelled(work: Awaitable[ResultT], signal: CancelSignal) -> ResultT:
    """The result of `work`, which is stopped and waited for as soon as the signal is given.

    It runs in the calling task and begins at once: nothing comes between a look at a budget and the work's first step.

    Raises:
        OperationCancelledError: The signal was given before `work` had ended, or before it began.
    """
    if signal.cancelled and inspect.iscoroutine(work):
        work.close()  # or Python warns that nobody awaited it
    signal.raise_if_cancelled()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 (a coroutine runs in a task; tells the type checker)
    cancels_before = task.cancelling()
    watching = asyncio.create_task(_cancel_on(signal, task))
    try:
        result = await work
    except asyncio.CancelledError:
        if _gave_cancel(watching) and task.uncancel() <= cancels_before:
            signal.raise_if_cancelled()
        raise
    finally:
        watching.cancel()
    if _gave_cancel(watching):
        task.uncancel()
        signal.raise_if_cancelled()
    return result


async def _cancel_on(signal: CancelSignal, task: asyncio.Task[Any]) -> None:
    await signal.wait()
    task.cancel()


def _gave_cancel(watching: asyncio.Task[None]) -> bool:
    return watching.done() and not watching.cancelled() and watching.exception() is None
