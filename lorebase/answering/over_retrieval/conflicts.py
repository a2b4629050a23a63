"""Evidence against evidence: two documents that say the same sentence with different figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeAlias

import regex

from lorebase.answering.over_retrieval.evidence import Evidence
from lorebase.answering.over_retrieval.extractive import LEAST_SCORE, ScoredPiece, scored_pieces
from lorebase.index.words import query_words

Conflicts: TypeAlias = Callable[[Evidence], tuple[int, ...]]
"""Tells the numbers of the passages that contradict each other in what was asked; none where they do not."""

LEAST_WORDS = 3
"""Words besides figures below which two sentences are alike by chance."""
NEAR_BEST = 0.6
"""Share of the best sentence's score that a sentence needs to be about the question."""

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
)
_FIGURE = regex.compile(
    rf"\d+(?:[.,:/]\d+)*|[〇零一二三四五六七八九十百千万两]+|\b(?:{'|'.join(_NUMBER_WORDS.split())})\b",
    regex.IGNORECASE,
)
_YEAR = regex.compile(r"(?:19|20)\d\d")


def diverging_figures(evidence: Evidence) -> tuple[int, ...]:
    """Passages of different documents that say the same of what was asked, word for word, but with other figures.

    Sentences about different years do not contradict each other. Rows of tables are not compared: their header says
    what a figure means. It misses contradictions in other words; an application that knows more gives its own check.
    """
    scored = scored_pieces(evidence, range(1, len(evidence.passages) + 1))
    best = max((piece.score for piece in scored), default=0.0)
    asked = [piece for piece in scored if piece.score >= max(LEAST_SCORE, NEAR_BEST * best) and not piece.piece.is_row]
    for first, second in combinations(asked, 2):
        if _document(evidence, first) != _document(evidence, second) and _contradict(first, second):
            return tuple(sorted((first.number, second.number)))
    return ()


def _document(evidence: Evidence, piece: ScoredPiece) -> str:
    return evidence.passages[piece.number - 1].result.document.id


def _contradict(first: ScoredPiece, second: ScoredPiece) -> bool:
    texts = (first.piece.text, second.piece.text)
    figures = [_FIGURE.findall(text.casefold()) for text in texts]
    words = [query_words(_FIGURE.sub(" ", text)) for text in texts]
    is_same_sentence = words[0] == words[1] and len(words[0]) >= LEAST_WORDS
    return is_same_sentence and len(figures[0]) == len(figures[1]) and _differ_but_for_years(*figures)


def _differ_but_for_years(first: Sequence[str], second: Sequence[str]) -> bool:
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one != other]
    return bool(pairs) and not any(_YEAR.fullmatch(one) or _YEAR.fullmatch(other) for one, other in pairs)
