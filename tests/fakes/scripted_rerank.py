"""A reranker that scores by a function of each text, and counts what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lorebase.errors import LorebaseError
from lorebase.models.rerank import RankedText, best_of, checked_texts


class ScriptedReranker:
    """A `Reranker` without a model.

    Args:
        score: Score of a text, 0 to 1.
        max_texts: Most texts of a call.
        answer: What it answers instead, whatever it is asked.
        failure: Raised by every call.

    Attributes:
        asked: Question and texts of every call.
    """

    def __init__(
        self,
        score: Callable[[str], float] = lambda text: 0.5,
        *,
        max_texts: int = 50,
        answer: Sequence[RankedText] | None = None,
        failure: LorebaseError | None = None,
    ) -> None:
        self._score = score
        self._max_texts = max_texts
        self._answer = answer
        self._failure = failure
        self.asked: list[tuple[str, list[str]]] = []

    @property
    def max_texts(self) -> int:
        return self._max_texts

    async def rerank(self, query: str, texts: Sequence[str], top_k: int) -> list[RankedText]:
        self.asked.append((query, list(texts)))
        if self._failure is not None:
            raise self._failure
        if self._answer is not None:
            return list(self._answer)
        checked_texts(texts, top_k, self._max_texts)
        return best_of([RankedText(index, self._score(text)) for index, text in enumerate(texts)], top_k)

    async def close(self) -> None:
        """Nothing to give back."""
