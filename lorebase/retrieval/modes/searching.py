"""The query modes rerank_search, rewrite_search and multihop_search, over the best base mode that a base has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lorebase.errors import UnsupportedModeError, UsageError
from lorebase.extraction.languages import Language
from lorebase.index.ports import Filter
from lorebase.models.chat import ChatModel
from lorebase.models.rerank import Reranker
from lorebase.retrieval.fusion import reciprocal_rank_fusion
from lorebase.retrieval.model import QueryResult, SearchResult
from lorebase.retrieval.modes.hopping import EVIDENCE_EACH, hops_of, over_all_hops
from lorebase.retrieval.modes.metering import QueryEmbeddings, QueryMeter
from lorebase.retrieval.modes.prompts import HOP_PROMPT, REWRITE_PROMPT
from lorebase.retrieval.modes.reranking import reranked
from lorebase.retrieval.modes.rewriting import rewritten
from lorebase.retrieval.modes.searched import Searched, all_of, joined, ranked
from lorebase.retrieval.modes.settings import ModeSettings
from lorebase.retrieval.provenance import QueryTrace
from lorebase.retrieval.request import MAX_TOP_K, SearchRequest, checked_request

Languages = Callable[[], Awaitable[Iterable[Language]]]


class BaseSearch(Protocol):
    """A base mode of one base, such as `Retriever.hybrid_search`: its results are confirmed by the authority."""

    async def __call__(self, query: str, *, top_k: int, where: Filter) -> QueryResult:
        """The best chunks for the query."""
        ...


@dataclass(frozen=True, slots=True)
class ModelPorts:
    """The models of one query, all counted by one meter.

    Attributes:
        meter: Counts what they take.
        chat: The chat model, where the recipe names one.
        reranker: The reranker, where the recipe names one.
        embeddings: The embedder that the base search uses; lets several queries be embedded in one call.
        session_id: As in `ChatRequest`.
    """

    meter: QueryMeter
    chat: ChatModel | None = None
    reranker: Reranker | None = None
    embeddings: QueryEmbeddings | None = None
    session_id: str = ""


class ModelSearcher:
    """Answers one query in a mode that asks a model.

    Every model is asked once a query, however the modes are nested, but for the hops of a multi-hop search. A model
    that fails is an error, never the results without it.

    Args:
        search: The base mode.
        base_mode: Its name.
        models: The models.
        languages: Tells the languages of the base; called only by a rewritten search.
        settings: Bounds.
    """

    def __init__(
        self,
        search: BaseSearch,
        base_mode: str,
        models: ModelPorts,
        languages: Languages,
        settings: ModeSettings | None = None,
    ) -> None:
        self._search = search
        self._base_mode = base_mode
        self._models = models
        self._languages = languages
        self._settings = settings or ModeSettings()

    async def rerank_search(self, query: str, *, top_k: int, where: Filter = ()) -> QueryResult:
        """The candidates of the base mode in the order of the reranker; scores are its scores.

        Raises:
            UsageError: Query out of range, or `top_k` above the candidates that the reranker sees.
            UnsupportedModeError: The recipe names no reranker.
            DependencyError: Reranker, embedder, index or authority did not answer.
        """
        request = checked_request(query, top_k, where)
        width = self._width(request)
        found = await self._base(request.query, width, where)
        candidates = list(joined([Searched(request.query, found)]).values())
        trace = self._trace([Searched(request.query, found)], reranked=len(candidates))
        return self._result("rerank_search", request, await self._reranked(request, candidates), trace)

    async def rewrite_search(self, query: str, *, top_k: int, where: Filter = ()) -> QueryResult:
        """What the base mode finds for the question and for other wordings of it, their ranks fused.

        The chat model writes the wordings in one request. Scores are those of the fusion, or of the reranker.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The recipe names no chat model, or no reranker where one is to follow.
            DependencyError: A model, an index or the authority did not answer.
        """
        request = checked_request(query, top_k, where)
        width = self._width(request) if self._settings.then_rerank else request.top_k
        variants = await rewritten(
            self._chat(),
            request.query,
            await self._languages(),
            self._settings.variants,
            session_id=self._models.session_id,
        )
        queries = [request.query, *variants]
        if self._models.embeddings is not None:
            await self._models.embeddings.embed_queries(queries)
        found = await all_of([self._base(text, max(width, EVIDENCE_EACH), where) for text in queries])
        searches = [
            Searched(text, results, variant=number or None)
            for number, (text, results) in enumerate(zip(queries, found, strict=True))
        ]
        chunks = joined(searches)
        fused = reciprocal_rank_fusion([search.ranking for search in searches])
        best = ranked(((chunks[key], score) for key, score in fused), width)
        trace = self._trace(searches, prompt_version=REWRITE_PROMPT.version)
        return await self._finished("rewrite_search", request, best, trace)

    async def multihop_search(self, query: str, *, top_k: int, where: Filter = ()) -> QueryResult:
        """What the base mode finds for the question and for the further questions that its evidence leads to.

        Scores are 1 divided by the best rank that a search gave the chunk, see `over_all_hops`, or the reranker's.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The recipe names no chat model, or no reranker where one is to follow.
            DependencyError: A model, an index or the authority did not answer.
        """
        request = checked_request(query, top_k, where)
        width = self._width(request) if self._settings.then_rerank else request.top_k
        hops = await hops_of(
            self._chat(),
            request.query,
            lambda text: self._base(text, max(width, EVIDENCE_EACH), where),
            self._settings.hops,
            session_id=self._models.session_id,
        )
        best = ranked(over_all_hops(hops.searches), width)
        trace = self._trace(hops.searches, hops_ended=hops.ended, prompt_version=HOP_PROMPT.version)
        return await self._finished("multihop_search", request, best, trace)

    async def _base(self, query: str, width: int, where: Filter) -> QueryResult:
        return await self._search(query, top_k=min(width, MAX_TOP_K), where=where)

    async def _finished(
        self, mode: str, request: SearchRequest, best: Sequence[SearchResult], trace: QueryTrace
    ) -> QueryResult:
        if not self._settings.then_rerank:
            return self._result(mode, request, best, trace)
        results = await self._reranked(request, best)
        return self._result(mode, request, results, trace.model_copy(update={"reranked": len(best)}))

    async def _reranked(self, request: SearchRequest, candidates: Sequence[SearchResult]) -> tuple[SearchResult, ...]:
        return await reranked(self._reranker(), request.query, candidates, request.top_k)

    def _width(self, request: SearchRequest) -> int:
        """How many candidates the reranker sees."""
        width = min(self._settings.candidates, self._reranker().max_texts)
        if request.top_k > width:
            raise UsageError(
                f"top_k is {request.top_k}, and only {width} candidates are reranked.",
                remedy=f"Ask for at most {width} results, or raise the candidates or models.rerank.max_texts.",
                allowed=width,
            )
        return width

    def _chat(self) -> ChatModel:
        if self._models.chat is None:
            raise _no_model("chat")
        return self._models.chat

    def _reranker(self) -> Reranker:
        if self._models.reranker is None:
            raise _no_model("rerank")
        return self._models.reranker

    def _trace(self, searches: Sequence[Searched], **facts: object) -> QueryTrace:
        return QueryTrace.model_validate(
            {"base_mode": self._base_mode, "searches": tuple(search.done for search in searches), **facts}
        )

    def _result(
        self, mode: str, request: SearchRequest, results: Sequence[SearchResult], trace: QueryTrace
    ) -> QueryResult:
        return QueryResult(
            mode=mode, query=request.query, results=tuple(results), trace=trace, usage=self._models.meter.usage
        )


def _no_model(role: str) -> UnsupportedModeError:
    return UnsupportedModeError(
        f"The recipe of this knowledge base names no model for {role}.", remedy=f"Add models.{role} and build again."
    )
