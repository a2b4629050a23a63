"""The face for library users: build a knowledge base, load one, query it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from lorebase.answering.over_retrieval import AnsweredQuestion, Answerer, AskOptions, AskPorts, Found
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.base_models import BaseModels
from lorebase.errors import (
    BuildFailedError,
    CorruptObjectError,
    IndexMismatchError,
    NotFoundError,
    UnsupportedModeError,
)
from lorebase.governance.base_recipes import governed_elsewhere
from lorebase.index.ports import Filter
from lorebase.models.call_ledger import LedgeredChat
from lorebase.models.ports import EmbeddingProfile
from lorebase.models.rerank import Reranker
from lorebase.models.seam import session_id_of
from lorebase.operation import OperationContext
from lorebase.recipes.loading import load_recipe
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.registry.base_recipe import with_registered_types
from lorebase.retrieval.base_entries import ENTRY_MODES, BaseEntries
from lorebase.retrieval.document_types import SnapshotTypes
from lorebase.retrieval.graph_reading import snapshot_graph
from lorebase.retrieval.graph_search import GraphRetriever
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.modes.base_languages import SnapshotLanguages
from lorebase.retrieval.modes.searching import BaseSearch, ModelSearcher
from lorebase.retrieval.modes.settings import ModeSettings
from lorebase.retrieval.ports import QueryEmbedder
from lorebase.retrieval.request import DEFAULT_TOP_K
from lorebase.retrieval.search import Retriever
from lorebase.retrieval.snapshot_chunks import ChunkCache, SnapshotChunks
from lorebase.runs.builder import KnowledgeBaseBuilderConfig, RecipeBuilder
from lorebase.runs.capabilities import FULL_TEXT, MODEL_OF_MODE, VECTORS, base_mode_of, require_mode
from lorebase.runs.executor import StepExecutor
from lorebase.runs.journal import RunJournal
from lorebase.runs.lost_index import require_filled
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
        self._workspace = workspace or Workspace.load(DEFAULT_WORKSPACE)
        self._builder = RecipeBuilder(self._workspace, config, executor=executor, progress=progress)

    async def build(
        self, recipe: KnowledgeRecipe, *, previous_record: RecipeRunRecord | None = None, run_id: str | None = None
    ) -> RecipeRunResult:
        """Build once; see `RecipeBuilder.build`. Source types left to the registry are those that it has now."""
        recipe = await asyncio.to_thread(with_registered_types, recipe, self._workspace)
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
        self._types: tuple[str, SnapshotTypes] | None = None
        self._models = BaseModels(name, workspace)
        self._languages = SnapshotLanguages(workspace.object_store, self._cache)
        self._entries = BaseEntries(workspace.object_store, lambda: workspace.index_store, self._models.embedder)

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
        recipe = await asyncio.to_thread(with_registered_types, recipe, self.workspace)
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
        try:
            base.snapshot()
        except NotFoundError as error:
            raise governed_elsewhere(base.workspace.object_store, name) or error from error
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
        self,
        query: str,
        *,
        mode: str = "hybrid_search",
        top_k: int = DEFAULT_TOP_K,
        where: Filter = (),
        settings: ModeSettings | None = None,
    ) -> QueryResult:
        """Search the live snapshot.

        Args:
            query: 1 to 2,000 characters.
            mode: One of the query modes that the snapshot offers.
            top_k: Most results, 1 to 100.
            where: Further conditions on the chunks.
            settings: Bounds of the modes that ask a model; others have none.

        Raises:
            UsageError: Query or `top_k` out of range, or `where` names a source type that there is not.
            UnsupportedModeError: The snapshot cannot serve the mode; names those it can and what would unlock it.
            NotFoundError: Nothing was built yet.
            DependencyError: A store or a model did not answer; never an empty result instead.
            IndexMismatchError: An index was lost; never an empty result instead.
        """
        snapshot = self.snapshot()
        try:
            found = await self._typed_query(snapshot, query, mode, top_k, where, settings)
            if found.results or self.snapshot().snapshot_id == snapshot.snapshot_id:
                return found
        except (CorruptObjectError, IndexMismatchError):
            if self.snapshot().snapshot_id == snapshot.snapshot_id:
                raise
        # It was replaced or cleaned away under a query that had begun; the one that is live now is whole.
        return await self._typed_query(self.snapshot(), query, mode, top_k, where, settings)

    async def ask(
        self, question: str, *, options: AskOptions | None = None, context: OperationContext[Any] | None = None
    ) -> AnsweredQuestion:
        """Answer a question from the live snapshot, with numbered citations; as `answer`."""
        (answered,) = await self.answer([question], options=options, context=context)
        return answered

    async def answer(
        self,
        questions: Sequence[str],
        *,
        options: AskOptions | None = None,
        context: OperationContext[Any] | None = None,
    ) -> tuple[AnsweredQuestion, ...]:
        """Answer questions from the live snapshot, each with numbered citations, or say that there is no evidence.

        The chat model of the recipe writes; without one the evidence is quoted.

        Args:
            questions: 1 to 1,000 texts of 1 to 2,000 characters.
            options: How they are answered.
            context: Its signal stops the run, its diagnostics hear how it went.

        Returns:
            One answer a question, in the order of the questions.

        Raises:
            UsageError: A question is out of range, or the options need a chat model that the recipe does not name.
            UnsupportedModeError: The snapshot serves no query mode, or not the one asked for.
            DependencyError: A store or the embedding model did not answer; never "no evidence" instead.
        """
        used = options or AskOptions()
        mode = used.mode or base_mode_of(self.snapshot().queries) or "hybrid_search"

        async def search(question: str) -> Found:
            found = await self.query(question, mode=mode, top_k=max(DEFAULT_TOP_K, used.max_passages))
            return Found(found, None if mode == "full_text_search" else await self.embedding_profile())

        ports = AskPorts(search=search, chat=self.chat_model(), session_id=session_id_of(self.name))
        return await Answerer(ports, used).answer(questions, context)

    async def _typed_query(
        self, snapshot: Snapshot, query: str, mode: str, top_k: int, where: Filter, settings: ModeSettings | None
    ) -> QueryResult:
        """A query whose filter was checked, and whose results say the type of their documents."""
        if self._types is None or self._types[0] != snapshot.snapshot_id:
            self._types = (snapshot.snapshot_id, SnapshotTypes(self.workspace.object_store, snapshot))
        types = self._types[1]
        types.check(where)
        found = await self._query(snapshot, query, mode, top_k, where, settings)
        if not found.results:
            await require_filled(self.workspace.index_store, snapshot)
        return await types.labelled(found)

    async def _query(
        self, snapshot: Snapshot, query: str, mode: str, top_k: int, where: Filter, settings: ModeSettings | None
    ) -> QueryResult:
        offered = Capabilities(queries=snapshot.queries, search_assets=snapshot.search_assets)
        require_mode(offered, mode, self.name, models=snapshot.recipe.get("models", ()))
        if mode == "graph_search":
            return await (await self._graph_retriever(snapshot)).graph_search(query, top_k=top_k, where=where)
        if mode in ENTRY_MODES:
            return await self._entries.query(snapshot, query, mode, top_k, where)
        base_mode = base_mode_of(snapshot.queries)
        if mode in MODEL_OF_MODE and base_mode is not None:
            searcher = await self._model_searcher(snapshot, base_mode, settings)
            by_model = {
                "rerank_search": searcher.rerank_search,
                "rewrite_search": searcher.rewrite_search,
                "multihop_search": searcher.multihop_search,
            }
            return await by_model[mode](query, top_k=top_k, where=where)
        retriever = await self._retriever(snapshot, needs_vectors=mode != "full_text_search")
        searches = _searches_of(retriever)
        if mode not in searches:
            raise UnsupportedModeError(f"This program does not know how to answer {mode}.", remedy="Upgrade Lorebase.")
        return await searches[mode](query, top_k=top_k, where=where)

    async def _model_searcher(self, snapshot: Snapshot, base_mode: str, settings: ModeSettings | None) -> ModelSearcher:
        needs_vectors = base_mode != "full_text_search"
        models = await self._models.ports(snapshot, embeds=needs_vectors)
        retriever = await self._retriever(snapshot, needs_vectors=needs_vectors, embedder=models.embeddings)
        search = _searches_of(retriever)[base_mode]
        return ModelSearcher(search, base_mode, models, lambda: self._languages.of(snapshot), settings)

    async def _graph_retriever(self, snapshot: Snapshot) -> GraphRetriever:
        graph = await snapshot_graph(self.workspace.graph_store, self.workspace.object_store, snapshot)
        active = self._chunks_of(snapshot)
        store = self.workspace.index_store
        if VECTORS in snapshot.search_assets:
            embedder = await self._models.embedder(snapshot)
            vectors = store.vectors(self.name, snapshot.embedding_profile_id, snapshot.embedding_dimensions)
            return GraphRetriever(active, graph, vectors=vectors, embedder=embedder, fields=vectors)
        fields = store.lexical(self.name) if FULL_TEXT in snapshot.search_assets else None
        return GraphRetriever(active, graph, fields=fields)

    async def embedding_profile(self) -> EmbeddingProfile | None:
        """Profile of the live snapshot's vectors; None where it has none.

        Raises:
            NotFoundError: Nothing was built yet.
            UnsupportedModeError: This installation offers another model than the one it was embedded with.
        """
        snapshot = self.snapshot()
        return (await self._models.embedder(snapshot)).profile if VECTORS in snapshot.search_assets else None

    def chat_model(self) -> LedgeredChat | None:
        """The chat model of the live snapshot's recipe; None where it names none. The base closes it.

        Equal requests are answered from the workspace.

        Raises:
            NotFoundError: Nothing was built yet.
            ConfigurationError: The workspace lacks its endpoint.
        """
        return self._models.chat(self.snapshot())

    def reranker(self) -> Reranker | None:
        """The reranker of the live snapshot's recipe; as `chat_model`."""
        return self._models.reranker(self.snapshot())

    async def close(self) -> None:
        """Give connections and models back."""
        await self._models.close()
        await self.workspace.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _retriever(
        self, snapshot: Snapshot, *, needs_vectors: bool, embedder: QueryEmbedder | None = None
    ) -> Retriever:
        active, store = self._chunks_of(snapshot), self.workspace.index_store
        lexical = store.lexical(self.name)
        if not needs_vectors:
            return Retriever(active, lexical=lexical)
        embedder = embedder or await self._models.embedder(snapshot)
        vectors = store.vectors(self.name, snapshot.embedding_profile_id, snapshot.embedding_dimensions)
        return Retriever(active, vectors=vectors, embedder=embedder, lexical=lexical)

    def _chunks_of(self, snapshot: Snapshot) -> SnapshotChunks:
        """The chunks of a snapshot; those of the one that is live stay at hand."""
        if snapshot is not self._snapshot:
            return SnapshotChunks(self.workspace.object_store, snapshot, self._cache)
        if self._active is None:
            self._active = SnapshotChunks(self.workspace.object_store, snapshot, self._cache)
        return self._active


def _searches_of(retriever: Retriever) -> dict[str, BaseSearch]:
    """The modes that ask no model but the embedder, by name."""
    return {
        "vector_search": retriever.vector_search,
        "full_text_search": retriever.full_text_search,
        "hybrid_search": retriever.hybrid_search,
    }
