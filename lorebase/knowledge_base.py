"""The face for library users: build a knowledge base, load one, query it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import BuildFailedError, CorruptObjectError, UnsupportedModeError
from lorebase.index.ports import Filter
from lorebase.models.ports import Embedder
from lorebase.recipes.loading import load_recipe
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.request import DEFAULT_TOP_K
from lorebase.retrieval.search import Retriever
from lorebase.retrieval.snapshot_chunks import ChunkCache, SnapshotChunks
from lorebase.runs.builder import KnowledgeBaseBuilderConfig, RecipeBuilder
from lorebase.runs.capabilities import require_mode
from lorebase.runs.executor import StepExecutor
from lorebase.runs.journal import RunJournal
from lorebase.runs.progress import BuildProgress
from lorebase.runs.records import Capabilities, RecipeRunRecord, RecipeRunResult
from lorebase.workspace import Workspace

DEFAULT_WORKSPACE = Path(".lorebase")


class KnowledgeBaseBuilder:
    """Executes recipes: `result = await KnowledgeBaseBuilder().build(recipe)`.

    Args:
        config: How a build behaves.
        workspace: Where things are; by default the folder `.lorebase` below the working folder.
        executor: Who runs the task runs; by default this process, without Prefect.
        progress: Told how far the build is.
    """

    def __init__(
        self,
        config: KnowledgeBaseBuilderConfig | None = None,
        *,
        workspace: Workspace | None = None,
        executor: StepExecutor | None = None,
        progress: BuildProgress | None = None,
    ) -> None:
        self._builder = RecipeBuilder(
            workspace or Workspace.load(DEFAULT_WORKSPACE), config, executor=executor, progress=progress
        )

    async def build(
        self, recipe: KnowledgeRecipe, *, previous_record: RecipeRunRecord | None = None, run_id: str | None = None
    ) -> RecipeRunResult:
        """Build once; see `RecipeBuilder.build`."""
        return await self._builder.build(recipe, previous_record=previous_record, run_id=run_id)


class KnowledgeBase:
    """A knowledge base that can be queried. Use it as an asynchronous context, or close it.

    Every query looks up which snapshot is live, so a base that is built again meanwhile shows the new snapshot at once.
    """

    def __init__(self, name: str, workspace: Workspace) -> None:
        self.name = name
        self.workspace = workspace
        self.last_result: RecipeRunResult | None = None
        layout = BaseLayout(name)
        self._snapshots = SnapshotStore(workspace.object_store, layout)
        self._cache = ChunkCache(workspace.object_store, layout)
        self._active: SnapshotChunks | None = None
        self._snapshot: Snapshot | None = None
        self._embedders: dict[str, Embedder] = {}

    @classmethod
    async def create(
        cls,
        recipe: KnowledgeRecipe | Path | str,
        workspace: Workspace | None = None,
        *,
        config: KnowledgeBaseBuilderConfig | None = None,
        executor: StepExecutor | None = None,
        progress: BuildProgress | None = None,
        run_id: str | None = None,
    ) -> Self:
        """Build a recipe, going on from its latest run, and open what was built.

        Args:
            recipe: The recipe, or the path of its file.
            workspace: Where things are.
            config: How the build behaves; finished steps are skipped whatever it says, unless it asks for a rebuild.
            executor: Who runs the task runs.
            progress: Told how far the build is.
            run_id: Id of the run; by default a new one.

        Raises:
            BuildFailedError: A step failed; `facts["record"]` is the run's record. The live snapshot is as before.
            InvalidRecipeError: The recipe has faults.
            ConflictError: Another build of the base goes on.
        """
        if not isinstance(recipe, KnowledgeRecipe):
            recipe = load_recipe(Path(recipe))
        base = cls(recipe.name, workspace or Workspace.load(DEFAULT_WORKSPACE))
        result = await base.rebuild(recipe, config=config, executor=executor, progress=progress, run_id=run_id)
        if result.record.status != "succeeded":
            error = result.record.error
            raise BuildFailedError(
                f"The build of {recipe.name!r} failed: {error.message if error else result.record.status}",
                remedy=(error.remedy if error else "") or "Mend it and build again: what is finished stays finished.",
                record=result.record.model_dump(mode="json"),
            )
        return base

    async def rebuild(
        self,
        recipe: KnowledgeRecipe,
        *,
        config: KnowledgeBaseBuilderConfig | None = None,
        executor: StepExecutor | None = None,
        progress: BuildProgress | None = None,
        run_id: str | None = None,
    ) -> RecipeRunResult:
        """Build the base again from its latest run on; the result says how it went, a failed step does not raise."""
        settings = (config or KnowledgeBaseBuilderConfig()).model_copy(update={"skip_succeeded_steps": True})
        builder = RecipeBuilder(self.workspace, settings, executor=executor, progress=progress)
        self.last_result = await builder.build(recipe, previous_record=self.latest_record(), run_id=run_id)
        return self.last_result

    @classmethod
    def load(cls, name: str, workspace: Workspace | None = None) -> Self:
        """Open a base that was built before.

        Raises:
            NotFoundError: The workspace holds no snapshot of that name.
        """
        base = cls(name, workspace or Workspace.load(DEFAULT_WORKSPACE))
        base.snapshot()
        return base

    def snapshot(self) -> Snapshot:
        """What is live now.

        Raises:
            NotFoundError: Nothing was built yet.
        """
        pointer = self._snapshots.pointer()
        if pointer is not None and self._snapshot is not None and pointer.snapshot_id == self._snapshot.snapshot_id:
            return self._snapshot
        snapshot = self._snapshots.require_live()
        self._snapshot, self._active = snapshot, None
        return snapshot

    @property
    def capabilities(self) -> Capabilities:
        """What the live snapshot can serve."""
        snapshot = self.snapshot()
        return Capabilities(queries=snapshot.queries, search_assets=snapshot.search_assets)

    def latest_record(self) -> RecipeRunRecord | None:
        """The record of the run that was started last, None where there was none."""
        journal = RunJournal(self.workspace.object_store, BaseLayout(self.name))
        run_id = journal.latest_run_id()
        return journal.read(run_id) if run_id else None

    async def query(
        self, query: str, *, mode: str = "hybrid_search", top_k: int = DEFAULT_TOP_K, where: Filter = ()
    ) -> QueryResult:
        """Search the live snapshot.

        Args:
            query: 1 to 2,000 characters.
            mode: One of the query modes that the snapshot offers.
            top_k: Most results, 1 to 100.
            where: Further conditions on the chunks.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The snapshot cannot serve the mode; names those it can and what would unlock it.
            NotFoundError: Nothing was built yet.
            DependencyError: A store or a model did not answer; never an empty result instead.
        """
        snapshot = self.snapshot()
        try:
            return await self._query(snapshot, query, mode, top_k, where)
        except CorruptObjectError:
            # The snapshot may have been cleaned away under a query that had begun; the one that is live now is whole.
            if self.snapshot().snapshot_id == snapshot.snapshot_id:
                raise
            return await self._query(self.snapshot(), query, mode, top_k, where)

    async def _query(self, snapshot: Snapshot, query: str, mode: str, top_k: int, where: Filter) -> QueryResult:
        require_mode(Capabilities(queries=snapshot.queries, search_assets=snapshot.search_assets), mode, self.name)
        retriever = await self._retriever(snapshot, needs_vectors=mode != "full_text_search")
        searches = {
            "vector_search": retriever.vector_search,
            "full_text_search": retriever.full_text_search,
            "hybrid_search": retriever.hybrid_search,
        }
        if mode not in searches:
            raise UnsupportedModeError(f"This program does not know how to answer {mode}.", remedy="Upgrade Lorebase.")
        return await searches[mode](query, top_k=top_k, where=where)

    async def close(self) -> None:
        """Give connections and models back."""
        embedders, self._embedders = self._embedders, {}
        for embedder in embedders.values():
            await embedder.close()
        await self.workspace.index_store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _retriever(self, snapshot: Snapshot, *, needs_vectors: bool) -> Retriever:
        if self._active is None:
            self._active = SnapshotChunks(self.workspace.object_store, snapshot, self._cache)
        store = self.workspace.index_store
        lexical = store.lexical(self.name)
        if not needs_vectors:
            return Retriever(self._active, lexical=lexical)
        embedder = await self._embedder(snapshot)
        vectors = store.vectors(self.name, snapshot.embedding_profile_id, snapshot.embedding_dimensions)
        return Retriever(self._active, vectors=vectors, embedder=embedder, lexical=lexical)

    async def _embedder(self, snapshot: Snapshot) -> Embedder:
        """The model that the snapshot was embedded with."""
        if snapshot.embedding_profile_id not in self._embedders:
            recipe: KnowledgeRecipe = KnowledgeRecipe.model_validate(_as_recipe(snapshot.recipe))
            spec = recipe.models.embedding
            if spec is None:
                raise UnsupportedModeError(f"The snapshot of {self.name!r} names no embedding model.")
            embedder = await self.workspace.open_embedder(spec)
            if embedder.profile.profile_id != snapshot.embedding_profile_id:
                found = f"{embedder.profile.model} {embedder.profile.model_version}".strip()
                await embedder.close()
                raise UnsupportedModeError(
                    f"{self.name!r} was embedded with another model than {found}, which this installation offers.",
                    remedy="Build it again, or install the version it was built with.",
                )
            self._embedders[snapshot.embedding_profile_id] = embedder
        return self._embedders[snapshot.embedding_profile_id]


def _as_recipe(data: dict[str, Any]) -> dict[str, Any]:
    """The recipe of a snapshot; keys that a newer program wrote are left out, as queries do not need them."""
    return {key: value for key, value in data.items() if key in KnowledgeRecipe.model_fields}
