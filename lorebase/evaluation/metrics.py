"""Measures of rankings and verdicts, computed by ir-measures (trec_eval) and SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures
from ir_measures import AP, RR, P, R, nDCG
from scipy import stats

_MEASURES = {"recall": R, "precision": P, "mrr": RR, "ndcg": nDCG, "map": AP}


def ranking_values(
    wanted: Mapping[str, Mapping[str, int]], ranked: Mapping[str, Sequence[str]], cutoffs: Sequence[int]
) -> dict[str, dict[str, float]]:
    """Recall, precision, MRR, nDCG and MAP of each question at each cutoff, under names such as `recall@5`.

    Args:
        wanted: Units that answer each question, with grades of 1 or more.
        ranked: Units that were found, best first, without repetition; a question without any has zero everywhere.
        cutoffs: Ranks to look down to, each at least 1.

    Returns:
        Values from 0 to 1, for every question of `wanted`.
    """
    names = {kind @ cutoff: f"{name}@{cutoff}" for name, kind in _MEASURES.items() for cutoff in cutoffs}
    values: dict[str, dict[str, float]] = {case_id: dict.fromkeys(names.values(), 0.0) for case_id in wanted}
    runs = {case_id: _falling_scores(ranked.get(case_id, ())) for case_id in wanted}
    grades = {case_id: dict(units) for case_id, units in wanted.items()}
    if grades:
        for measured in ir_measures.iter_calc(list(names), grades, runs):
            values[measured.query_id][names[measured.measure]] = float(measured.value)
    return values


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Chance that a positive scores above a negative, ties counted half; None where one side is empty."""
    if not positive or not negative:
        return None
    statistic = stats.mannwhitneyu(positive, negative, method="asymptotic").statistic
    return float(statistic) / (len(positive) * len(negative))


def _falling_scores(units: Sequence[str]) -> dict[str, float]:
    """trec_eval orders by score, so ranks become scores."""
    return {unit: float(len(units) - rank) for rank, unit in enumerate(units)}
