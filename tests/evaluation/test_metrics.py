"""Measures, against trec_eval itself and against what is worked out by hand."""

from __future__ import annotations

import math

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from lorebase.evaluation.metrics import auroc, ranking_values

UNITS = st.sampled_from([f"d{number}" for number in range(12)])


def test_measures_are_those_worked_out_by_hand() -> None:
    wanted = {"q": {"a": 1, "b": 1}}
    ranked = {"q": ["x", "a", "y", "b", "z"]}

    values = ranking_values(wanted, ranked, (2, 5))["q"]

    assert values["recall@2"] == pytest.approx(0.5)
    assert values["precision@5"] == pytest.approx(0.4)
    assert values["mrr@5"] == pytest.approx(0.5)
    assert values["map@5"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert values["ndcg@5"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3)))


@given(
    st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(UNITS, st.integers(1, 3), min_size=1), min_size=1),
    st.dictionaries(st.sampled_from("pqrs"), st.lists(UNITS, unique=True)),
)
def test_measures_equal_trec_eval_for_every_ranking(
    wanted: dict[str, dict[str, int]], ranked: dict[str, list[str]]
) -> None:
    runs = {query: {unit: 1.0 / (1 + rank) for rank, unit in enumerate(units)} for query, units in ranked.items()}
    names = {"recall_5": "recall@5", "P_5": "precision@5", "ndcg_cut_5": "ndcg@5", "map_cut_5": "map@5"}
    reference = pytrec_eval.RelevanceEvaluator(wanted, {"recall.5", "P.5", "ndcg_cut.5", "map_cut.5"}).evaluate(runs)

    values = ranking_values(wanted, ranked, (5,))

    assert set(values) == set(wanted)
    for query, measured in values.items():
        for theirs, ours in names.items():
            assert measured[ours] == pytest.approx(reference.get(query, {}).get(theirs, 0.0), abs=1e-9)


def test_a_question_that_found_nothing_is_zero_and_not_left_out() -> None:
    values = ranking_values({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]}, (5,))

    assert values["r"] == {"recall@5": 0.0, "precision@5": 0.0, "mrr@5": 0.0, "ndcg@5": 0.0, "map@5": 0.0}


def test_auroc_counts_ties_half_and_needs_both_sides() -> None:
    assert auroc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)
    assert auroc([0.9], []) is None
