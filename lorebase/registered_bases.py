"""The registered bases of a workspace: what is in them, their runtimes, and how one is rebuilt."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from lorebase.artifacts.snapshots import Snapshot
from lorebase.cards.kinds import WIKI_CARDS
from lorebase.cards.reading import snapshot_cards
from lorebase.database import Database
from lorebase.errors import NotFoundError
from lorebase.extraction.graph_ports import GraphStore
from lorebase.index.ports import IndexStore
from lorebase.knowledge_base import KnowledgeBase
from lorebase.models.chat import ChatModel
from lorebase.models.ports import Embedder
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.registry.base_recipe import recipe_of_base
from lorebase.registry.content import BaseFolders
from lorebase.registry.keeping import RecordKeeper, not_found_message
from lorebase.registry.rebuilding import RebuildReport
from lorebase.registry.runtimes import RuntimeOptions, RuntimeSettings
from lorebase.registry.service import KnowledgeBases
from lorebase.registry.statistics import SnapshotStatistics
from lorebase.registry.stores import RegistryStore
from lorebase.runs.builder import KnowledgeBaseBuilderConfig
from lorebase.runs.executor import StepExecutor
from lorebase.runs.progress import BuildProgress
from lorebase.workspace import Workspace, WorkspaceObjectStore


@dataclass(frozen=True, slots=True)
class HostCapabilities:
    """What only a host can do.

    Attributes:
        open_chat: Opens the host's chat model in place of the workspace's endpoint.
    """

    open_chat: Callable[[ChatModelSpec], ChatModel]


RegisteredBases: TypeAlias = KnowledgeBases[KnowledgeBase, HostCapabilities]


class HostedWorkspace(Workspace):
    """A workspace whose chat models are the host's, as soon as the host has them.

    Args:
        workspace: Where everything else is.
        host: What the host can do now; None as long as it cannot.
    """

    def __init__(self, workspace: Workspace, host: Callable[[], HostCapabilities | None]) -> None:
        super().__init__(workspace.folder, workspace.config, clock=workspace.clock, random=workspace.random)
        self._workspace = workspace
        self._host = host

    @cached_property
    def object_store(self) -> WorkspaceObjectStore:
        """That of the workspace; so are the others, which are opened once for all bases."""
        return self._workspace.object_store

    @cached_property
    def index_store(self) -> IndexStore:
        """That of the workspace."""
        return self._workspace.index_store

    @cached_property
    def database(self) -> Database:
        """That of the workspace."""
        return self._workspace.database

    @cached_property
    def graph_store(self) -> GraphStore:
        """That of the workspace."""
        return self._workspace.graph_store

    @cached_property
    def registry_store(self) -> RegistryStore:
        """That of the workspace."""
        return self._workspace.registry_store

    async def close(self) -> None:
        """Give back what is opened once for all bases."""
        await self._workspace.close()

    async def open_embedder(self, spec: EmbeddingModelSpec) -> Embedder:
        """As the workspace."""
        return await self._workspace.open_embedder(spec)

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        """The host's chat model; that of the workspace where the host has none."""
        host = self._host()
        return host.open_chat(spec) if host is not None else self._workspace.open_chat(spec)


def open_bases(workspace: Workspace, *, host: Callable[[], HostCapabilities | None] = lambda: None) -> RegisteredBases:
    """The registry of a workspace, with figures from live snapshots and a runtime for each base.

    Every runtime has the host's abilities, whenever they come; who asked for one closes it.

    Args:
        workspace: Where the registry and the bases are.
        host: What only the host can do, asked whenever it is needed.
    """

    def make(settings: RuntimeSettings[HostCapabilities]) -> KnowledgeBase:
        return KnowledgeBase(settings.base_id, HostedWorkspace(workspace, settings.host))

    bases: RegisteredBases = KnowledgeBases(
        workspace.registry_store,
        clock=workspace.clock,
        statistics=statistics_of(workspace),
        folders=_folders_of(workspace),
        runtimes=RuntimeOptions(make=make, host=host, agent_root=workspace.folder.absolute),
    )
    return bases


def statistics_of(workspace: Workspace) -> SnapshotStatistics:
    """What counts the bases of a workspace: documents of live snapshots, and cards that people have accepted."""
    store = workspace.object_store

    def count_cards(snapshot: Snapshot) -> dict[str, int]:
        if WIKI_CARDS.name not in snapshot.artifacts:
            return {}
        return dict(Counter(one.card.card_type for one in snapshot_cards(store, snapshot) if one.is_served))

    return SnapshotStatistics(store, count_cards)


def registered_recipe(workspace: Workspace, base_id: str) -> KnowledgeRecipe:
    """The recipe that rebuilds a registered base. Blocking.

    Raises:
        NotFoundError: There is no such base, or its recipe file is not there.
        InvalidRecipeError: Its recipe cannot be read.
    """
    keeper = RecordKeeper(workspace.registry_store, clock=workspace.clock, folders=_folders_of(workspace))
    read = keeper.read(base_id)
    if read is None:
        raise NotFoundError(not_found_message(base_id), remedy="Look at `lorebase kb list`.", base_id=base_id)
    return recipe_of_base(read.record)


def rebuild_config(*, resume: bool = False, wait_seconds: float = 0.0) -> KnowledgeBaseBuilderConfig:
    """How a rebuild behaves: everything again, from replies of models that are paid for.

    Args:
        resume: Whether it goes on from what is finished instead.
        wait_seconds: How long to wait for another build of the base.
    """
    return KnowledgeBaseBuilderConfig(rebuild=not resume, reuses_replies=True, wait_seconds=wait_seconds)


async def rebuild_base(
    base: KnowledgeBase,
    *,
    config: KnowledgeBaseBuilderConfig | None = None,
    executor: StepExecutor | None = None,
    progress: BuildProgress | None = None,
    run_id: str | None = None,
) -> RebuildReport:
    """Rebuild a registered base: source, classification, extraction, cards, compilation, each in its own layer.

    Everything is derived again, from replies of models that are paid for. A base that people publish shows nothing of
    it; one without governance shows it once it is whole.

    Args:
        base: The base, as a runtime of the registry.
        config: How the build behaves; by default as told above. Whether it activates is the recipe's matter.
        executor: Who runs the task runs.
        progress: Told how far the build is.
        run_id: Id of the run; by default a new one.

    Returns:
        How it went; a step that failed does not raise.

    Raises:
        NotFoundError: There is no such base.
        InvalidRecipeError: Its recipe has faults.
        ConflictError: Another build of the base goes on.
    """
    recipe = await asyncio.to_thread(registered_recipe, base.workspace, base.name)
    used = (config or rebuild_config()).model_copy(update={"activate": recipe.governance == "none"})
    result = await base.rebuild(recipe, config=used, executor=executor, progress=progress, run_id=run_id)
    await asyncio.to_thread(open_bases(base.workspace).recount, base.name)
    return RebuildReport.of(result.record)


def _folders_of(workspace: Workspace) -> BaseFolders:
    return BaseFolders(workspace.folder.absolute())
