"""What is said where no checked answer came about: real evidence, or a fixed text in the question's language."""

from __future__ import annotations

from collections.abc import Iterable

from lorebase.answering.over_retrieval.drafts import NOT_IN_EVIDENCE, Draft, DraftKind
from lorebase.answering.over_retrieval.evidence import Evidence
from lorebase.answering.over_retrieval.extractive import extractive_answer, scored_pieces
from lorebase.answering.over_retrieval.wording import (
    CONTRADICTION,
    HAND_OVER,
    IN_OTHER_LANGUAGE,
    NO_EVIDENCE,
    NO_SUBJECT,
)
from lorebase.answering.ready_checks import GroundedAnswer
from lorebase.operation.issues import CheckIssue

MOST_POINTERS = 3
"""Passages in another language that are pointed at."""


def fallback_draft(evidence: Evidence, issues: Iterable[CheckIssue]) -> Draft:
    """The draft in place of an answer.

    Without evidence it says so, and so it does where a model read the evidence and found no answer in it. A question
    that names nothing to look up is asked for a subject. Documents that contradict each other are quoted against each
    other. Everything else quotes the evidence; evidence in another language than the question is pointed at.
    """
    if evidence.status == "unavailable" and evidence.verdict.reason == "NO_SUBJECT":
        return fixed_draft(evidence, "no_subject", NO_SUBJECT[evidence.language])
    if evidence.status == "unavailable" or any(issue.code == NOT_IN_EVIDENCE for issue in issues):
        return fixed_draft(evidence, "no_evidence", NO_EVIDENCE[evidence.language])
    if evidence.status == "conflict":
        return _contradiction(evidence)
    if (quoted := extractive_answer(evidence)) is not None:
        return Draft(quoted, "quoted")
    if not evidence.in_own_language and evidence.passages:
        citations = "".join(f"[{number}]" for number in range(1, min(len(evidence.passages), MOST_POINTERS) + 1))
        text = IN_OTHER_LANGUAGE[evidence.language].format(citations=citations)
        return fixed_draft(evidence, "other_language", text)
    return fixed_draft(evidence, "hand_over", HAND_OVER[evidence.language])


def fixed_draft(evidence: Evidence, kind: DraftKind, text: str) -> Draft:
    """A fixed text of the program as a draft."""
    answer = GroundedAnswer(question=evidence.question, text=text, passages=evidence.checkable, written_by="program")
    return Draft(answer, kind)


def _contradiction(evidence: Evidence) -> Draft:
    """The best sentence of each of the passages that contradict each other."""
    lines = []
    for number in evidence.conflicting:
        best = max(scored_pieces(evidence, [number]), key=lambda piece: piece.score, default=None)
        if best is not None:
            lines.append(f"- {best.piece.text} [{number}]")
    if not lines:
        return fixed_draft(evidence, "hand_over", HAND_OVER[evidence.language])
    text = "\n".join([CONTRADICTION[evidence.language], *lines])
    return Draft(GroundedAnswer(question=evidence.question, text=text, passages=evidence.checkable), "contradiction")
