"""Workflow and loop: the fixed nodes of a kind of run, and the record of each visit that one run makes to them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeAlias, TypeVar

from lorebase.clock import Clock
from lorebase.errors import InvalidDefinitionError, OperationCancelledError
from lorebase.operation.catalogs import checked_id, unknown_id
from lorebase.operation.context import OperationContext

AppT = TypeVar("AppT")

VisitOutcome: TypeAlias = Literal["completed", "unavailable", "failed", "timed_out", "cancelled"]


@dataclass(frozen=True, slots=True)
class Workflow:
    """The nodes that runs of one kind may visit, compiled once and never changed.

    Attributes:
        name: What the runs are.
        nodes: Names of the nodes, in the order in which a run comes to them first.

    Raises:
        InvalidDefinitionError: No node, a blank name, or one that is there twice.
    """

    name: str
    nodes: tuple[str, ...]

    def __post_init__(self) -> None:
        names = [checked_id(node, "node") for node in self.nodes]
        if not names or len(set(names)) < len(names):
            raise InvalidDefinitionError(f"Workflow {self.name} has no nodes or the same one twice: {names}.")


@dataclass(frozen=True, slots=True)
class NodeVisit:
    """One visit of a run to a node.

    Attributes:
        node: Name of the node.
        attempt: Which visit of the run to that node, from 1.
        item_ids: What it was about, in order.
        started_at: When it began.
        ended_at: When it ended.
        outcome: How; "unavailable" is for a node that had to do without what it calls.
    """

    node: str
    attempt: int
    item_ids: tuple[str, ...]
    started_at: datetime
    ended_at: datetime
    outcome: VisitOutcome


@dataclass(slots=True)
class OpenVisit(Generic[AppT]):
    """A visit under way.

    Attributes:
        context: The run's context with diagnostics of the node's own scope, `node#attempt`.
        outcome: How it will be recorded, unless an exception ends it.
    """

    context: OperationContext[AppT]
    outcome: VisitOutcome = "completed"


class Loop(Generic[AppT]):
    """Records the visits of one run, in the order in which they end, and in the run's diagnostics (NODE_VISITED)."""

    def __init__(self, workflow: Workflow, context: OperationContext[AppT], clock: Clock) -> None:
        self._workflow = workflow
        self._context = context
        self._clock = clock
        self._attempts: Counter[str] = Counter()
        self._visits: list[NodeVisit] = []

    @property
    def visits(self) -> tuple[NodeVisit, ...]:
        """The visits that have ended."""
        return tuple(self._visits)

    @contextmanager
    def visit(self, node: str, item_ids: Sequence[str]) -> Iterator[OpenVisit[AppT]]:
        """Visit a node; recorded however it ends.

        Raises:
            UnknownIdError: The workflow has no such node.
            OperationCancelledError: The run is no longer wanted: before the visit, which is not made, or by its end.
        """
        if node not in self._workflow.nodes:
            raise unknown_id("node", node, self._workflow.nodes)
        self._context.signal.raise_if_cancelled()
        self._attempts[node] += 1
        attempt = self._attempts[node]
        visit = OpenVisit(self._context.derive(f"{node}#{attempt}"))
        started_at = self._clock.now()
        outcome: VisitOutcome = "failed"
        try:
            yield visit
            self._context.signal.raise_if_cancelled()
            outcome = visit.outcome
        except (asyncio.CancelledError, OperationCancelledError):
            outcome = "cancelled"
            raise
        except TimeoutError:
            outcome = "timed_out"
            raise
        finally:
            self._record(NodeVisit(node, attempt, tuple(item_ids), started_at, self._clock.now(), outcome))

    def _record(self, visit: NodeVisit) -> None:
        self._visits.append(visit)
        self._context.diagnostics.record(
            "NODE_VISITED",
            f"Visit {visit.attempt} to {visit.node} {visit.outcome.replace('_', ' ')}.",
            node=visit.node,
            attempt=visit.attempt,
            item_ids=list(visit.item_ids),
            started_at=visit.started_at.isoformat(),
            ended_at=visit.ended_at.isoformat(),
            outcome=visit.outcome,
        )
