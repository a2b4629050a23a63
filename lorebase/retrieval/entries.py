"""Searching an index of entries: by words, and by meaning where it has vectors, both fused after the re-check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from lorebase.errors import UnsupportedModeError
from lorebase.index.entries import EntryIndex
from lorebase.retrieval.fusion import reciprocal_rank_fusion
from lorebase.retrieval.model import ComponentScores
from lorebase.retrieval.ports import QueryEmbedder
from lorebase.retrieval.recall import FoundT, Resolve, recalled
from lorebase.retrieval.request import SearchRequest
from lorebase.retrieval.search import embed_query


@dataclass(frozen=True, slots=True)
class FoundEntry(Generic[FoundT]):
    """An entry that a query found.

    Attributes:
        entry_id: Its key in the index.
        value: What it stands for.
        score: Fusion score, or BM25 where words alone are searched.
        scores: What each search gave it.
    """

    entry_id: str
    value: FoundT
    score: float
    scores: ComponentScores


class EntrySearch:
    """Finds entries.

    Args:
        index: The index.
        embedder: The model of its vectors; needed where it has some.
    """

    def __init__(self, index: EntryIndex, embedder: QueryEmbedder | None = None) -> None:
        self._index = index
        self._embedder = embedder

    async def search(self, request: SearchRequest, resolve: Resolve[FoundT]) -> list[FoundEntry[FoundT]]:
        """The entries that the authority confirms, best first; more than `top_k` of them where there are.

        Raises:
            UnsupportedModeError: The index has vectors, and there is no model for the query's.
            DependencyError: Model, index or authority did not answer.
        """
        index, words = self._index, self._index.words
        by_words = await recalled(request, lambda where: words.search(request.query, where, request.recall), resolve)
        if index.vectors is None:
            return [
                FoundEntry(key, value, score, ComponentScores(full_text=score))
                for key, (value, score) in by_words.items()
            ]
        if self._embedder is None:
            raise UnsupportedModeError("The entries were embedded, and the base names no embedding model.")
        vectors, vector = index.vectors, await embed_query(self._embedder, request.query)
        by_meaning = await recalled(request, lambda where: vectors.search(vector, where, request.recall), resolve)
        values = {**by_meaning, **by_words}
        return [
            FoundEntry(
                key,
                values[key][0],
                score,
                ComponentScores(
                    vector=by_meaning[key][1] if key in by_meaning else None,
                    full_text=by_words[key][1] if key in by_words else None,
                ),
            )
            for key, score in reciprocal_rank_fusion([list(by_meaning), list(by_words)])
        ]
