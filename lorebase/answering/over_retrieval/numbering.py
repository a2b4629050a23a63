"""Citations numbered in the order of their first use, and the list of what they lead to."""

from __future__ import annotations

from lorebase.answering.over_retrieval.evidence import Evidence, EvidencePassage
from lorebase.answering.over_retrieval.records import AnswerSource
from lorebase.answering.ready_checks.claims import cited_numbers, renumbered


def numbered_answer(text: str, evidence: Evidence) -> tuple[str, tuple[AnswerSource, ...]]:
    """The text with citations counted from 1 in the order in which they stand, and their sources in that order.

    Args:
        text: An answer that was checked: it cites nothing but the evidence's passages.
        evidence: The passages by their numbers.
    """
    order = {number: place for place, number in enumerate(dict.fromkeys(cited_numbers(text)), start=1)}
    sources = tuple(_source(place, evidence.passages[number - 1]) for number, place in order.items())
    return renumbered(text, order.get), sources


def _source(number: int, passage: EvidencePassage) -> AnswerSource:
    result = passage.result
    return AnswerSource(
        number=number,
        snapshot_id=passage.snapshot.id,
        revision_id=result.document.revision_id or passage.snapshot.revision,
        chunk_id=result.chunk_id,
        document=result.document,
        citation=result.citation,
        text=passage.text,
    )
