"""Questions that are asked more than once: the same answer is a duplicate, another one a conflict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lorebase.faq.model import FaqEntry
from lorebase.faq.questions import normal_answer, normal_question


@dataclass(frozen=True, slots=True)
class FaqClash:
    """Two entries that answer the same question.

    Attributes:
        question: The question, as the first writes it.
        first: The one that comes first, by document and place.
        second: The other.
        is_conflict: Whether their answers differ.
    """

    question: str
    first: FaqEntry
    second: FaqEntry
    is_conflict: bool


def clashes_of(entries: Sequence[FaqEntry]) -> list[FaqClash]:
    """Pairs of enabled entries with a question or a variant in common, each pair once, in the order of `entries`.

    Each entry is compared with the first one of every answer that the question has, so that a question with many equal
    answers gives few pairs.
    """
    by_question: dict[str, list[FaqEntry]] = defaultdict(list)
    found: dict[tuple[str, str], FaqClash] = {}
    for entry in entries:
        if not entry.enabled:
            continue
        answer = normal_answer(entry.answer)
        for key in dict.fromkeys(normal_question(phrasing) for phrasing in entry.phrasings):
            others = by_question[key]
            for other in others:
                is_conflict = normal_answer(other.answer) != answer
                asked = next(one for one in other.phrasings if normal_question(one) == key)
                found.setdefault((other.entry_id, _place_id(entry)), FaqClash(asked, other, entry, is_conflict))
            if not any(normal_answer(other.answer) == answer for other in others):
                others.append(entry)
    return list(found.values())


def without_duplicates(entries: Sequence[FaqEntry]) -> list[FaqEntry]:
    """The enabled entries, of those with the same question and answer the first.

    A duplicate with variants of its own stays, because they lead to it.
    """
    kept: dict[tuple[frozenset[str], str], FaqEntry] = {}
    for entry in entries:
        if not entry.enabled:
            continue
        asked = frozenset(normal_question(phrasing) for phrasing in entry.phrasings)
        kept.setdefault((asked, normal_answer(entry.answer)), entry)
    return list(kept.values())


def _place_id(entry: FaqEntry) -> str:
    return f"{entry.entry_id} {entry.place}"
