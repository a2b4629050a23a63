"""The rerank port: which of some texts answer a question best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lorebase.errors import UsageError

RERANK_ROLE = "rerank"
"""Role of the reranker in recipes, budgets and prices."""


@dataclass(frozen=True, slots=True)
class RankedText:
    """One of the texts.

    Attributes:
        index: Its position among the texts that were given.
        score: Higher is better, 0 to 1; comparable within one answer only.
    """

    index: int
    score: float


class Reranker(Protocol):
    """Orders texts by how well they answer a question. Safe to use from several tasks."""

    @property
    def max_texts(self) -> int:
        """Most texts that one call takes."""
        ...

    async def rerank(self, query: str, texts: Sequence[str], top_k: int) -> list[RankedText]:
        """The best of the texts.

        Args:
            query: The question; not blank.
            texts: At most `max_texts`; none gives none.
            top_k: How many to return, at least 1.

        Returns:
            At most `top_k` texts, best first, each index once; among equals the earlier text first.

        Raises:
            UsageError: More than `max_texts` texts, or `top_k` below 1.
            DependencyError: The model gave no usable order.
        """
        ...

    async def close(self) -> None:
        """Give connections back. The reranker is not used after it."""
        ...


def checked_texts(texts: Sequence[str], top_k: int, max_texts: int) -> None:
    """Refuse a call that no reranker takes.

    Raises:
        UsageError: As `Reranker.rerank`.
    """
    if len(texts) > max_texts:
        raise UsageError(f"The reranker takes at most {max_texts} texts, not {len(texts)}.", allowed=max_texts)
    if top_k < 1:
        raise UsageError(f"top_k is at least 1, not {top_k}.", top_k=top_k)


def best_of(ranked: Sequence[RankedText], top_k: int) -> list[RankedText]:
    """The best `top_k`, best first; among equals the earlier text first."""
    return sorted(ranked, key=lambda text: (-text.score, text.index))[:top_k]
