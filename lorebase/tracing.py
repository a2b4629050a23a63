"""What is being worked on: facts that log lines carry, and spans and counts for whoever watches.

A piece of work enters a `scope`; everything below it, in tasks and threads that inherit the context, knows its facts.
Nobody watches by default: then a scope costs two context variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

Fact = str | int | float | bool
Facts = Mapping[str, Fact]


class Observer(Protocol):
    """Watches work. Must return quickly and must not raise."""

    def span(self, name: str, facts: Facts) -> AbstractContextManager[object]:
        """A context for one piece of work, which sees the exception that leaves it."""
        ...

    def count(self, name: str, amount: float, facts: Facts) -> None:
        """So many more of something; `amount` is never negative."""
        ...

    def trace_ids(self) -> tuple[str, str]:
        """Ids of the trace and the span of this context, as hexadecimal numbers; empty where there is none."""
        ...


class NoObserver:
    """Watches nothing."""

    def span(self, name: str, facts: Facts) -> AbstractContextManager[object]:
        """A context that does nothing."""
        del name, facts
        return nullcontext()

    def count(self, name: str, amount: float, facts: Facts) -> None:
        """Nothing."""

    def trace_ids(self) -> tuple[str, str]:
        """None."""
        return "", ""


_NOBODY = NoObserver()
_FACTS: ContextVar[Facts] = ContextVar("facts", default={})  # noqa: B039 (a Mapping: it is replaced, never changed)
_OBSERVER: ContextVar[Observer] = ContextVar("observer", default=_NOBODY)


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Work in this context is watched by `observer`."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


@contextmanager
def scope(name: str, **facts: Fact) -> Iterator[None]:
    """One piece of work.

    Args:
        name: Such as "lorebase.step".
        facts: What it is, beside the facts of the work around it; no contents and no secrets.
    """
    token = _FACTS.set({**_FACTS.get(), **facts})
    try:
        with _OBSERVER.get().span(name, facts):
            yield
    finally:
        _FACTS.reset(token)


def count(name: str, amount: float, **facts: Fact) -> None:
    """Count something for whoever watches; nothing where `amount` is 0."""
    if amount:
        _OBSERVER.get().count(name, amount, facts)


def facts_now() -> Facts:
    """Facts of the work around this call, the trace among them where there is one."""
    trace_id, span_id = _OBSERVER.get().trace_ids()
    ids = {"trace_id": trace_id, "span_id": span_id} if trace_id else {}
    return {**_FACTS.get(), **ids}


def is_observed() -> bool:
    """Whether somebody watches already."""
    return not isinstance(_OBSERVER.get(), NoObserver)
