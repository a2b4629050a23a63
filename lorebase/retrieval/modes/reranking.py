"""Candidates in the order of a reranker."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lorebase.errors import MalformedAnswerError
from lorebase.models.rerank import RankedText, Reranker
from lorebase.retrieval.model import ComponentScores, SearchResult
from lorebase.retrieval.modes.searched import ranked


async def reranked(
    reranker: Reranker, question: str, candidates: Sequence[SearchResult], top_k: int
) -> tuple[SearchResult, ...]:
    """The best of the candidates by the reranker's score, equal scores by rising chunk id.

    A candidate that the reranker left out counts 0 and keeps no rerank score. The reranker cuts long texts for itself;
    texts and citations of the results stay whole.

    Args:
        reranker: Who judges; asked once, and not at all about nothing.
        question: The question of the user.
        candidates: Confirmed by the authority, at most the reranker's `max_texts`.
        top_k: Most results.

    Raises:
        MalformedAnswerError: A candidate stands twice in the answer or there is no such one, a score is no number, or
            there is no score at all.
        DependencyError: The reranker did not answer.
    """
    if not candidates:
        return ()
    answer = await reranker.rerank(question, [candidate.text for candidate in candidates], len(candidates))
    scores = _checked(answer, len(candidates))
    judged = [_judged(candidate, scores.get(index)) for index, candidate in enumerate(candidates)]
    best_first = sorted(judged, key=lambda scored: (-scored[1], scored[0].chunk_id))
    return ranked(best_first, top_k)


def _judged(candidate: SearchResult, score: float | None) -> tuple[SearchResult, float]:
    scores = (candidate.scores or ComponentScores()).model_copy(update={"rerank": score})
    return candidate.model_copy(update={"scores": scores}), score or 0.0


def _checked(answer: Sequence[RankedText], candidates: int) -> dict[int, float]:
    scores: dict[int, float] = {}
    for text in answer:
        if not 0 <= text.index < candidates:
            raise _malformed(f"names text {text.index}; it was given {candidates}, from 0")
        if text.index in scores:
            raise _malformed(f"names text {text.index} twice")
        if not math.isfinite(text.score):
            raise _malformed(f"gives text {text.index} no finite score")
        scores[text.index] = text.score
    if not scores:
        raise _malformed(f"judges none of {candidates} texts")
    return scores


def _malformed(what: str) -> MalformedAnswerError:
    return MalformedAnswerError(
        f"The reranker's answer {what}.",
        remedy="Look whether the recipe's models.rerank names a reranker.",
        dependency="rerank",
    )
