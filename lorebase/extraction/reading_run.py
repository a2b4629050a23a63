"""One task run of an extraction step: which items are known, which are read now, and what is reported of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.errors import DependencyError, LorebaseError
from lorebase.extraction.items import ExtractionItem
from lorebase.extraction.readers import MentionRow, ModelReader, RuleReader
from lorebase.models.chat import CHAT_ROLE, concerns_one_request
from lorebase.models.ports import ModelUsage
from lorebase.runs.budget import RunBudget
from lorebase.runs.executor import first_failure
from lorebase.runs.records import Issue
from lorebase.runs.step import Partition, PartitionReport

_RULE_BATCH_ITEMS = 64
_MODEL_BATCH_ROWS = 16
"""Rows of answers that are written down together; until then the call ledger of the model holds what is paid for."""


@dataclass
class ReadingRun:
    """What comes together while the chunks of a task run are read.

    Attributes:
        partition: Any of the run's partitions: they share one ledger.
        kind: Kind of the rows.
        items: Items of each partition.
        todo: The distinct items that the ledger does not hold.
        known: Keys of those that it holds.
        rows: Rows by key.
        failures: Why items have no row, by key.
        usage: What models took.
        stopped_by: Why nothing more is asked.
        unrecorded: Rows that the ledger has not been told yet.
    """

    partition: Partition
    kind: ArtifactKind[Any]
    items: Sequence[Sequence[ExtractionItem]]
    todo: Sequence[ExtractionItem]
    known: frozenset[str]
    rows: dict[str, MentionRow]
    failures: dict[str, DependencyError] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)
    stopped_by: LorebaseError | None = None
    unrecorded: list[MentionRow] = field(default_factory=list)

    @classmethod
    async def begin(
        cls,
        partitions: Sequence[Partition],
        kind: ArtifactKind[Any],
        items_of: Callable[[Partition], Sequence[ExtractionItem]],
    ) -> ReadingRun:
        """Look up what is paid for already.

        Args:
            partitions: Partitions of the task run.
            kind: Kind of the rows.
            items_of: Items of a partition.
        """
        items = [await asyncio.to_thread(items_of, partition) for partition in partitions]
        distinct = {item.key: item for part in reversed(items) for item in reversed(part)}
        found = await asyncio.to_thread(partitions[0].finished, kind, list(distinct))
        todo = [item for key, item in reversed(distinct.items()) if key not in found]
        return cls(partitions[0], kind, items, todo, frozenset(found), dict(found))

    async def read_by_model(self, reader: ModelReader) -> None:
        """Ask the model about every item, a few at once. The call ledger of the model writes each answer down at once.

        When the model answers nobody, questions under way are waited for, so that no answer that is paid for is lost.

        Raises:
            DependencyError: The model answers nobody; what concerns one item only is among `failures`.
            BudgetExceededError: The next question would pass the budget.
        """
        waiting = iter(self.todo)
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(reader.concurrency + 1, len(self.todo))):  # one more writes down what was answered
                    workers.create_task(self._work(waiting, reader))
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None  # retries look at its class
        finally:
            # In this thread, because a cancelled task cannot wait.
            self.partition.record(self.kind, self.unrecorded)
        if self.stopped_by is not None:
            raise self.stopped_by

    async def _work(self, waiting: Iterator[ExtractionItem], reader: ModelReader) -> None:
        for item in waiting:
            if self.stopped_by is not None:
                return
            row = reader.without_asking(item)
            if row is not None:
                self.rows[item.key] = row
                continue
            try:
                await self._ask(item, reader)
            except LorebaseError as error:
                self._stop(error)

    def _stop(self, error: LorebaseError) -> None:
        self.stopped_by = self.stopped_by or error

    async def _ask(self, item: ExtractionItem, reader: ModelReader) -> None:
        try:
            row, usage = await reader.read(item)
        except DependencyError as error:
            if not concerns_one_request(error):
                raise
            self.failures[item.key] = error
            self.usage += _usage_told(error)
            return
        self.rows[item.key] = row
        self.usage += usage
        self.unrecorded.append(row)
        if len(self.unrecorded) >= _MODEL_BATCH_ROWS:
            rows, self.unrecorded = self.unrecorded, []
            await asyncio.to_thread(self.partition.record, self.kind, rows)

    async def read_by_rules(self, reader: RuleReader) -> None:
        """Read every item by rule."""
        for start in range(0, len(self.todo), _RULE_BATCH_ITEMS):
            batch = self.todo[start : start + _RULE_BATCH_ITEMS]
            rows = await asyncio.to_thread(_read_all, reader, batch)
            self.rows.update((row.key, row) for row in rows)
            await asyncio.to_thread(self.partition.record, self.kind, rows)

    def pretend(self, reader: ModelReader) -> None:
        """Count what the model would be asked, and let other rows stand for its answers."""
        for item in self.todo:
            row = reader.without_asking(item)
            if row is None:
                self.usage += reader.expected(item)
                row = reader.stand_in(item)
            self.rows[item.key] = row

    def reports(
        self,
        budget: RunBudget,
        issue_of: Callable[[ExtractionItem, DependencyError], Issue],
        issue_of_dropped: Callable[[Sequence[MentionRow], Sequence[ExtractionItem]], Issue],
    ) -> list[PartitionReport[Any]]:
        """A report for each partition, in order; the first bears what the models took."""
        first_of: dict[str, int] = {}
        for number, items in enumerate(self.items):
            for item in items:
                first_of.setdefault(item.key, number)
        reports = []
        for number, items in enumerate(self.items):
            read = [item for item in items if item.key in self.rows]
            rows = [_row_of(item, self.rows[item.key]) for item in read]
            issues = [issue_of(item, self.failures[item.key]) for item in items if item.key in self.failures]
            from_ledger = sum(item.key in self.known or first_of[item.key] != number for item in read)
            if any(row.dropped for row in rows):
                issues.append(issue_of_dropped(rows, read))
            usage = self.usage if number == 0 else ModelUsage()
            reports.append(
                PartitionReport(
                    rows=rows,
                    items=len(items),
                    computed_items=len(items) - from_ledger,
                    ledger_items=from_ledger,
                    failed_items=len(items) - len(rows),
                    documents=len({item.chunk.document_id for item in items}),
                    usage=usage,
                    usd=budget.cost_usd(CHAT_ROLE, usage),
                    issues=tuple(issues),
                )
            )
        return reports


def _read_all(reader: RuleReader, items: Sequence[ExtractionItem]) -> list[MentionRow]:
    return [reader.read(item) for item in items]


def _row_of(item: ExtractionItem, row: MentionRow) -> MentionRow:
    """The row of an item that was read in whatever chunk, as that of its own chunk."""
    return replace(row, chunk_id=item.chunk.chunk_id, document_id=item.chunk.document_id)


def _usage_told(error: DependencyError) -> ModelUsage:
    told = (error.facts.get(name, 0) for name in ("calls", "input_tokens", "output_tokens"))
    return ModelUsage(*(amount if isinstance(amount, int) else 0 for amount in told))
