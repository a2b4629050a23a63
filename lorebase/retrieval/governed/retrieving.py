"""Retrieval for those who answer: recall from the index, re-check against the releases, evidence or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from lorebase.errors import (
    IndexMismatchError,
    MalformedAnswerError,
    RetrievalTimeoutError,
    UnavailableError,
    UnsupportedModeError,
)
from lorebase.governance.bases import GovernedBase, GovernedBases
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.live_chunks import LiveChunks
from lorebase.governance.store import Store
from lorebase.index.ports import Equals, Filter
from lorebase.models.ports import EmbeddingProfile
from lorebase.models.rerank import Reranker
from lorebase.retrieval.answerability import RESULTS_READ, THRESHOLD, Answerability, answerability
from lorebase.retrieval.governed.evidence import RetrievalResult, evidence_of
from lorebase.retrieval.governed.request import GovernedMode, RetrievalRequest, checked_retrieval
from lorebase.retrieval.governed.settings import RetrievalSettings
from lorebase.retrieval.model import ComponentScores, QueryResult, SearchResult
from lorebase.retrieval.search import Retriever

_NOBODY = 0
"""Organisations count from 1."""
_TRIES = 2
"""A switch that was committed while a query ran is seen by its second try."""


class GovernedRetrieval:
    """Finds evidence in what is live of the caller's organisation.

    Args:
        store: The relational truth that re-checks every candidate.
        bases: Opens the base that is searched.
        settings: Bounds and thresholds.
    """

    def __init__(self, store: Store, bases: GovernedBases, settings: RetrievalSettings | None = None) -> None:
        self._store = store
        self._bases = bases
        self._settings = settings or RetrievalSettings()

    async def retrieve(self, context: PrincipalContext, request: RetrievalRequest) -> RetrievalResult:
        """Evidence for a question, or that there is none.

        The organisation is the caller's and nothing of the request can change it. What is returned was live at one
        moment while this ran: never chunks of two revisions of an item.

        Args:
            context: Who asks.
            request: What.

        Raises:
            ForbiddenError: The caller may not read.
            InvalidInputError: A value is out of range.
            UnsupportedModeError: The base has no index for the mode.
            RetrievalTimeoutError: It took longer than the budget; never "no evidence" instead.
            DependencyError: Embedder, index, database or reranker did not answer; never "no evidence" instead.
            IndexMismatchError: The index was lost, or holds something live in another vector space than is searched;
                never "no evidence" instead.
        """
        context.require(Capability.READ)
        checked = checked_retrieval(request)
        budget_seconds = self._settings.budget_seconds
        budget = asyncio.timeout(budget_seconds)
        try:
            async with budget:
                return await self._retrieve(context, checked)
        except TimeoutError as error:
            if not budget.expired():
                raise UnavailableError(
                    "Something that retrieval needs did not answer in time.", dependency="retrieval"
                ) from error
            raise RetrievalTimeoutError(
                f"The retrieval took longer than {budget_seconds:g} seconds.",
                remedy="Ask again later; an operator may raise retrieval.budget_seconds.",
                dependency="retrieval",
                budget_seconds=budget_seconds,
            ) from error

    async def warm_up(self, base_id: str) -> None:
        """Load model and indexes of a base by a search for nobody, so that the first retrieval has its whole budget.

        For processes that end after a few questions; a server is warm after its first ones.

        Raises:
            UnsupportedModeError: The base has no index.
            DependencyError: Embedder, index or database did not answer.
        """
        base = await self._bases.open(base_id)
        request = RetrievalRequest(base_id=base_id, query="warm up 预热")
        await self._search(base, _best_mode(base), LiveChunks(self._store, _NOBODY, base_id), _NOBODY, request)

    async def _retrieve(self, context: PrincipalContext, request: RetrievalRequest) -> RetrievalResult:
        base = await self._bases.open(request.base_id)
        mode = request.mode or _best_mode(base)
        live = LiveChunks(self._store, context.organ_id, request.base_id)
        results = await self._confirmed(base, mode, live, context.organ_id, request)
        result = self._result(base, mode, request, results)
        if not result.answerable and result.verdict.reason != "NO_SUBJECT" and mode != "full_text_search":
            await _require_same_space(base, live)
        if not results:
            await _require_filled(base, live, context.organ_id)
        return result

    async def _confirmed(
        self, base: GovernedBase, mode: GovernedMode, live: LiveChunks, organ_id: int, request: RetrievalRequest
    ) -> Sequence[SearchResult]:
        """Results that were live at one moment."""
        if mode != "hybrid_search" and base.reranker is None:
            # One recall, and its last re-check was of one moment and just now.
            return await self._search(base, mode, live, organ_id, request)
        confirmed: Sequence[SearchResult] = ()
        for _try in range(_TRIES):
            results = await self._search(base, mode, live, organ_id, request)
            still_live = await live.live([result.chunk_id for result in results])
            confirmed = [result for result in results if result.chunk_id in still_live]
            if len(confirmed) == len(results):
                break
        return confirmed

    async def _search(
        self, base: GovernedBase, mode: GovernedMode, live: LiveChunks, organ_id: int, request: RetrievalRequest
    ) -> Sequence[SearchResult]:
        embedder = base.context.embedder if base.embed is not None else None
        retriever = Retriever(live, vectors=base.vectors(), embedder=embedder, lexical=base.lexical())
        searches = {
            "vector_search": retriever.vector_search,
            "full_text_search": retriever.full_text_search,
            "hybrid_search": retriever.hybrid_search,
        }
        where: Filter = (Equals("organ_id", organ_id), *request.where)
        reranker = base.reranker
        # The verdict compares the best result with others, so at least as many are looked at as it reads.
        width = max(request.top_k, RESULTS_READ)
        if reranker is not None:
            width = max(min(self._settings.max_rerank_texts, reranker.max_texts), request.top_k)
        found = await searches[mode](request.query, top_k=width, where=where)
        return found.results if reranker is None else await self._reranked(reranker, found, request)

    async def _reranked(
        self, reranker: Reranker, found: QueryResult, request: RetrievalRequest
    ) -> Sequence[SearchResult]:
        """The candidates in the order of the reranker, which sees none that the authority has not confirmed."""
        texts = found.results[: min(self._settings.max_rerank_texts, reranker.max_texts)]
        if not texts:
            return ()
        ranked = await reranker.rerank(request.query, [result.text for result in texts], len(texts))
        if any(not 0 <= one.index < len(texts) for one in ranked):
            raise MalformedAnswerError("The reranker named a text that it was not given.", dependency="reranker")
        return [_with_rerank_score(texts[one.index], one.score) for one in ranked]

    def _result(
        self, base: GovernedBase, mode: GovernedMode, request: RetrievalRequest, results: Sequence[SearchResult]
    ) -> RetrievalResult:
        profile = self._profile(base) if mode != "full_text_search" else None
        good = [result for result in results if self._is_evidence(result, profile)]
        verdict = self._verdict(request.query, good, profile)
        if results and not good and verdict.reason == "NOTHING_FOUND":
            # Something was found, though nothing above the floor.
            verdict = verdict.model_copy(update={"reason": "LOW_RELEVANCE"})
        if not verdict.answerable:
            return RetrievalResult(answerable=False, reason="NO_EVIDENCE", mode=mode, verdict=verdict)
        evidence = tuple(evidence_of(result, rank) for rank, result in enumerate(good[: request.top_k], start=1))
        return RetrievalResult(answerable=True, evidence=evidence, mode=mode, verdict=verdict)

    def _verdict(self, query: str, good: Sequence[SearchResult], profile: EmbeddingProfile | None) -> Answerability:
        verdict = answerability(query, good, profile)
        reranked = good[0].scores.rerank if good and good[0].scores else None
        if reranked is not None and verdict.reason != "NO_SUBJECT":
            # Only results of at least the operator's own threshold are left.
            threshold = self._settings.min_rerank_score
            verdict = Answerability(answerable=True, score=reranked, threshold=threshold, reason="ENOUGH_EVIDENCE")
        if verdict.answerable and len(good) < self._settings.min_evidence:
            return Answerability(answerable=False, score=verdict.score, threshold=THRESHOLD, reason="LOW_RELEVANCE")
        return verdict

    def _is_evidence(self, result: SearchResult, profile: EmbeddingProfile | None) -> bool:
        """Whether a result is above the floor: the rest is filling, and no evidence whatever its rank."""
        scores = result.scores
        if scores is not None and scores.rerank is not None:
            return scores.rerank >= self._settings.min_rerank_score
        if profile is None or scores is None or scores.vector is None:
            return True
        return scores.vector >= profile.min_score

    def _profile(self, base: GovernedBase) -> EmbeddingProfile | None:
        profile = base.profile
        if profile is None:
            return None
        return replace(profile, min_score=self._settings.min_scores.get(profile.model, profile.min_score))


def _best_mode(base: GovernedBase) -> GovernedMode:
    if base.embed is None:
        if not base.has_full_text:
            raise UnsupportedModeError(f"The base {base.base_id!r} has no index.", remedy="Add one to its recipe.")
        return "full_text_search"
    return "hybrid_search" if base.has_full_text else "vector_search"


async def _require_same_space(base: GovernedBase, live: LiveChunks) -> None:
    """Refuse a base in which something live has no vectors that a search by the model of now can find."""
    if await live.are_elsewhere(base.profile_id):
        raise IndexMismatchError(
            f"Something that is live in {base.base_id!r} was not embedded with the model that the recipe names now: "
            "no search by meaning can find it.",
            remedy=f"Run `lorebase release reconcile {base.base_id} --reindex`, and then `lorebase task run`.",
            base_id=base.base_id,
        )


async def _require_filled(base: GovernedBase, live: LiveChunks, organ_id: int) -> None:
    """Refuse a base whose indexes hold nothing of an organisation for which something is live.

    Whatever is shown or hidden counts: who publishes switches it just now.
    """
    if not await live.are_any():
        return
    where = (Equals("organ_id", organ_id),)
    for index in (base.vectors(), base.lexical()):
        if index is not None and await index.count(where):
            return
    if await live.are_any():  # or it was taken offline meanwhile
        raise IndexMismatchError(
            f"The index of {base.base_id!r} is empty, and something is live: it was lost.",
            remedy=f"Run `lorebase release reconcile {base.base_id}`.",
            base_id=base.base_id,
        )


def _with_rerank_score(result: SearchResult, score: float) -> SearchResult:
    scores = (result.scores or ComponentScores()).model_copy(update={"rerank": score})
    return result.model_copy(update={"score": score, "scores": scores})
