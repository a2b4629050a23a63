"""Reciprocal-rank fusion: one ranking out of several, from ranks alone."""

from __future__ import annotations

from collections.abc import Sequence

DEFAULT_K = 10
"""How slowly a rank loses worth. The source of the method takes 60; 10 keeps the first ranks apart from the rest and
was the best of 10, 20, 40 and 60 on XQuAD in English and Chinese (docs/adr/0004-embedded-milvus.md)."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, weights: Sequence[float] | None = None, k: int = DEFAULT_K
) -> list[tuple[str, float]]:
    """Join rankings: a key scores the sum of `weight / (k + rank)` over the rankings that hold it.

    Source: Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet, SIGIR 2009.

    Args:
        rankings: Keys, best first, ranks counted from 1. A key repeated in one ranking counts where it stands first.
        weights: One for each ranking, above 0; all 1 by default.
        k: At least 1.

    Returns:
        Every key with its score, best first, equal scores by rising key.

    Raises:
        ValueError: Not as many weights as rankings, a weight that is not above 0, or `k` below 1.
    """
    used = tuple(weights) if weights is not None else (1.0,) * len(rankings)
    if len(used) != len(rankings):
        msg = f"{len(rankings)} rankings need as many weights, not {len(used)}"
        raise ValueError(msg)
    if k < 1 or not all(weight > 0 for weight in used):
        msg = f"k must be at least 1 and every weight above 0, not k={k}, weights={used}"
        raise ValueError(msg)
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, used, strict=True):
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
