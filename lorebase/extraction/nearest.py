"""Exact nearest neighbours by cosine between two sets of vectors, in blocks, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 2048
"""Cosines of one block take 16 MiB, however many vectors there are."""

_DIGITS = 4  # a product of the same rows in another block differs in the seventh digit

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NearPair:
    """Rows that are nearest to each other: `left` of the one set, `right` of the other."""

    left: int
    right: int
    cosine: float


def mutual_nearest(
    left: Floats, right: Floats, *, least: float, margin: float, block_rows: int = BLOCK_ROWS
) -> list[NearPair]:
    """Pairs of which each is the other's nearest, by at least `margin` before the next nearest of both.

    Args:
        left: Shape (n, dimensions), rows of unit length.
        right: Shape (m, dimensions), likewise.
        least: Least cosine.
        margin: At least 0.
        block_rows: Rows of each set in one block, at least 1.

    Returns:
        At most min(n, m) pairs by `left`; no row stands in two. Cosines are rounded to four digits.
    """
    if not len(left) or not len(right):
        return []
    of_left, of_right = _Nearest(len(left)), _Nearest(len(right))
    for top in range(0, len(left), block_rows):
        for side in range(0, len(right), block_rows):
            cosines = left[top : top + block_rows] @ right[side : side + block_rows].T
            np.round(cosines, _DIGITS, out=cosines)
            of_left.take(cosines, top, side)
            of_right.take(cosines.T, side, top)
    return list(_agreeing(of_left, of_right, least, margin))


class _Nearest:
    """For each row of a set the nearest row of another one so far, and the cosine of the next nearest."""

    def __init__(self, rows: int) -> None:
        self.place = np.zeros(rows, dtype=np.intp)
        self.best = np.full(rows, -2, dtype=np.float32)
        self.second = np.full(rows, -2, dtype=np.float32)

    def take(self, cosines: Floats, start: int, offset: int) -> None:
        """Look at a block: cosines of the rows from `start` with the other set's rows from `offset`."""
        here = slice(start, start + len(cosines))
        rows = np.arange(len(cosines))
        found = cosines.argmax(axis=1)
        best = cosines[rows, found]
        cosines[rows, found] = -2
        second = cosines.max(axis=1)
        cosines[rows, found] = best
        before = self.best[here].copy()
        self.second[here] = np.maximum(np.minimum(before, best), np.maximum(self.second[here], second))
        self.place[here] = np.where(best > before, found + offset, self.place[here])
        self.best[here] = np.maximum(before, best)


def _agreeing(of_left: _Nearest, of_right: _Nearest, least: float, margin: float) -> Iterator[NearPair]:
    rows = np.arange(len(of_left.place))
    other = of_left.place
    next_best = np.maximum(of_left.second, of_right.second[other])
    agree = (of_right.place[other] == rows) & (of_left.best >= least) & (of_left.best - next_best >= margin)
    for row in np.flatnonzero(agree):
        yield NearPair(int(row), int(other[row]), round(float(of_left.best[row]), _DIGITS))
