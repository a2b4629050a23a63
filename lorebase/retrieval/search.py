"""The query modes: vector, full text, and both fused, each with its candidates re-checked against the authority."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lorebase.documents.model import Chunk
from lorebase.errors import MalformedAnswerError, RefusedError, UnsupportedModeError
from lorebase.index.ports import Filter
from lorebase.retrieval.fusion import DEFAULT_K, reciprocal_rank_fusion
from lorebase.retrieval.model import ComponentScores, QueryResult, result_of
from lorebase.retrieval.ports import ActiveChunks, LexicalSearch, QueryEmbedder, VectorSearch
from lorebase.retrieval.recall import Search, recalled
from lorebase.retrieval.request import DEFAULT_TOP_K, SearchRequest, checked_request


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """How hybrid search weighs its two rankings; the defaults are measured (docs/adr/0004-embedded-milvus.md).

    Attributes:
        k: See `reciprocal_rank_fusion`.
        vector_weight: Weight of the vector ranking.
        text_weight: Weight of the full-text ranking.
    """

    k: int = DEFAULT_K
    vector_weight: float = 1.0
    text_weight: float = 3.0


class Retriever:
    """Answers queries over one knowledge base.

    Args:
        active: The authority that re-checks every candidate.
        vectors: The vector index, with the embedder of its profile; both or none.
        embedder: See `vectors`.
        lexical: The lexical index, where the base has one.
        fusion: Settings of hybrid search.
    """

    def __init__(
        self,
        active: ActiveChunks,
        *,
        vectors: VectorSearch | None = None,
        embedder: QueryEmbedder | None = None,
        lexical: LexicalSearch | None = None,
        fusion: FusionSettings | None = None,
    ) -> None:
        self._active = active
        self._vectors = vectors
        self._embedder = embedder
        self._lexical = lexical
        self._fusion = fusion or FusionSettings()

    async def vector_search(self, query: str, *, top_k: int = DEFAULT_TOP_K, where: Filter = ()) -> QueryResult:
        """The chunks whose meaning is nearest to the query; scores are cosines.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The base has no vector index.
            DependencyError: Embedder, index or authority did not answer; never an empty result instead.
        """
        request = checked_request(query, top_k, where)
        search = await self._vector_search(request)
        found = await recalled(request, search, self._active.resolve)
        scored = [(chunk, score, ComponentScores(vector=score)) for chunk, score in found.values()]
        return _result("vector_search", request, scored)

    async def full_text_search(self, query: str, *, top_k: int = DEFAULT_TOP_K, where: Filter = ()) -> QueryResult:
        """The chunks that share the query's words; scores are BM25. A query without words finds nothing.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The base has no full-text index.
            DependencyError: Index or authority did not answer.
        """
        request = checked_request(query, top_k, where)
        found = await recalled(request, self._text_search(request), self._active.resolve)
        scored = [(chunk, score, ComponentScores(full_text=score)) for chunk, score in found.values()]
        return _result("full_text_search", request, scored)

    async def hybrid_search(self, query: str, *, top_k: int = DEFAULT_TOP_K, where: Filter = ()) -> QueryResult:
        """Both searches at the same time, their ranks fused after the re-check; scores are fusion scores.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The base lacks one of the two indexes.
            DependencyError: Embedder, index or authority did not answer.
        """
        request = checked_request(query, top_k, where)
        text = self._text_search(request)
        self._require_vectors()
        by_vector, by_text = await _both(self._recall_by_vector(request), recalled(request, text, self._active.resolve))
        fused = reciprocal_rank_fusion(
            [list(by_vector), list(by_text)],
            weights=[self._fusion.vector_weight, self._fusion.text_weight],
            k=self._fusion.k,
        )
        chunks = {**by_vector, **by_text}
        scored = [
            (chunks[key][0], score, ComponentScores(vector=_score(by_vector, key), full_text=_score(by_text, key)))
            for key, score in fused
        ]
        return _result("hybrid_search", request, scored)

    async def _recall_by_vector(self, request: SearchRequest) -> dict[str, tuple[Chunk, float]]:
        return await recalled(request, await self._vector_search(request), self._active.resolve)

    async def _vector_search(self, request: SearchRequest) -> Search:
        index, embedder = self._require_vectors()
        vector = await embed_query(embedder, request.query)
        return lambda where: index.search(vector, where, request.recall)

    def _text_search(self, request: SearchRequest) -> Search:
        index = self._lexical
        if index is None:
            raise _missing("full-text index", "index_full_text")
        return lambda where: index.search(request.query, where, request.recall)

    def _require_vectors(self) -> tuple[VectorSearch, QueryEmbedder]:
        if self._vectors is None or self._embedder is None:
            raise _missing("vector index", "index_vectors")
        return self._vectors, self._embedder


async def _both(
    first: Awaitable[Mapping[str, tuple[Chunk, float]]], second: Awaitable[Mapping[str, tuple[Chunk, float]]]
) -> tuple[Mapping[str, tuple[Chunk, float]], Mapping[str, tuple[Chunk, float]]]:
    """Both results; when one fails the other is waited for, so that no call goes on unseen, and the error is raised."""
    answers = await asyncio.gather(first, second, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    left, right = answers
    assert not isinstance(left, BaseException)  # noqa: S101 (raised above; tells the type checker)
    assert not isinstance(right, BaseException)  # noqa: S101 (as above)
    return left, right


async def embed_query(embedder: QueryEmbedder, query: str) -> NDArray[np.float32]:
    """The vector of a query.

    Raises:
        RefusedError: The model refuses the query.
        DependencyError: The model did not answer, or not as it must.
    """
    batch = await embedder.embed_queries([query])
    if batch.failures:
        failure = batch.failures[0]
        raise RefusedError(
            f"The query could not be embedded ({failure.code}): {failure.message}",
            remedy="Ask in other words, or use full_text_search.",
            dependency="embedder",
        )
    if len(batch.vectors) != 1:
        raise MalformedAnswerError(
            f"The embedder gave {len(batch.vectors)} vectors for one query.", dependency="embedder"
        )
    vector: NDArray[np.float32] = batch.vectors[0]
    return vector


def _missing(what: str, step: str) -> UnsupportedModeError:
    return UnsupportedModeError(f"This knowledge base has no {what}.", remedy=f"Add the step {step} to its recipe.")


def _score(found: Mapping[str, tuple[Chunk, float]], chunk_id: str) -> float | None:
    return found[chunk_id][1] if chunk_id in found else None


def _result(mode: str, request: SearchRequest, scored: Sequence[tuple[Chunk, float, ComponentScores]]) -> QueryResult:
    best = scored[: request.top_k]
    return QueryResult(
        mode=mode,
        query=request.query,
        results=tuple(
            result_of(chunk, rank=rank, score=score, scores=scores)
            for rank, (chunk, score, scores) in enumerate(best, start=1)
        ),
    )
