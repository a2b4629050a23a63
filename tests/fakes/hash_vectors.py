"""Vectors that are hashes of byte trigrams: quick, deterministic, and near for texts that share words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lorebase.models.vectors import unit_rows

DIMENSIONS = 384
_GROUP_BYTES = 65_536


def hash_vectors(texts: Sequence[str], dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    """One unit row a text: its byte trigrams, hashed into signed buckets. Does not depend on the other texts."""
    encoded = [text.encode() + b"\0\0" for text in texts]
    counts = np.zeros((len(encoded), 2, dimensions), dtype=np.int64)
    start = 0
    while start < len(encoded):  # group by group, so that the arrays of one stay in the processor's cache
        end, size = start, 0
        while end < len(encoded) and size < _GROUP_BYTES:
            size += len(encoded[end])
            end += 1
        counts[start:end] = _trigram_counts(encoded[start:end], dimensions)
        start = end
    rows = (counts[:, 0] - counts[:, 1]).astype(np.float32)
    rows[~rows.any(axis=1), 0] = 1.0
    return unit_rows(rows)


def _trigram_counts(encoded: Sequence[bytes], dimensions: int) -> NDArray[np.int64]:
    joined = np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.uint32)
    hashed = (joined[:-2] * np.uint32(0x9E3779B1)) ^ (joined[1:-1] * np.uint32(0x85EBCA77))
    hashed = (hashed ^ (joined[2:] * np.uint32(0xC2B2AE3D))) * np.uint32(0x27D4EB2F)
    hashed ^= hashed >> np.uint32(15)
    cells = len(encoded) * 2 * dimensions
    lengths = [len(each) for each in encoded]
    first_cell = np.repeat(np.arange(0, cells, 2 * dimensions, dtype=np.int64), lengths)
    ends = np.cumsum(lengths)
    first_cell[np.concatenate((ends - 2, ends - 1))] = cells  # these trigrams reach into the next text
    counts = np.bincount(first_cell[:-2] + hashed % np.uint32(2 * dimensions), minlength=cells)[:cells]
    return counts.reshape(len(encoded), 2, dimensions)
