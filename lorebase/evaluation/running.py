"""Asking every question of a data set and measuring what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Protocol

import numpy as np

from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import ObjectStore
from lorebase.clock import Clock
from lorebase.errors import LorebaseError
from lorebase.evaluation.contents import BaseContents, read_contents, settled
from lorebase.evaluation.metrics import auroc, ranking_values
from lorebase.evaluation.model import (
    Cost,
    DataSet,
    EvaluationCase,
    EvaluationResult,
    Found,
    Latency,
    QueryError,
    QueryOutcome,
)
from lorebase.evaluation.relevance import Judged, judge
from lorebase.models.ports import EmbeddingProfile
from lorebase.recipes.model import Prices
from lorebase.retrieval.answerability import Answerability, answerability
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.provenance import QueryUsage
from lorebase.retrieval.request import checked_request
from lorebase.runs.capabilities import require_mode
from lorebase.runs.records import Capabilities

NEAR = 5
"""Ranks that a reader looks at; measured beside the whole ranking."""

ANSWERABLE_ACCURACY = "answerable_accuracy"
ANSWERABLE_AUROC = "answerable_auroc"
CITATION_CORRECTNESS = "citation_correctness"
CITATIONS_RESOLVE = "citations_resolve"


class Searched(Protocol):
    """A base that can be evaluated; `lorebase.knowledge_base.KnowledgeBase` is one."""

    def snapshot(self) -> Snapshot:
        """What is live."""
        ...

    async def embedding_profile(self) -> EmbeddingProfile | None:
        """Profile of its vectors."""
        ...

    async def query(self, query: str, *, mode: str, top_k: int) -> QueryResult:
        """Search it."""
        ...


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How questions are asked.

    Attributes:
        mode: Query mode.
        top_k: Results of each query, 1 to 100, and the lower of the two ranks that are measured down to.
    """

    mode: str = "hybrid_search"
    top_k: int = 10

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Ranks that are measured down to."""
        return tuple(sorted({min(NEAR, self.top_k), self.top_k}))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question with what came back."""

    case: EvaluationCase
    seconds: float
    result: QueryResult | None
    error: QueryError | None
    verdict: Answerability | None
    judged: Judged


async def evaluate(
    base: Searched,
    store: ObjectStore,
    data_set: DataSet,
    settings: EvaluationSettings,
    *,
    clock: Clock,
    asked: Callable[[int], None] = lambda _: None,
) -> EvaluationResult:
    """Ask every question, one after the other, and measure.

    Measures of rankings are means over the answerable questions, the others over all. A query that fails counts as
    zero in each of them, and as the wrong verdict.

    Args:
        base: The base.
        store: Where its artifacts are.
        data_set: The questions.
        settings: How they are asked.
        clock: The time.
        asked: Told how many questions are done.

    Raises:
        InvalidDataSetError: The base lacks a document or chunk that the data set expects.
        UsageError: `top_k` is out of range.
        UnsupportedModeError: The base cannot serve the mode.
    """
    snapshot = base.snapshot()
    _require_askable(snapshot, settings)
    contents = await asyncio.to_thread(read_contents, store, snapshot)
    cases = (await asyncio.to_thread(settled, data_set, contents)).cases
    profile = await base.embedding_profile() if settings.mode != "full_text_search" else None
    answers: list[_Asked] = []
    for number, case in enumerate(cases, start=1):
        answers.append(await _ask(base, case, settings, profile, clock))
        asked(number)
    prices = Prices.model_validate(snapshot.recipe.get("prices") or {})
    outcomes = _outcomes(answers, settings.cutoffs, contents, prices)
    return _result(snapshot, data_set.name, settings, outcomes, clock.now())


def _require_askable(snapshot: Snapshot, settings: EvaluationSettings) -> None:
    """End before the first query what would end every one of them."""
    checked_request("any", settings.top_k, ())
    offered = Capabilities(queries=snapshot.queries, search_assets=snapshot.search_assets)
    require_mode(offered, settings.mode, snapshot.base_name, models=snapshot.recipe.get("models", ()))


def _result(
    snapshot: Snapshot,
    data_set: str,
    settings: EvaluationSettings,
    outcomes: tuple[QueryOutcome, ...],
    evaluated_at: datetime,
) -> EvaluationResult:
    return EvaluationResult(
        base_name=snapshot.base_name,
        snapshot_id=snapshot.snapshot_id,
        data_set=data_set,
        mode=settings.mode,
        top_k=settings.top_k,
        evaluated_at=evaluated_at,
        questions=len(outcomes),
        answerable_questions=sum(outcome.answerable for outcome in outcomes),
        errors=sum(outcome.error is not None for outcome in outcomes),
        metrics=metrics_of(outcomes),
        latency=_latency([outcome.seconds for outcome in outcomes]),
        cost=_cost(outcomes),
        outcomes=outcomes,
    )


def metrics_of(outcomes: Sequence[QueryOutcome]) -> dict[str, float]:
    """Means of the measures over the questions for which they are defined, and the AUROC of the verdicts."""
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.values)
    metrics = {name: fmean(outcome.values[name] for outcome in outcomes if name in outcome.values) for name in names}
    separated = auroc(
        [outcome.answerability_score for outcome in outcomes if outcome.answerable],
        [outcome.answerability_score for outcome in outcomes if not outcome.answerable],
    )
    return metrics if separated is None else {**metrics, ANSWERABLE_AUROC: separated}


async def _ask(
    base: Searched, case: EvaluationCase, settings: EvaluationSettings, profile: EmbeddingProfile | None, clock: Clock
) -> _Asked:
    started = clock.monotonic()
    try:
        result = await base.query(case.question, mode=settings.mode, top_k=settings.top_k)
    except LorebaseError as error:
        failed = QueryError(code=error.code, message=str(error))
        return _Asked(case, clock.monotonic() - started, None, failed, None, judge(case.expected, ()))
    seconds = clock.monotonic() - started
    verdict = answerability(case.question, result.results, profile)
    return _Asked(case, seconds, result, None, verdict, judge(case.expected, result.results))


def _outcomes(
    answers: Sequence[_Asked], cutoffs: Sequence[int], contents: BaseContents, prices: Prices
) -> tuple[QueryOutcome, ...]:
    ranked = [asked for asked in answers if asked.case.answerable and not asked.case.expected.is_empty]
    rankings = ranking_values(
        {asked.case.case_id: asked.judged.wanted for asked in ranked},
        {asked.case.case_id: asked.judged.ranked for asked in ranked},
        cutoffs,
    )
    return tuple(_outcome(asked, rankings.get(asked.case.case_id, {}), contents, prices) for asked in answers)


def _outcome(asked: _Asked, ranking: dict[str, float], contents: BaseContents, prices: Prices) -> QueryOutcome:
    answerable = bool(asked.case.answerable)
    found = _found(asked, contents)
    usage, usd = _usage(asked.result.usage if asked.result else None, prices)
    return QueryOutcome(
        case_id=asked.case.case_id,
        question=asked.case.question,
        answerable=answerable,
        # A failed query has the wrong verdict, with the score that is farthest from the right one.
        judged_answerable=asked.verdict.answerable if asked.verdict else not answerable,
        answerability_score=asked.verdict.score if asked.verdict else float(not answerable),
        found=found,
        values={**ranking, **_verdict_values(asked, found)},
        seconds=asked.seconds,
        model_calls=usage[0],
        input_tokens=usage[1],
        output_tokens=usage[2],
        usd=usd,
        error=asked.error,
    )


def _found(asked: _Asked, contents: BaseContents) -> tuple[Found, ...]:
    results = asked.result.results if asked.result else ()
    return tuple(
        Found(
            chunk_id=result.chunk_id,
            document=result.document.name,
            score=result.score,
            is_relevant=relevant,
            citation_resolves=contents.resolves(result),
        )
        for result, relevant in zip(results, asked.judged.relevant, strict=True)
    )


def _verdict_values(asked: _Asked, found: Sequence[Found]) -> dict[str, float]:
    """Right verdict; right first citation where one is given or due; share of citations that lead to their text."""
    answerable = bool(asked.case.answerable)
    if asked.verdict is None:
        failed = {ANSWERABLE_ACCURACY: 0.0, CITATIONS_RESOLVE: 0.0}
        return {**failed, CITATION_CORRECTNESS: 0.0} if answerable else failed
    values = {ANSWERABLE_ACCURACY: float(asked.verdict.answerable == answerable)}
    if asked.verdict.answerable:
        values[CITATION_CORRECTNESS] = float(answerable and found[0].is_relevant and found[0].citation_resolves)
    if found:
        values[CITATIONS_RESOLVE] = fmean(float(result.citation_resolves) for result in found)
    return values


def _usage(usage: QueryUsage | None, prices: Prices) -> tuple[tuple[int, int, int], float]:
    """Calls, input and output tokens, and what they cost."""
    if usage is None:
        return (0, 0, 0), 0.0
    by_role = (("chat", usage.chat), ("rerank", usage.rerank), ("embedding", usage.embedding))
    usd = 0.0
    for role, taken in by_role:
        price = prices.of(role)
        if price is not None:
            usd += taken.input_tokens * price.usd_per_million_input_tokens / 1e6
            usd += taken.output_tokens * price.usd_per_million_output_tokens / 1e6
    taken_all = [taken for _, taken in by_role]
    counts = (
        sum(taken.calls for taken in taken_all),
        sum(taken.input_tokens for taken in taken_all),
        sum(taken.output_tokens for taken in taken_all),
    )
    return counts, usd


def _latency(seconds: Sequence[float]) -> Latency:
    p50, p95 = (float(value) for value in np.quantile(seconds, [0.5, 0.95]))
    return Latency(mean_seconds=fmean(seconds), p50_seconds=p50, p95_seconds=p95, max_seconds=max(seconds))


def _cost(outcomes: Sequence[QueryOutcome]) -> Cost:
    return Cost(
        model_calls=sum(outcome.model_calls for outcome in outcomes),
        input_tokens=sum(outcome.input_tokens for outcome in outcomes),
        output_tokens=sum(outcome.output_tokens for outcome in outcomes),
        usd=sum(outcome.usd for outcome in outcomes),
    )
