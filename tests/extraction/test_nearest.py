"""Exact nearest neighbours in blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.extraction.nearest import NearPair, mutual_nearest
from lorebase.models.vectors import unit_rows


def rows(count: int, seed: int) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32))


def by_definition(left: np.ndarray, right: np.ndarray, least: float, margin: float) -> set[tuple[int, int]]:
    cosines = np.round(left @ right.T, 4)
    found = set()
    for one in range(len(left)):
        for other in range(len(right)):
            rivals = [*np.delete(cosines[one], other), *np.delete(cosines[:, other], one), np.float32(-2)]
            mine = cosines[one, other]
            if mine >= least and mine > max(rivals) and mine - max(rivals) >= margin:
                found.add((one, other))
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10_000), st.integers(1, 4))
def test_the_pairs_are_those_of_the_definition_whatever_the_blocks(
    count: int, others: int, seed: int, block_rows: int
) -> None:
    left, right = rows(count, seed), rows(others, seed + 1)

    found = mutual_nearest(left, right, least=0.3, margin=0.01, block_rows=block_rows)

    assert {(pair.left, pair.right) for pair in found} == by_definition(left, right, 0.3, 0.01)


def test_a_row_with_two_equally_near_ones_has_no_partner_where_a_margin_is_asked() -> None:
    one = np.array([[1, 0]], dtype=np.float32)

    assert mutual_nearest(one, np.concatenate([one, one]), least=0.5, margin=0.01) == []


def test_a_pair_says_how_near_it_is() -> None:
    left = np.array([[1, 0], [0, 1]], dtype=np.float32)
    right = np.array([[0.6, 0.8]], dtype=np.float32)

    assert mutual_nearest(left, right, least=0.5, margin=0.1) == [NearPair(1, 0, 0.8)]


def test_nothing_is_near_to_nothing() -> None:
    assert mutual_nearest(rows(3, 0), rows(0, 0), least=0.0, margin=0.0) == []
