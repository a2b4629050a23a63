"""A base whose indexes are in a given store, built and looked at: for what must be equal on every kind of Milvus."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from uuid import uuid4

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.adapters.milvus import MilvusIndexStore, MilvusLimits
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.index.ports import Equals, IndexStore
from lorebase.runs.records import RecipeRunRecord
from lorebase.workspace_config import VectorStoreConfig
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents

VECTORS_ONLY = RECIPE.replace("      - index_full_text: {}\n", "")
QUERIES = ("what does a berth cost", "灯塔几点亮灯", "when are beans sown")
State = tuple[list[int], list[list[str]]]


class OnStore(FakeWorkspace):
    """A workspace whose indexes are in a given store."""

    def __init__(self, folder: Path, store: IndexStore) -> None:
        super().__init__(folder)
        self.store = store

    @cached_property
    def index_store(self) -> IndexStore:
        return self.store


def on_server(place: VectorStoreConfig, limits: MilvusLimits | None = None) -> MilvusIndexStore:
    token = place.token.get_secret_value() if place.token else ""
    return MilvusIndexStore.on_server(place.uri, token=token, limits=limits)


def new_name() -> str:
    """A name that no base on a shared server has."""
    return f"life-{uuid4().hex[:12]}"


class PlacedBase:
    """A base with its documents: by vectors alone, because servers before 2.5 have no full text.

    Args:
        folder: Of its documents and its workspace.
        name: Its name.
        store: Where its indexes are.
    """

    def __init__(self, folder: Path, name: str, store: IndexStore) -> None:
        self.folder = folder
        self.name = name
        self.layout = BaseLayout(name)
        self.workspace = OnStore(folder / "ws", store)

    async def build(self, texts: dict[str, str]) -> State:
        """Build these documents and no others; it must succeed."""
        record = await self.try_to_build(texts)
        assert record.status == "succeeded", record.error
        return await self.state()

    async def try_to_build(self, texts: dict[str, str]) -> RecipeRunRecord:
        """Build these documents and no others, with several task runs a step."""
        documents = self.folder / "documents"
        documents.mkdir(parents=True, exist_ok=True)
        for path in documents.iterdir():
            path.unlink()
        write_documents(self.folder, texts)
        recipe = recipe_in(self.folder, VECTORS_ONLY.replace("name: demo", f"name: {self.name}"))
        config = KnowledgeBaseBuilderConfig(task_run_weight=2)
        return (await KnowledgeBase(self.name, self.workspace).rebuild(recipe, config=config)).record

    async def state(self) -> State:
        """Entities in the index, searchable ones, hidden ones; and the texts that each query finds."""
        snapshot = self.live()
        assert snapshot.embedding_profile_id is not None
        assert snapshot.embedding_dimensions is not None
        index = self.workspace.index_store.vectors(
            self.name, snapshot.embedding_profile_id, snapshot.embedding_dimensions
        )
        wheres = ((), (Equals("searchable", value=True),), (Equals("searchable", value=False),))
        counts = [await index.count(where) for where in wheres]
        return counts, await self.found()

    async def found(self) -> list[list[str]]:
        """The text that fits each query best: below it, equal cosines differ in their last bit from store to store."""
        base = KnowledgeBase.load(self.name, self.workspace)
        answers = [await base.query(query, mode="vector_search", top_k=1) for query in QUERIES]
        return [[one.text for one in answer.results] for answer in answers]

    def live(self) -> Snapshot:
        """The snapshot that readers see."""
        return SnapshotStore(self.workspace.object_store, self.layout).require_live()

    async def close(self) -> None:
        """Give the connections back."""
        await self.workspace.index_store.close()
