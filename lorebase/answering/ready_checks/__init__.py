"""Checks worth having for answers with numbered evidence, in English and in Chinese; none of them calls a model."""

from __future__ import annotations

from lorebase.answering.ready_checks.citations import CitationsExist, CitationsSupport, Entailment, EveryClaimCited
from lorebase.answering.ready_checks.grounded import GroundedAnswer, Passage, quote_passage
from lorebase.answering.ready_checks.language import SameLanguage
from lorebase.answering.ready_checks.limits import WithinBubbles, WithinChars
from lorebase.answering.ready_checks.links import OnlyEvidenceLinks
from lorebase.answering.ready_checks.quotation import OnlyEvidenceText

__all__ = [
    "CitationsExist",
    "CitationsSupport",
    "Entailment",
    "EveryClaimCited",
    "GroundedAnswer",
    "OnlyEvidenceLinks",
    "OnlyEvidenceText",
    "Passage",
    "SameLanguage",
    "WithinBubbles",
    "WithinChars",
    "quote_passage",
]
