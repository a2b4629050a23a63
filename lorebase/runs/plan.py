"""What a build would do: the build's own code, over stores that keep nothing and models that refuse to be called."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.kinds import CHUNKS, SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import Manifest, read_manifest
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.models.ports import ModelUsage
from lorebase.models.settings import LOCAL_PROVIDER
from lorebase.recipes.model import Budget, KnowledgeRecipe
from lorebase.recipes.validation import validated_steps
from lorebase.runs.budget import Spending, passed_limit
from lorebase.runs.build_run import BuildRun, BuildServices, PlannedRun
from lorebase.runs.builder import (
    BuildWorkspace,
    KnowledgeBaseBuilderConfig,
    opened_recipe,
    require_supported_indexes,
)
from lorebase.runs.changes import DocumentChanges, changed_rows, document_changes
from lorebase.runs.executor import InlineExecutor
from lorebase.runs.journal import RunJournal
from lorebase.runs.progress import SilentProgress
from lorebase.runs.read_only import ReadOnlyIndexStore, UncalledChat, UncalledEmbedder
from lorebase.runs.records import ErrorRecord, Issue, RecipeRunRecord, StepCounts, StepRunRecord
from lorebase.runs.scratch import ScratchStore

_RUN_ID = "plan"
_ACTIONS: dict[str, Literal["run", "skip", "fail"]] = {"succeeded": "run", "skipped": "skip", "failed": "fail"}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StepPlan(_Frozen):
    """What a build would do for one step. `counts` are those that the record of the build would have."""

    step: str
    step_type: str
    action: Literal["run", "skip", "fail", "not_reached"]
    reason: str
    counts: StepCounts
    newly_searchable: int = 0
    no_longer_searchable: int = 0

    @classmethod
    def of(cls, record: StepRunRecord, index_changes: tuple[int, int]) -> Self:
        """The plan of a step from the record that it would leave."""
        return cls(
            step=record.step_name,
            step_type=record.step_type,
            action=_ACTIONS.get(record.status, "not_reached"),
            reason=record.error.message if record.error else record.reason,
            counts=record.counts,
            newly_searchable=index_changes[0],
            no_longer_searchable=index_changes[1],
        )


class ChunkChanges(_Frozen):
    """How the chunks would differ from those of the live snapshot."""

    total: int = 0
    added: int = 0
    removed: int = 0


class PlanTotals(_Frozen):
    """What the build would ask of models."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    usd: float


class BuildPlan(_Frozen):
    """What a build would do. Changes are against the live snapshot, reasons against the latest run, as in a build."""

    base_name: str
    live_snapshot_id: str | None
    documents: int
    document_changes: DocumentChanges
    chunks: ChunkChanges
    steps: tuple[StepPlan, ...]
    totals: PlanTotals
    is_priced: bool
    budget: Budget
    passes_limit: str | None
    issues: tuple[Issue, ...]
    issues_by_code: dict[str, int]
    error: ErrorRecord | None


async def plan_build(
    recipe: KnowledgeRecipe, workspace: BuildWorkspace, config: KnowledgeBaseBuilderConfig | None = None
) -> BuildPlan:
    """Say what a build of a recipe would do, going on from its latest run. Nothing in the workspace is changed.

    Sources are scanned; documents of changed partitions are parsed and split, what they give is forgotten at the end.

    Args:
        recipe: The recipe.
        workspace: Where the base is, or would be.
        config: How the build would behave.

    Raises:
        InvalidRecipeError: The recipe has faults.
        ConfigurationError: A model or a source cannot be opened, or the index store cannot hold an index of the recipe.
        UnavailableError: The object store, or an index that another process holds, does not answer.
    """
    config = config or KnowledgeBaseBuilderConfig()
    planned = validated_steps(recipe)
    layout = BaseLayout(recipe.name)
    with ScratchStore(workspace.object_store) as scratch:
        known = await asyncio.to_thread(_latest_record, RunJournal(scratch, layout))
        opened, width_is_known = await asyncio.to_thread(_with_known_width, recipe, RunJournal(scratch, layout))
        async with opened_recipe(workspace, opened, planned, _RUN_ID) as (context, reader):
            await require_supported_indexes(context, planned)
            embedder = context.embedder
            services = BuildServices(
                store=scratch,
                layout=layout,
                context=replace(
                    context,
                    embedder=UncalledEmbedder(embedder, width_is_known=width_is_known) if embedder else None,
                    chat=UncalledChat(context.chat) if context.chat else None,
                    index_store=ReadOnlyIndexStore(context.index_store, is_empty=known is None),
                ),
                reader=reader,
                executor=InlineExecutor(concurrency=1),
                progress=SilentProgress(),
                clock=workspace.clock,
                lease=None,
            )
            run = BuildRun(
                services,
                recipe,
                planned,
                known=known,
                skip_succeeded_steps=True,
                stop_on_error=True,
                rebuild=config.rebuild,
                planning=True,
                task_run_weight=config.task_run_weight,
            )
            return await asyncio.to_thread(_as_plan, recipe, await run.plan(), scratch, layout)


def _latest_record(journal: RunJournal) -> RecipeRunRecord | None:
    run_id = journal.latest_run_id()
    return journal.read(run_id) if run_id else None


def _with_known_width(recipe: KnowledgeRecipe, journal: RunJournal) -> tuple[KnowledgeRecipe, bool]:
    """The recipe with the width of its embedding model, which opening an endpoint's model may otherwise ask it for.

    It is taken from the latest run with that model. Where there is none, nothing was built with the model, and then
    any width gives the same plan.
    """
    spec = recipe.models.embedding
    if spec is None or spec.provider == LOCAL_PROVIDER or spec.dimensions is not None:
        return recipe, True
    width = 0
    for run_id in reversed(journal.run_ids()):
        for step in journal.read(run_id).step_records:
            identity = step.identity
            if (identity.get("model.provider"), identity.get("model.name")) == (spec.provider, spec.model):
                width = int(identity.get("model.dimensions", "0"))
        if width:
            break
    models = recipe.models.model_copy(update={"embedding": spec.model_copy(update={"dimensions": width or 1})})
    return recipe.model_copy(update={"models": models}), width > 0


def _as_plan(recipe: KnowledgeRecipe, run: PlannedRun, store: ObjectStore, layout: BaseLayout) -> BuildPlan:
    state = run.state
    counts = sum((record.counts for record in state.step_records), StepCounts())
    usage = ModelUsage(counts.model_calls, counts.input_tokens, counts.output_tokens)
    sources = state.artifacts[SOURCE_DOCUMENTS.name]
    return BuildPlan(
        base_name=recipe.name,
        live_snapshot_id=run.live.snapshot_id if run.live else None,
        documents=sources.rows,
        document_changes=document_changes(
            store, layout, _live_manifest(store, run.live, SOURCE_DOCUMENTS.name), read_manifest(store, sources)
        ),
        chunks=_chunk_changes(run, store, layout),
        steps=tuple(
            StepPlan.of(record, run.index_changes.get(record.step_name, (0, 0))) for record in state.step_records
        ),
        totals=PlanTotals(
            model_calls=counts.model_calls,
            input_tokens=counts.input_tokens,
            output_tokens=counts.output_tokens,
            usd=counts.usd,
        ),
        is_priced=any(recipe.prices.of(role) is not None for role in recipe.models.roles()),
        budget=recipe.budget,
        passes_limit=passed_limit(recipe.budget, Spending(usage, counts.usd)),
        issues=state.issues,
        issues_by_code=state.issues_by_code,
        error=state.error,
    )


def _chunk_changes(run: PlannedRun, store: ObjectStore, layout: BaseLayout) -> ChunkChanges:
    made = run.state.artifacts.get(CHUNKS.name)
    if made is None:
        return ChunkChanges()
    before = _live_manifest(store, run.live, CHUNKS.name)
    old, new = changed_rows(store, layout, CHUNKS, lambda row: (row.chunk_id, None), before, read_manifest(store, made))
    return ChunkChanges(total=made.rows, added=len(new.keys() - old.keys()), removed=len(old.keys() - new.keys()))


def _live_manifest(store: ObjectStore, live: Snapshot | None, artifact: str) -> Manifest | None:
    reference = live.artifacts.get(artifact) if live else None
    return read_manifest(store, reference) if reference else None
