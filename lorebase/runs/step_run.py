"""One step of a build, from its inputs to its sealed artifact and its record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import ArtifactReference, Manifest, by_index, read_manifest, write_manifest
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.clock import Clock
from lorebase.errors import BudgetExceededError, BuildFailedError, CorruptObjectError
from lorebase.fingerprint import fingerprint
from lorebase.models.ports import ModelUsage
from lorebase.recipes.expansion import PlannedStep
from lorebase.runs.budget import Spending, in_words
from lorebase.runs.executor import StepExecutor
from lorebase.runs.groups import (
    FinishedPartition,
    GroupRecord,
    GroupRunner,
    PartitionResult,
    PartitionWork,
    RunTraits,
    StepWork,
    finished_partitions,
)
from lorebase.runs.planning import (
    WEIGHT_OF_A_TASK_RUN,
    group_partitions,
    partitions_of_step,
    step_fingerprint,
    step_identity,
    why_it_runs,
)
from lorebase.runs.progress import BuildProgress
from lorebase.runs.records import (
    ISSUES_KEPT,
    RecipeRunRecord,
    StepCounts,
    StepRunRecord,
    count_by_code,
    merge_counts,
)
from lorebase.runs.scratch import ScratchStore
from lorebase.runs.step import StepExecutionContext


@dataclass(frozen=True)
class StepServices:
    """What all steps of a build share.

    Attributes:
        previous: The run whose finished steps are skipped; None skips none.
        known: The run that reasons ("settings changed") compare with.
        rebuild: Whether finished work is done again.
        planning: Whether steps only say what they would do.
        source_changes: How the documents differ from the known run, for reasons; empty where that is not known.
        task_run_weight: Chunks that one task run takes on.
    """

    store: ObjectStore
    layout: BaseLayout
    context: StepExecutionContext
    executor: StepExecutor
    progress: BuildProgress
    clock: Clock
    partition_count: int
    previous: RecipeRunRecord | None = None
    known: RecipeRunRecord | None = None
    rebuild: bool = False
    planning: bool = False
    source_changes: str = ""
    task_run_weight: float = WEIGHT_OF_A_TASK_RUN


@dataclass(frozen=True)
class StepInputs:
    """The artifacts that a step reads, by name: their manifests and their references."""

    manifests: Mapping[str, Manifest]
    references: Mapping[str, ArtifactReference]


@dataclass(frozen=True)
class StepOutcome:
    """What a step left."""

    record: StepRunRecord
    manifest: Manifest
    reference: ArtifactReference


@dataclass(frozen=True)
class StepRun:
    """Plans, runs and seals one step."""

    services: StepServices
    planned: PlannedStep

    def begin(self, inputs: StepInputs) -> StepRunRecord:
        """The record of the step as it begins."""
        services, step = self.services, self.planned.step
        identity = step_identity(step, services.context)
        before = self._step_before(identity)
        said = {SOURCE_DOCUMENTS.name: services.source_changes or SOURCE_DOCUMENTS.name}
        changed = [
            said.get(name, name)
            for name, reference in inputs.references.items()
            if before is not None
            and reference.fingerprint not in {known.fingerprint for known in before.input_artifacts}
        ]
        return StepRunRecord(
            index=self.planned.index,
            step_name=self.planned.name,
            step_type=step.type_name,
            status="running",
            step_fingerprint=step_fingerprint(identity),
            identity=identity,
            reason="asked to build everything again" if services.rebuild else why_it_runs(before, identity, changed),
            started_at=services.clock.now(),
            input_artifacts=tuple(inputs.references.values()),
        )

    async def run(self, record: StepRunRecord, inputs: StepInputs) -> StepOutcome:
        """Do the step, or take it from a run before.

        Raises:
            BuildFailedError: More items failed than the step allows, or all of them.
            BudgetExceededError: The next call to a model would pass the budget; says what remains to do.
            LorebaseError: A task run failed after its retries.
        """
        services = self.services
        skipped = await asyncio.to_thread(self._taken_from_previous, record)
        if skipped is not None:
            await services.progress.step_started(skipped.record, 0, 0)
            await services.executor.reuse_step(self._work(record, [], []))
            return skipped
        works = partitions_of_step(self.planned.step, record.step_fingerprint, inputs.manifests)
        finished = {} if services.rebuild else await asyncio.to_thread(self._finished, record)
        todo = [work for work in works if work.key not in finished]
        reused = [finished[work.key] for work in works if work.key in finished]
        work = self._work(record, todo, reused)
        await services.progress.step_started(record, sum(_first_rows(item) for item in todo), len(work.groups))
        try:
            made = await self._execute(work) if work.groups else []
        except BudgetExceededError as error:
            raise await self._with_remainder(error, work) from error
        if not work.groups:
            await services.executor.reuse_step(work)
        self._check_failures([*made, *(partition.result for partition in reused)])
        return await asyncio.to_thread(self._seal, record, made, reused, len(work.groups))

    async def _execute(self, work: StepWork) -> list[PartitionResult]:
        services = self.services
        runner = GroupRunner(
            services.store,
            services.layout,
            work,
            services.context,
            rebuild=services.rebuild,
            planning=services.planning,
        )

        async def done(group: GroupRecord) -> None:
            await services.progress.step_advanced(work.name, sum(result.counts.items for result in group.partitions))

        records = await services.executor.run_step(work, self.planned.spec, runner.run, done)
        return [result for record in records for result in record.partitions]

    async def _with_remainder(self, error: BudgetExceededError, work: StepWork) -> BudgetExceededError:
        """The error with what the step still has to do, as a plan would say it."""
        services = self.services
        with ScratchStore(services.store) as scratch:
            runner = GroupRunner(scratch, services.layout, work, services.context, planning=True)
            records = [await runner.run(group) for group in work.groups]
        rest = sum((result.counts for record in records for result in record.partitions), StepCounts())
        usage = ModelUsage(rest.model_calls, rest.input_tokens, rest.output_tokens)
        return BudgetExceededError(
            f"{error.message} {self.planned.name} still has {rest.computed_items:,} {self.planned.step.item_name} "
            f"to do: {in_words(Spending(usage, rest.usd))}.",
            remedy=error.remedy,
            **error.facts,
            remaining_items=rest.computed_items,
            remaining_model_calls=rest.model_calls,
            remaining_tokens=rest.input_tokens + rest.output_tokens,
            remaining_usd=rest.usd,
        )

    def _finished(self, record: StepRunRecord) -> dict[str, FinishedPartition]:
        return finished_partitions(self.services.store, self.services.layout, record.step_fingerprint)

    def _work(
        self, record: StepRunRecord, todo: Sequence[PartitionWork], reused: Sequence[FinishedPartition]
    ) -> StepWork:
        inputs = [reference.fingerprint for reference in record.input_artifacts]
        return StepWork(
            name=self.planned.name,
            index=self.planned.index,
            step=self.planned.step,
            fingerprint=record.step_fingerprint,
            task_key=fingerprint("step-with-inputs", record.step_fingerprint, inputs),
            input_artifacts=tuple(reference.artifact for reference in record.input_artifacts),
            groups=group_partitions(todo, self.services.task_run_weight),
            finished_groups=tuple(dict.fromkeys(partition.group_key for partition in reused)),
            traits=RunTraits(
                self.services.context.run_id, self.services.rebuild, self.services.context.stages_searchable
            ),
        )

    def _check_failures(self, results: Sequence[PartitionResult]) -> None:
        """Hold the step to its failure policy, over everything it has to answer for, finished before or now."""
        counts = sum((result.counts for result in results), StepCounts())
        missing = counts.failed_items + counts.unreadable_items
        if not missing:
            return
        name, items = self.planned.name, self.planned.step.item_name
        codes = merge_counts(result.issues_by_code for result in results)
        found = ", ".join(f"{code} {count}" for code, count in codes.items())
        example = next((issue.message for result in results for issue in result.issues), "")
        if missing == counts.items:
            raise BuildFailedError(
                f"{name}: all {counts.items} {items} failed ({found}).", remedy=f"The first: {example}", issues=codes
            )
        share, limit = counts.failed_items / counts.items, self.planned.spec.max_failed_share
        if share > limit:
            raise BuildFailedError(
                f"{name}: {counts.failed_items} of {counts.items} {items} failed ({found}), "
                f"which is {share:.1%} where at most {limit:.1%} may.",
                remedy=f"Raise max_failed_share of the step, or look at the first: {example}",
                issues=codes,
            )

    def _seal(
        self,
        record: StepRunRecord,
        made: Sequence[PartitionResult],
        reused: Sequence[FinishedPartition],
        task_runs: int,
    ) -> StepOutcome:
        services = self.services
        results = [*made, *(partition.result for partition in reused)]
        manifest = Manifest(
            artifact=self.planned.step.produces.name,
            step_fingerprint=record.step_fingerprint,
            partition_count=services.partition_count,
            partitions=by_index(result.entry for result in results if result.entry.rows or result.entry.failed_items),
        )
        reference = write_manifest(services.store, services.layout, manifest)
        counts = sum((result.counts for result in made), StepCounts())
        counts += _as_reused(sum((partition.result.counts for partition in reused), StepCounts()))
        counts = with_spending(counts, services.context.budget.spent_by(self.planned.name))
        skipped = not made and bool(reused)
        taken_from = max((partition.run_id for partition in reused), default="") if skipped else ""
        notices = self.planned.step.notices(services.context)
        issues = (*notices, *(issue for result in results for issue in result.issues))[:ISSUES_KEPT]
        ended = record.model_copy(
            update={
                "status": "skipped" if skipped else "succeeded",
                "reason": f"every partition was finished by run {taken_from}" if skipped else record.reason,
                "taken_from_run": taken_from,
                "finished_at": services.clock.now(),
                "output_artifacts": (reference,),
                "counts": counts.model_copy(update={"task_runs": task_runs}),
                "issues": issues,
                "issues_by_code": merge_counts(
                    [count_by_code(notices), *(result.issues_by_code for result in results)]
                ),
            }
        )
        return StepOutcome(ended, manifest, reference)

    def _step_before(self, identity: Mapping[str, str]) -> StepRunRecord | None:
        """The step that this one is compared with: of the same name, else of the same type."""
        known = self.services.known
        if known is None:
            return None
        records = known.step_records
        same_name = [record for record in records if record.step_name == self.planned.name and record.identity]
        same_type = [record for record in records if record.step_type == identity["type"] and record.identity]
        return next(iter(same_name + same_type), None)

    def _taken_from_previous(self, record: StepRunRecord) -> StepOutcome | None:
        """The outcome of the same step on the same inputs in the previous run, if it is whole."""
        previous = self.services.previous
        if previous is None or self.services.rebuild:
            return None
        inputs = [reference.fingerprint for reference in record.input_artifacts]
        for known in previous.step_records:
            if (
                known.step_fingerprint != record.step_fingerprint
                or known.status not in {"succeeded", "skipped"}
                or known.counts.failed_items
                or [reference.fingerprint for reference in known.input_artifacts] != inputs
                or not known.output_artifacts
            ):
                continue
            reference = known.output_artifacts[0]
            try:
                manifest = read_manifest(self.services.store, reference)
            except CorruptObjectError:
                continue
            taken_from = known.taken_from_run or previous.run_id
            finished = record.model_copy(
                update={
                    "status": "skipped",
                    "reason": f"nothing it depends on has changed since run {taken_from}",
                    "taken_from_run": taken_from,
                    "finished_at": self.services.clock.now(),
                    "output_artifacts": known.output_artifacts,
                    "counts": _as_reused(known.counts),
                    "issues": known.issues,
                    "issues_by_code": known.issues_by_code,
                }
            )
            return StepOutcome(finished, manifest, reference)
        return None


def with_spending(counts: StepCounts, spent: Spending) -> StepCounts:
    """Counts that include what was spent by task runs which failed and left no report."""
    return counts.model_copy(
        update={
            "model_calls": max(counts.model_calls, spent.usage.calls),
            "input_tokens": max(counts.input_tokens, spent.usage.input_tokens),
            "output_tokens": max(counts.output_tokens, spent.usage.output_tokens),
            "usd": max(counts.usd, spent.usd),
        }
    )


def _first_rows(work: PartitionWork) -> int:
    """Rows of the first required artifact: what progress counts."""
    return sum(entry.rows for entry in next(iter(work.inputs.values())))


def _as_reused(counts: StepCounts) -> StepCounts:
    """The counts of finished work, as the run that reuses it reports them: nothing was computed or paid."""
    return StepCounts(
        documents=counts.documents,
        rows=counts.rows,
        items=counts.items,
        reused_items=counts.items,
        failed_items=counts.failed_items,
        unreadable_items=counts.unreadable_items,
        partitions=counts.partitions,
        reused_partitions=counts.partitions,
    )
