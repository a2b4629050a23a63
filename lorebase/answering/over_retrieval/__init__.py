"""Answers over retrieval: evidence from a query, answers from it that are checked, reviewed, repaired and numbered."""

from __future__ import annotations

from lorebase.answering.over_retrieval.answerer import Answerer
from lorebase.answering.over_retrieval.asking import AskPorts
from lorebase.answering.over_retrieval.conflicts import diverging_figures
from lorebase.answering.over_retrieval.evidence import Evidence, EvidencePassage, Found
from lorebase.answering.over_retrieval.options import AskOptions
from lorebase.answering.over_retrieval.records import AnsweredQuestion, AnswerSource, AnswerUsage, Takeover

__all__ = [
    "AnswerSource",
    "AnswerUsage",
    "AnsweredQuestion",
    "Answerer",
    "AskOptions",
    "AskPorts",
    "Evidence",
    "EvidencePassage",
    "Found",
    "Takeover",
    "diverging_figures",
]
