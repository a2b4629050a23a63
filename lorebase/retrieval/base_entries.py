"""The cards and the FAQ of a base as queries open them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lorebase.artifacts.kinds import CARD_INDEX, FAQ_INDEX
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import ObjectStore
from lorebase.errors import CorruptObjectError
from lorebase.index.entries import open_entries
from lorebase.index.ports import Filter, IndexStore
from lorebase.retrieval.card_search import CardRetriever, ServedCards
from lorebase.retrieval.entries import EntrySearch
from lorebase.retrieval.faq_search import FaqRetriever, SnapshotFaq
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.ports import QueryEmbedder

ENTRY_MODES = {"card_search": CARD_INDEX.name, "faq_search": FAQ_INDEX.name}
"""Modes that search something other than chunks, with the artifact that lists what their index holds."""


class BaseEntries:
    """Answers card and FAQ queries over whichever snapshot is asked for; what was read of the last one stays at hand.

    Args:
        store: Where artifacts and decisions are.
        index_store: Where indexes are.
        embedder: The embedding model of a snapshot; only asked where entries have vectors.
    """

    def __init__(
        self,
        store: ObjectStore,
        index_store: Callable[[], IndexStore],
        embedder: Callable[[Snapshot], Awaitable[QueryEmbedder]],
    ) -> None:
        self._store = store
        self._index_store = index_store
        self._embedder = embedder
        self._snapshot: Snapshot | None = None
        self._cards: ServedCards | None = None
        self._faq: SnapshotFaq | None = None

    async def query(self, snapshot: Snapshot, query: str, mode: str, top_k: int, where: Filter) -> QueryResult:
        """Search cards or the FAQ of a snapshot that offers the mode; see the retrievers."""
        if self._snapshot is None or self._snapshot.snapshot_id != snapshot.snapshot_id:
            self._snapshot, self._cards, self._faq = snapshot, None, None
        search = await self._search(snapshot, ENTRY_MODES[mode])
        if mode == "card_search":
            self._cards = self._cards or ServedCards(self._store, snapshot)
            return await CardRetriever(self._cards, search).card_search(query, top_k=top_k, where=where)
        self._faq = self._faq or SnapshotFaq(self._store, snapshot)
        return await FaqRetriever(self._faq, search).faq_search(query, top_k=top_k, where=where)

    async def _search(self, snapshot: Snapshot, artifact: str) -> EntrySearch:
        collection = snapshot.collections.get(artifact)
        if collection is None:
            raise CorruptObjectError(
                f"The snapshot {snapshot.snapshot_id} does not say where its {artifact} is.", remedy="Build again."
            )
        index = open_entries(
            self._index_store(), snapshot.base_name, collection, dimensions=snapshot.embedding_dimensions
        )
        return EntrySearch(index, None if index.vectors is None else await self._embedder(snapshot))
