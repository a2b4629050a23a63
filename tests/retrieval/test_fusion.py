"""Reciprocal-rank fusion."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.retrieval.fusion import reciprocal_rank_fusion

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4)


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["b"]], k=10)

    assert fused == [("b", pytest.approx(1 / 12 + 1 / 11)), ("a", pytest.approx(1 / 11))]


def test_weights_multiply_the_ranks_of_their_ranking() -> None:
    fused = reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 3], k=10)

    assert fused == [("b", pytest.approx(3 / 11)), ("a", pytest.approx(1 / 11))]


def test_equal_scores_come_by_rising_key() -> None:
    assert [key for key, _ in reciprocal_rank_fusion([["z", "a"], ["a", "z"]])] == ["a", "z"]


def test_a_repeated_key_counts_where_it_stands_first() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_no_rankings_give_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []


@given(RANKINGS)
def test_every_key_is_there_once_and_scores_never_rise(rankings: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(rankings)

    assert sorted(key for key, _ in fused) == sorted({key for ranking in rankings for key in ranking})
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(1, 100))
def test_one_ranking_keeps_its_order(ranking: list[str], k: int) -> None:
    assert [key for key, _ in reciprocal_rank_fusion([ranking], k=k)] == ranking


@given(st.permutations("abcdef"), st.permutations("abcdef"), st.integers())
def test_the_order_of_equal_rankings_does_not_matter(first: list[str], second: list[str], seed: int) -> None:
    rankings = [first, second]
    Random(seed).shuffle(rankings)

    assert reciprocal_rank_fusion(rankings) == reciprocal_rank_fusion([first, second])


@pytest.mark.parametrize(
    ("weights", "k"), [([1.0], 10), ([1.0, 0.0], 10), ([1.0, -1.0], 10), ([1.0, float("nan")], 10), (None, 0)]
)
def test_settings_that_make_no_sense_are_refused(weights: list[float] | None, k: int) -> None:
    with pytest.raises(ValueError, match=r"weight|k must"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=weights, k=k)
