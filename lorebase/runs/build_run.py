"""One build from its first state to its record: its steps as their inputs come in, then the switch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.artifacts.lease import Lease
from lorebase.artifacts.manifest import ArtifactReference, Manifest, read_manifest, write_manifest
from lorebase.artifacts.snapshots import Snapshot, SnapshotPointer, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.clock import Clock
from lorebase.errors import CorruptObjectError, LorebaseError, MissingArtifactError
from lorebase.recipes.expansion import PlannedStep
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.runs.capabilities import capabilities_of
from lorebase.runs.changes import document_changes
from lorebase.runs.derived import DerivedTables, stage_tables
from lorebase.runs.executor import StepExecutor, first_failure
from lorebase.runs.journal import RunJournal
from lorebase.runs.measures import count_step
from lorebase.runs.planning import WEIGHT_OF_A_TASK_RUN
from lorebase.runs.progress import BuildProgress
from lorebase.runs.records import (
    ISSUES_KEPT,
    Capabilities,
    ErrorRecord,
    Issue,
    RecipeRunRecord,
    RecipeRunResult,
    RecipeRunState,
    RunStatus,
    StepRunRecord,
    Subject,
    count_by_code,
    merge_counts,
)
from lorebase.runs.scanning import SourceReader, write_source_manifest
from lorebase.runs.step import StepExecutionContext
from lorebase.runs.step_run import StepInputs, StepOutcome, StepRun, StepServices, with_spending
from lorebase.runs.switching import SnapshotSwitch
from lorebase.tracing import scope


@dataclass(frozen=True)
class BuildServices:
    """What a build works with. A build that is only planned has no lease."""

    store: ObjectStore
    layout: BaseLayout
    context: StepExecutionContext
    reader: SourceReader
    executor: StepExecutor
    progress: BuildProgress
    clock: Clock
    lease: Lease | None
    tables: Sequence[DerivedTables] = ()


class StopBuildError(Exception):
    """Carries the failure of a step out of the steps that run beside it."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """What a build would do, as its records would say it.

    Attributes:
        state: The run's state before its switch to the new snapshot.
        live: The snapshot that is live now.
        index_changes: Chunks that would become searchable and that would cease to be, by index step; empty where a step
            would fail.
    """

    state: RecipeRunState
    live: Snapshot | None
    index_changes: dict[str, tuple[int, int]]


class BuildRun:
    """One build. Used once."""

    def __init__(
        self,
        services: BuildServices,
        recipe: KnowledgeRecipe,
        planned: Sequence[PlannedStep],
        *,
        known: RecipeRunRecord | None,
        skip_succeeded_steps: bool,
        stop_on_error: bool,
        rebuild: bool,
        planning: bool = False,
        activates: bool = True,
        task_run_weight: float = WEIGHT_OF_A_TASK_RUN,
    ) -> None:
        self._services = services
        self._recipe = recipe
        self._planned = planned
        self._stop_on_error = stop_on_error
        self._activates = activates
        self._journal = RunJournal(services.store, services.layout)
        self._snapshots = SnapshotStore(services.store, services.layout)
        self._saving = asyncio.Lock()
        self._outcomes: dict[str, asyncio.Future[StepOutcome | None]] = {}
        self._scan_issues: list[Issue] = []
        self._step_services = StepServices(
            store=services.store,
            layout=services.layout,
            context=services.context,
            executor=services.executor,
            progress=services.progress,
            clock=services.clock,
            partition_count=recipe.partitions,
            previous=known if skip_succeeded_steps else None,
            known=known,
            rebuild=rebuild,
            planning=planning,
            task_run_weight=task_run_weight,
        )
        self._state = RecipeRunState(
            run_id=services.context.run_id,
            base_name=recipe.name,
            recipe_fingerprint=recipe.fingerprint,
            status="running",
            started_at=services.clock.now(),
            step_records=tuple(
                StepRunRecord(index=step.index, step_name=step.name, step_type=step.step.type_name, status="pending")
                for step in planned
            ),
        )

    async def run(self) -> RecipeRunResult:
        """Build, and record how it ended, whatever happens."""
        names = tuple(step.name for step in self._planned)
        await asyncio.to_thread(self._journal.begin, self._state)
        await self._services.progress.build_started(self._recipe.name, self._state.run_id, names)
        try:
            pointer = await asyncio.to_thread(self._snapshots.pointer)
            if pointer is None and self._activates:
                self._stage_searchable()
            sources = await self._scan()
            await self._run_steps(sources)
            if any(record.status == "failed" for record in self._state.step_records):
                return await self._end("failed", self._first_error())
            await (self._activate(pointer) if self._activates else self._make_ready())
            return await self._end("succeeded")
        except StopBuildError:
            return await self._end("failed", self._first_error())
        except LorebaseError as error:
            return await self._end("failed", _error_record(error))
        except asyncio.CancelledError:
            self._mark_unfinished("cancelled")
            await asyncio.shield(self._end("cancelled"))
            raise
        except BaseException as error:
            self._mark_unfinished("failed")
            message = f"{type(error).__name__}: {error}"
            await asyncio.shield(self._end("failed", ErrorRecord(code="INTERNAL_ERROR", message=message)))
            raise

    async def plan(self) -> PlannedRun:
        """What `run` would do. Made with a store that keeps nothing and `planning`; nobody is told and nothing moves.

        Raises:
            LorebaseError: The sources or the stores cannot be read. What a step would fail with is in its record.
        """
        sources = await self._scan()
        try:
            await self._run_steps(sources)
        except StopBuildError:
            self._mark_unfinished("cancelled")
        live = await asyncio.to_thread(self._snapshots.live)
        error = self._first_error()
        changes = await self._switch().index_changes(live) if error is None else {}
        return PlannedRun(self._state_at_end("succeeded", error), live, changes)

    async def _scan(self) -> StepOutcome:
        services = self._services
        documents, self._scan_issues = await asyncio.to_thread(services.reader.scan)
        await services.progress.scanned(len(documents), sum(document.size_bytes for document in documents))
        manifest = await asyncio.to_thread(
            write_source_manifest, services.store, services.layout, self._recipe, documents
        )
        reference = await asyncio.to_thread(write_manifest, services.store, services.layout, manifest)
        self._state = self._state.model_copy(update={"artifacts": {SOURCE_DOCUMENTS.name: reference}})
        changes = await asyncio.to_thread(self._source_changes, manifest)
        self._step_services = replace(self._step_services, source_changes=changes)
        if not documents:
            self._scan_issues.append(
                Issue(
                    code="NO_DOCUMENTS",
                    severity="warning",
                    subject=Subject(kind="source", id=self._recipe.sources[0].source_name),
                    message="The sources hold no documents that the recipe includes; the knowledge base is empty.",
                    step="scan",
                )
            )
        record = StepRunRecord(index=-1, step_name="scan", step_type="scan", status="succeeded")
        return StepOutcome(record, manifest, reference)

    def _source_changes(self, manifest: Manifest) -> str:
        known = self._step_services.known
        before = known.artifacts.get(SOURCE_DOCUMENTS.name) if known else None
        if before is None:
            return ""
        store, layout = self._services.store, self._services.layout
        try:
            return str(document_changes(store, layout, read_manifest(store, before), manifest))
        except CorruptObjectError:
            return ""  # it would only have been a better sentence

    async def _run_steps(self, sources: StepOutcome) -> None:
        """Start every step; each waits for the steps that make what it reads, so independent ones overlap."""
        loop = asyncio.get_running_loop()
        self._outcomes = {step.step.produces.name: loop.create_future() for step in self._planned}
        self._outcomes[SOURCE_DOCUMENTS.name] = loop.create_future()
        self._outcomes[SOURCE_DOCUMENTS.name].set_result(sources)
        try:
            async with asyncio.TaskGroup() as tasks:
                for step in self._planned:
                    tasks.create_task(self._run_step(step), name=step.name)
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None

    async def _run_step(self, planned: PlannedStep) -> None:
        outcome = self._outcomes[planned.step.produces.name]
        record: StepRunRecord | None = None
        try:
            inputs = await self._inputs_of(planned)
            # A build that was taken over while it stood still must neither pay for more nor write into the indexes.
            await self._require_lease()
            run = StepRun(self._step_services, planned)
            record = run.begin(inputs)
            await self._note(record)
            with scope("lorebase.step", step=planned.name):
                result = await run.run(record, inputs)
        except LorebaseError as error:
            record = record or self._state.step_records[planned.index]
            spent = self._services.context.budget.spent_by(planned.name)
            failed = record.model_copy(
                update={
                    "status": "failed",
                    "error": _error_record(error),
                    "finished_at": self._services.clock.now(),
                    "counts": with_spending(record.counts, spent),
                }
            )
            await self._note(failed)
            await self._services.progress.step_ended(failed)
            count_step(self._recipe.name, failed)
            if self._stop_on_error:
                raise StopBuildError from error
            outcome.set_result(None)
            return
        artifacts = {**self._state.artifacts, planned.step.produces.name: result.reference}
        self._state = self._state.model_copy(update={"artifacts": artifacts})
        await self._note(result.record)
        await self._services.progress.step_ended(result.record)
        count_step(self._recipe.name, result.record)
        outcome.set_result(result)

    async def _inputs_of(self, planned: PlannedStep) -> StepInputs:
        manifests: dict[str, Manifest] = {}
        references: dict[str, ArtifactReference] = {}
        for kind in planned.step.reads():
            if kind.name not in self._outcomes:  # read if present, and no step of the recipe makes it
                continue
            made = await self._outcomes[kind.name]
            if made is None:
                raise MissingArtifactError(
                    f"{planned.name} needs the artifact {kind.name}, which its step did not make in this build.",
                    remedy="Look at the step that failed before it.",
                )
            manifests[kind.name], references[kind.name] = made.manifest, made.reference
        return StepInputs(manifests, references)

    def _stage_searchable(self) -> None:
        """Nobody reads a base that has no snapshot: its first entities need not be hidden, and written twice."""
        context = replace(self._services.context, stages_searchable=True)
        self._services = replace(self._services, context=context)
        self._step_services = replace(self._step_services, context=context)

    async def _activate(self, pointer: SnapshotPointer | None) -> None:
        """Switch indexes and pointer to what was built."""
        state = self._state.model_copy(update={"capabilities": self._capabilities()})
        now = self._services.clock.now()
        snapshot_id, repaired = await self._switch().run(state, pointer, self._require_lease, now)
        self._scan_issues += repaired
        self._state = self._state.model_copy(update={"snapshot_id": snapshot_id})

    async def _make_ready(self) -> None:
        """Make what readers would need, and show it to nobody: no index, no pointer and no snapshot is touched."""
        await self._require_lease()
        services = self._services
        await stage_tables(services.store, services.layout, services.tables, self._state.artifacts)

    def _switch(self) -> SnapshotSwitch:
        made = {name: outcome.result() for name, outcome in self._outcomes.items()}
        return SnapshotSwitch(
            store=self._services.store,
            layout=self._services.layout,
            context=self._services.context,
            recipe=self._recipe,
            planned=self._planned,
            outcomes={name: outcome for name, outcome in made.items() if outcome is not None},
            tables=self._services.tables,
        )

    async def _require_lease(self) -> None:
        if self._services.lease is not None:
            await asyncio.to_thread(self._services.lease.require_held)

    def _capabilities(self) -> Capabilities:
        done = {record.index for record in self._state.step_records if record.status in {"succeeded", "skipped"}}
        left = [step.step.search_asset for step in self._planned if step.step.search_asset and step.index in done]
        return capabilities_of(left, self._recipe.models.roles())

    async def _note(self, record: StepRunRecord) -> None:
        """Keep the state of a step, and store the state of the run."""
        async with self._saving:
            self._state = self._state.with_step(record)
            await asyncio.to_thread(self._journal.save, self._state)

    def _mark_unfinished(self, status: Literal["cancelled", "failed"]) -> None:
        for record in self._state.step_records:
            if record.status == "running":
                spent = self._services.context.budget.spent_by(record.step_name)
                ended = record.model_copy(
                    update={
                        "status": status,
                        "finished_at": self._services.clock.now(),
                        "counts": with_spending(record.counts, spent),
                    }
                )
                self._state = self._state.with_step(ended)

    def _first_error(self) -> ErrorRecord | None:
        self._mark_unfinished("cancelled")
        return next((record.error for record in self._state.step_records if record.status == "failed"), None)

    async def _end(self, status: RunStatus, error: ErrorRecord | None = None) -> RecipeRunResult:
        """Store the end of the run and tell it."""
        async with self._saving:
            self._state = self._state_at_end(status, error)
            record = await asyncio.to_thread(self._journal.finish, self._state)
        await self._services.progress.build_ended(record)
        return RecipeRunResult(
            record=record, artifacts=record.artifacts, capabilities=record.capabilities, issues=record.issues
        )

    def _state_at_end(self, status: RunStatus, error: ErrorRecord | None) -> RecipeRunState:
        steps = self._state.step_records
        issues = [*self._scan_issues, *(issue for record in steps for issue in record.issues)]
        counts = merge_counts([count_by_code(self._scan_issues), *(record.issues_by_code for record in steps)])
        return self._state.model_copy(
            update={
                "status": status,
                "finished_at": self._services.clock.now(),
                "capabilities": self._capabilities(),
                "issues": tuple(issues[:ISSUES_KEPT]),
                "issues_by_code": counts,
                "error": error,
            }
        )


def _error_record(error: LorebaseError) -> ErrorRecord:
    return ErrorRecord(code=error.code, message=error.message, remedy=error.remedy, retryable=error.retryable)
