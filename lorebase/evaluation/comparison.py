"""Two evaluations of the same questions: how much better one is, and how sure that is."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy import stats

from lorebase.errors import UsageError
from lorebase.evaluation.model import EvaluationResult, QueryOutcome

CONFIDENCE = 0.95
RESAMPLES = 2_000
_NAMED = 5


class MetricChange(BaseModel):
    """A metric before and now. The interval is a 95 percent bootstrap interval of the mean paired difference."""

    model_config = ConfigDict(frozen=True)

    metric: str
    before: float
    now: float
    difference: float
    low: float
    high: float
    questions: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


def compare(before: EvaluationResult, now: EvaluationResult, *, seed: int = 0) -> tuple[MetricChange, ...]:
    """Pair the questions of two evaluations and compare every metric that is a mean over questions.

    A metric is compared over the questions that have it in both. Resampling is by question (Efron's percentile
    bootstrap), so the same seed gives the same intervals.

    Raises:
        UsageError: The two asked different questions.
    """
    earlier = {outcome.case_id: outcome for outcome in before.outcomes}
    later = {outcome.case_id: outcome for outcome in now.outcomes}
    apart = sorted(
        {
            case_id
            for case_id in earlier.keys() | later.keys()
            if _question(earlier, case_id) != _question(later, case_id)
        }
    )
    if apart:
        raise UsageError(
            f"The two evaluations did not ask the same questions: {', '.join(apart[:_NAMED])}"
            f"{' and others' if len(apart) > _NAMED else ''} differ.",
            remedy="Compare evaluations of one data set.",
            case_ids=apart,
        )
    names = dict.fromkeys(name for outcome in now.outcomes for name in outcome.values)
    changes = []
    for name in names:
        pairs = [
            (earlier[case_id].values[name], outcome.values[name])
            for case_id, outcome in later.items()
            if name in outcome.values and name in earlier[case_id].values
        ]
        if pairs:
            changes.append(_change(name, np.array(pairs), seed))
    return tuple(changes)


def _change(name: str, pairs: np.ndarray[tuple[int, ...], np.dtype[np.float64]], seed: int) -> MetricChange:
    differences = pairs[:, 1] - pairs[:, 0]
    mean = float(differences.mean())
    low = high = mean
    if len(differences) > 1 and np.ptp(differences) > 0:
        interval = stats.bootstrap(
            (differences,),
            np.mean,
            n_resamples=RESAMPLES,
            batch=200,
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(seed),
        ).confidence_interval
        low, high = float(interval.low), float(interval.high)
    return MetricChange(
        metric=name,
        before=float(pairs[:, 0].mean()),
        now=float(pairs[:, 1].mean()),
        difference=mean,
        low=low,
        high=high,
        questions=len(pairs),
    )


def _question(outcomes: dict[str, QueryOutcome], case_id: str) -> str | None:
    return outcomes[case_id].question if case_id in outcomes else None
