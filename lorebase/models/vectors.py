"""Vectors as the index wants them: float32, rows of unit length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Every row divided by its length; a row of zeros stays one.

    Args:
        rows: Finite numbers, shape (texts, dimensions).

    Returns:
        A new float32 array of the same shape. Lengths are taken in float64, so that no square overflows.
    """
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return unit.astype(np.float32)
