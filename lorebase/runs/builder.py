"""The build algorithm: order, skipping, state, records, activation. Who runs the work is the executor's matter."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict, Field

from lorebase.artifacts.lease import DEFAULT_LEASE_SECONDS, Lease, acquire_lease, require_conditional_writes
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.parsing import ParserRegistry
from lorebase.documents.sources import FileSystem
from lorebase.errors import ConfigurationError, ConflictError, DependencyError
from lorebase.ids import new_run_id
from lorebase.models.call_ledger import CallLedger
from lorebase.models.chat import ChatModel
from lorebase.models.ports import Embedder
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec
from lorebase.recipes.expansion import PlannedStep
from lorebase.recipes.model import KnowledgeRecipe, ParserRuleSpec
from lorebase.recipes.validation import validated_steps
from lorebase.runs.budget import RunBudget
from lorebase.runs.build_run import BuildRun, BuildServices
from lorebase.runs.card_decisions import CardDecisionStore
from lorebase.runs.corrections import kept_apart_pairs
from lorebase.runs.executor import InlineExecutor, StepExecutor
from lorebase.runs.opened_stores import OpenedStores
from lorebase.runs.planning import WEIGHT_OF_A_TASK_RUN
from lorebase.runs.progress import BuildProgress, SilentProgress
from lorebase.runs.records import RecipeRunRecord, RecipeRunResult
from lorebase.runs.scanning import OpenedSource, SourceReader
from lorebase.runs.step import StepExecutionContext
from lorebase.tracing import scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LOGGER = logging.getLogger("lorebase.build")
_LEASE_POLL_SECONDS = 1.0


class BuildWorkspace(OpenedStores, Protocol):
    """What a build asks of the place it runs in."""

    @property
    def object_store(self) -> ObjectStore:
        """Where everything is kept."""
        ...

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """An embedding model.

        Raises:
            ConfigurationError: There is no such model or endpoint.
        """
        ...

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        """A chat model.

        Raises:
            ConfigurationError: There is no such endpoint.
        """
        ...

    def open_parsers(self, rules: Sequence[ParserRuleSpec]) -> ParserRegistry:
        """The parsers, by the rules of a recipe."""
        ...

    def open_source(self, url: str) -> tuple[FileSystem, str]:
        """The file system behind an address, and the folder in it."""
        ...


class KnowledgeBaseBuilderConfig(BaseModel):
    """How a build behaves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    skip_succeeded_steps: bool = Field(
        default=False, description="Skip steps that the previous record shows as succeeded on the same inputs."
    )
    stop_on_error: bool = Field(default=True, description="Whether the first step that fails ends the build.")
    rebuild: bool = Field(default=False, description="Do everything again, whatever is finished or paid for.")
    reuses_replies: bool = Field(
        default=False,
        description="With `rebuild`: take replies of models that are paid for, so that equal work is equal.",
    )
    activate: bool = Field(
        default=True, description="Whether readers get to see what was built; otherwise everything is only made ready."
    )
    wait_seconds: float = Field(0.0, ge=0, description="How long to wait for another build of the base to end.")
    lease_seconds: float = Field(
        DEFAULT_LEASE_SECONDS,
        gt=0,
        description="After a kill, so long nobody else can build; renewed three times in it.",
    )
    task_run_weight: float = Field(
        WEIGHT_OF_A_TASK_RUN, gt=0, description="About how many chunks one task run takes on before a new one begins."
    )


class RecipeBuilder:
    """Executes recipes in a workspace.

    Args:
        workspace: Stores and models.
        config: How a build behaves.
        executor: Who runs the task runs; by default this process, without Prefect.
        progress: Told how far the build is.
    """

    def __init__(
        self,
        workspace: BuildWorkspace,
        config: KnowledgeBaseBuilderConfig | None = None,
        *,
        executor: StepExecutor | None = None,
        progress: BuildProgress | None = None,
    ) -> None:
        self._workspace = workspace
        self._config = config or KnowledgeBaseBuilderConfig()
        self._executor = executor or InlineExecutor()
        self._progress = progress or SilentProgress()

    async def build(
        self,
        recipe: KnowledgeRecipe,
        *,
        previous_record: RecipeRunRecord | None = None,
        run_id: str | None = None,
    ) -> RecipeRunResult:
        """Build a knowledge base once.

        Args:
            recipe: How it is made.
            previous_record: A run before: with `skip_succeeded_steps` its finished steps are skipped, and reasons why
                a step runs compare with it.
            run_id: Id of the run; by default a new one.

        Returns:
            The result. A step that fails ends the build with status "failed" and the error in the record; it does not
            raise. What was finished stays finished, so the next build goes on from there.

        Raises:
            InvalidRecipeError: The recipe has faults; nothing was written.
            ConfigurationError: A model or a source cannot be opened, the store cannot hold an index of the recipe, or
                the recipe is governed and the build would make itself visible; nothing was written.
            ConflictError: Another build of the base goes on.
            UnavailableError: The object store does not answer.
        """
        planned = validated_steps(recipe)
        if self._config.activate:
            _require_not_governed(recipe)
        run_id = run_id or new_run_id(self._workspace.clock.now(), self._workspace.random)
        layout = BaseLayout(recipe.name)
        async with opened_recipe(
            self._workspace,
            recipe,
            planned,
            run_id,
            reads_kept_replies=self._config.reuses_replies or not self._config.rebuild,
        ) as (context, reader):
            await require_supported_indexes(context, planned)
            lease = await self._lease(layout, run_id)
            with lease:
                run = BuildRun(
                    self._services(layout, context, reader, lease),
                    recipe,
                    planned,
                    known=previous_record,
                    skip_succeeded_steps=self._config.skip_succeeded_steps,
                    stop_on_error=self._config.stop_on_error,
                    rebuild=self._config.rebuild,
                    activates=self._config.activate,
                    task_run_weight=self._config.task_run_weight,
                )
                with scope("lorebase.build", base=recipe.name, run=run_id):
                    return await run.run()

    def _services(
        self, layout: BaseLayout, context: StepExecutionContext, reader: SourceReader, lease: Lease
    ) -> BuildServices:
        return BuildServices(
            store=self._workspace.object_store,
            layout=layout,
            context=context,
            reader=reader,
            executor=self._executor,
            progress=self._progress,
            clock=self._workspace.clock,
            lease=lease,
            tables=self._workspace.derived_tables,
        )

    async def _lease(self, layout: BaseLayout, run_id: str) -> Lease:
        """The base's lease, waiting for it as long as the configuration says."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._config.wait_seconds
        store = self._workspace.object_store
        await asyncio.to_thread(require_conditional_writes, store, layout.prefix)
        while True:
            try:
                return await asyncio.to_thread(
                    acquire_lease,
                    store,
                    layout.lease,
                    holder=run_id,
                    now=self._workspace.clock.now,
                    seconds=self._config.lease_seconds,
                    note=socket.gethostname(),
                )
            except ConflictError:
                if loop.time() >= deadline:
                    raise
                await asyncio.sleep(_LEASE_POLL_SECONDS)


@asynccontextmanager
async def opened_recipe(
    workspace: BuildWorkspace,
    recipe: KnowledgeRecipe,
    planned: Sequence[PlannedStep],
    run_id: str,
    *,
    reads_kept_replies: bool = True,
) -> AsyncIterator[tuple[StepExecutionContext, SourceReader]]:
    """Models, parsers and sources of a recipe, opened, and closed at the end.

    Args:
        workspace: Where they are.
        recipe: What names them.
        planned: Its steps.
        run_id: The run.
        reads_kept_replies: Whether replies of the chat model that were paid for in earlier runs are taken.

    Raises:
        ConfigurationError: A model or a source cannot be opened.
    """
    needs_embedder = any("embedding" in (*step.step.models, *step.step.optional_models) for step in planned)
    layout = BaseLayout(recipe.name)
    async with AsyncExitStack() as opened:
        opened.push_async_callback(workspace.close)
        reader = _source_reader(workspace, recipe)
        embedder = chat = None
        if needs_embedder and recipe.models.embedding:
            embedder = await workspace.open_embedder(recipe.models.embedding)
            opened.push_async_callback(embedder.close)
        if recipe.models.chat:
            chat = workspace.open_chat(recipe.models.chat)
            opened.push_async_callback(chat.close)
        parsers = workspace.open_parsers(recipe.parsers)
        opened.callback(parsers.close)
        context = StepExecutionContext(
            base_name=recipe.name,
            run_id=run_id,
            documents=reader,
            max_document_bytes=recipe.max_document_bytes,
            parsers=parsers,
            index_store=workspace.index_store,
            logger=_LOGGER,
            embedder=embedder,
            embedding_slots=asyncio.Semaphore(embedder.max_concurrency + 1 if embedder else 1),
            budget=RunBudget(recipe.budget, recipe.prices),
            chat=chat,
            chat_calls=CallLedger(workspace.object_store, layout.calls, reads=reads_kept_replies),
            kept_apart=await asyncio.to_thread(kept_apart_pairs, workspace.object_store, layout),
            card_decisions=tuple(await asyncio.to_thread(CardDecisionStore(workspace.object_store, layout).all)),
        )
        yield context, reader


async def require_supported_indexes(context: StepExecutionContext, planned: Sequence[PlannedStep]) -> None:
    """Refuse a recipe whose indexes the store cannot hold, before its models are paid.

    A store that does not answer now may answer when the steps that write to it ask again, as often as they may.

    Raises:
        ConfigurationError: The store cannot hold one of them.
    """
    for step in planned:
        index = step.step.index_of(context)
        if index is not None:
            with suppress(DependencyError):
                await index.require_supported()


def _source_reader(workspace: BuildWorkspace, recipe: KnowledgeRecipe) -> SourceReader:
    opened = {}
    for spec in recipe.sources:
        location = recipe.location_of(spec)
        filesystem, root = workspace.open_source(location)
        source = spec.as_source(location)
        opened[source.name] = OpenedSource(source, filesystem, root)
    return SourceReader(opened, recipe.max_document_bytes)


def _require_not_governed(recipe: KnowledgeRecipe) -> None:
    """A build makes its snapshot visible; of a governed base people decide what is."""
    if recipe.governance != "none":
        raise ConfigurationError(
            f"The recipe {recipe.name!r} says `governance: {recipe.governance}`: its documents become drafts.",
            remedy="Use `lorebase build`, or `GovernedKnowledge.drafting`, and publish what was reviewed.",
        )
