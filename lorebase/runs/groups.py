"""One task run of a step: a group of partitions, worked on together, its record written when all of them are sealed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.artifacts.ledger import Ledger
from lorebase.artifacts.manifest import PartitionEntry, read_partition, write_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import BuildFailedError, NotFoundError
from lorebase.runs.records import Issue, StepCounts, count_by_code
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext
from lorebase.tracing import scope

ISSUES_KEPT_A_PARTITION = 50


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PartitionResult(_Frozen):
    """One finished partition of a step."""

    entry: PartitionEntry
    counts: StepCounts = StepCounts()
    issues: tuple[Issue, ...] = ()
    issues_by_code: dict[str, int] = Field(default_factory=dict)


class GroupRecord(_Frozen):
    """What one task run has finished."""

    group_key: str
    step_fingerprint: str
    run_id: str
    partitions: tuple[PartitionResult, ...]


@dataclass(frozen=True, slots=True)
class PartitionWork:
    """A partition that a step has to make.

    Attributes:
        index: Its number.
        key: Fingerprint of step and inputs.
        inputs: Entries of the artifacts that are read, by artifact name: one, or every one for a step that spans
            partitions; an artifact without that partition is absent.
        weight: Rough size of the work, in chunks.
    """

    index: int
    key: str
    inputs: Mapping[str, tuple[PartitionEntry, ...]]
    weight: float


@dataclass(frozen=True)
class GroupWork:
    """Partitions that one task run makes.

    Attributes:
        key: Fingerprint of what is in it.
        label: Which part of the step it is, for people: "2 of 5".
        partitions: In order.
    """

    key: str
    label: str
    partitions: tuple[PartitionWork, ...]


@dataclass(frozen=True, slots=True)
class RunTraits:
    """What of a build its task runs must know in whatever process they run.

    Attributes:
        run_id: The run; it holds the lease of the base.
        rebuild: Whether items that are paid for are done again.
        stages_searchable: As `StepExecutionContext.stages_searchable`.
    """

    run_id: str = ""
    rebuild: bool = False
    stages_searchable: bool = False


@dataclass(frozen=True)
class StepWork:
    """A step whose inputs are known.

    Attributes:
        name: Its name in the recipe.
        index: Its place in the recipe.
        step: The step.
        fingerprint: Its identity without inputs.
        task_key: Its identity with inputs.
        input_artifacts: Names of the artifacts it reads.
        groups: Task runs that it needs; none where everything is finished.
        finished_groups: Keys of task runs of earlier builds whose partitions are taken as they are.
        traits: What the build tells its task runs.
    """

    name: str
    index: int
    step: Step
    fingerprint: str
    task_key: str
    input_artifacts: tuple[str, ...]
    groups: tuple[GroupWork, ...] = ()
    finished_groups: tuple[str, ...] = ()
    traits: RunTraits = RunTraits()


class GroupRunner:
    """Runs groups of one step in this process.

    One for a step and a build: it holds the step's ledger.

    Args:
        store: Where artifacts are.
        layout: Keys of the knowledge base.
        work: The step.
        context: What the step gets.
        rebuild: Whether items that are paid for are done again.
        planning: Whether the step only says what it would do.
    """

    def __init__(
        self,
        store: ObjectStore,
        layout: BaseLayout,
        work: StepWork,
        context: StepExecutionContext,
        *,
        rebuild: bool = False,
        planning: bool = False,
    ) -> None:
        self._store = store
        self._layout = layout
        self._work = work
        self._context = context
        self._rebuild = rebuild
        self._act = work.step.plan_partitions if planning else work.step.run_partitions
        kind = work.step.produces
        self._ledger: Ledger[Any] | None = None
        if kind.item_key is not None:
            self._ledger = Ledger(
                store,
                layout,
                kind,
                work.fingerprint,
                segment_items=work.step.segment_items,
                segment_seconds=work.step.segment_seconds,
            )

    async def run(self, group: GroupWork) -> GroupRecord:
        """Make the partitions of a group.

        Raises:
            LorebaseError: A partition failed; none of the group is recorded, finished items stay in the ledger.
        """
        with scope("lorebase.partitions", partition=group.label):
            return await self._run(group)

    async def _run(self, group: GroupWork) -> GroupRecord:
        writer = self._ledger.writer(group.key) if self._ledger else None
        inputs = await asyncio.to_thread(self._read_inputs, group)
        known = None if self._rebuild else self._ledger
        partitions = [
            Partition(work.index, self._work.name, rows, known, writer)
            for work, rows in zip(group.partitions, inputs, strict=True)
        ]
        try:
            reports = await self._act(partitions, self._context)
        except BaseException:
            if writer is not None:
                # In this thread, because a cancelled task cannot wait: what is paid for must reach the store.
                writer.flush()
            raise
        if len(reports) != len(partitions):
            raise BuildFailedError(f"{self._work.name} reported {len(reports)} of {len(partitions)} partitions.")
        return await asyncio.to_thread(self._seal, group, reports)

    def _read_inputs(self, group: GroupWork) -> list[dict[str, list[Any]]]:
        return [
            {
                kind.name: [
                    row
                    for entry in work.inputs.get(kind.name, ())
                    for row in read_partition(self._store, self._layout, kind, entry)
                ]
                for kind in self._work.step.reads()
            }
            for work in group.partitions
        ]

    def _seal(self, group: GroupWork, reports: Sequence[PartitionReport[Any]]) -> GroupRecord:
        kind: ArtifactKind[Any] = self._work.step.produces
        results = []
        for work, report in zip(group.partitions, reports, strict=True):
            entry = write_partition(
                self._store,
                self._layout,
                kind,
                work.index,
                report.rows,
                key=work.key,
                failed_items=report.failed_items,
            )
            if self._ledger is not None:
                self._ledger.seal(entry, report.rows)
            results.append(_result_of(entry, report))
        record = GroupRecord(
            group_key=group.key,
            step_fingerprint=self._work.fingerprint,
            run_id=self._context.run_id,
            partitions=tuple(results),
        )
        key = self._layout.group_record(self._work.fingerprint, group.key)
        self._store.put(key, record.model_dump_json(exclude_defaults=True).encode())
        if self._ledger is not None:
            self._ledger.drop_segments(group.key)
        return record


def reference_of(record: GroupRecord) -> str:
    """A record's key, step and counts as JSON: a few hundred characters that lead to it in the object store."""
    counts = [result.counts for result in record.partitions]
    reference = {
        "group": record.group_key,
        "step": record.step_fingerprint,
        "run": record.run_id,
        "partitions": len(record.partitions),
        "rows": sum(count.rows for count in counts),
        "items": sum(count.items for count in counts),
        "failed_items": sum(count.failed_items for count in counts),
    }
    return json.dumps(reference)


def read_group_record(store: ObjectStore, layout: BaseLayout, step_digest: str, group_key: str) -> GroupRecord:
    """What a task run has finished, as it lies in the object store.

    Raises:
        NotFoundError: It has not finished, or elsewhere.
    """
    return GroupRecord.model_validate_json(store.get(layout.group_record(step_digest, group_key)))


def _result_of(entry: PartitionEntry, report: PartitionReport[Any]) -> PartitionResult:
    return PartitionResult(
        entry=entry,
        counts=StepCounts(
            documents=report.documents,
            rows=len(report.rows),
            items=report.items,
            computed_items=report.computed_items,
            ledger_items=report.ledger_items,
            failed_items=report.failed_items,
            unreadable_items=report.unreadable_items,
            partitions=1,
            model_calls=report.usage.calls,
            input_tokens=report.usage.input_tokens,
            output_tokens=report.usage.output_tokens,
            cached_calls=report.usage.cached_calls,
            usd=report.usd,
        ),
        issues=report.issues[:ISSUES_KEPT_A_PARTITION],
        issues_by_code=count_by_code(report.issues),
    )


@dataclass(frozen=True, slots=True)
class FinishedPartition:
    """A partition that needs no work, with the run and the task run that made it."""

    result: PartitionResult
    run_id: str
    group_key: str


def finished_partitions(store: ObjectStore, layout: BaseLayout, step_digest: str) -> dict[str, FinishedPartition]:
    """Partitions that task runs of a step have finished, by partition key.

    A partition with failed items is not finished: the next build tries those items again.
    """
    found: dict[str, FinishedPartition] = {}
    for key in store.list(layout.group_records(step_digest)):
        try:
            record = GroupRecord.model_validate_json(store.get(key))
        except (NotFoundError, ValidationError):
            continue
        for result in record.partitions:
            if result.entry.failed_items == 0:
                found[result.entry.key] = FinishedPartition(result, record.run_id, record.group_key)
    return found
