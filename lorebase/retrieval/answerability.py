"""Whether the results of a query hold enough evidence for an answer, or the honest reply is that there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import regex
from pydantic import BaseModel, ConfigDict, Field

from lorebase.faq.questions import normal_question
from lorebase.index.words import passage_words, query_words
from lorebase.models.ports import EmbeddingProfile
from lorebase.retrieval.answerability_words import QUESTION_WORDS
from lorebase.retrieval.model import SearchResult
from lorebase.retrieval.question_subject import names_subject

RESULTS_READ = 10
"""Results that are looked at; the weights are calibrated on ten and on five."""

_HAN = regex.compile(r"\p{Script=Han}")
_LETTER = regex.compile(r"\p{L}")
_HAN_SHARE = 0.3
"""Share of Han among the letters from which a text counts as Chinese or Japanese; Latin names stand in many of them."""


class Answerability(BaseModel):
    """A verdict.

    `NOTHING_FOUND` is for no results at all, `LOW_RELEVANCE` for results that do not answer, `NO_SUBJECT` for a
    question that names nothing to look up, whatever was found. All three mean no evidence.
    """

    model_config = ConfigDict(frozen=True)

    answerable: bool
    score: float = Field(ge=0, le=1, description="How sure; comparable between queries of one profile.")
    threshold: float = Field(ge=0, le=1, description="Score from which on the query counts as answerable.")
    reason: Literal["ENOUGH_EVIDENCE", "NOTHING_FOUND", "LOW_RELEVANCE", "NO_SUBJECT"]


@dataclass(frozen=True, slots=True)
class EvidenceSigns:
    """What speaks for evidence.

    Attributes:
        cosine: Of the best result; where only its words found it, the lowest cosine among the results, which it cannot
            be above. None where nothing was found by vectors.
        coverage: Share of the question's content words that the best result holds.
        lead: By how much that is above the average of the other results.
        same_script: Whether question and best result are both in Han or both not; across scripts words say nothing.
    """

    cosine: float | None
    coverage: float
    lead: float
    same_script: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of a logistic score; 0.5 separates best over English and Chinese.

    Attributes:
        cosine: Weight of the cosine above the profile's `min_score`.
        coverage: Weight of the coverage.
        lead: Weight of the lead.
        offset: What is added.
        across_scripts: Added to `min_score` when question and result are in different scripts, where the cosine decides
            alone.
    """

    cosine: float
    coverage: float
    lead: float
    offset: float
    across_scripts: float = 0.0


CALIBRATIONS = {
    "universal-sentence-encoder-multilingual": Calibration(
        cosine=18.67, coverage=4.31, lead=6.70, offset=-1.87, across_scripts=-0.03
    ),
}
"""By name of the embedding model. How they were measured: docs/reference/answerability.md."""

WORDS_ALONE = Calibration(cosine=0.0, coverage=10.74, lead=3.27, offset=-4.64)
"""For results without cosines, and for models that were not calibrated."""

THRESHOLD = 0.5

RERANK_THRESHOLD = 0.2
"""Where a reranker scored the best result, its score decides."""


def answerability(query: str, results: Sequence[SearchResult], profile: EmbeddingProfile | None) -> Answerability:
    """Decide whether there is enough evidence.

    A calibrated model weighs meaning and words. One that is not needs both: a cosine of at least `min_score`, and the
    question's words. Raising `min_score` makes every profile stricter. A question without a subject has no evidence,
    as its few words stand in passages about anything; unless somebody has written it down as a title or in an FAQ.

    Args:
        query: The question.
        results: What a query mode found, best first; at least two, better five, so that the best can be compared.
        profile: Profile of the vectors behind the results; None where there are none.
    """
    if not names_subject(query) and not _is_title(query, results):
        return Answerability(answerable=False, score=0.0, threshold=THRESHOLD, reason="NO_SUBJECT")
    if not results:
        return Answerability(answerable=False, score=0.0, threshold=THRESHOLD, reason="NOTHING_FOUND")
    reranked = results[0].scores.rerank if results[0].scores else None
    if reranked is not None:
        return _verdict(min(max(reranked, 0.0), 1.0), RERANK_THRESHOLD)
    signs = evidence_signs(query, results)
    score = (
        _score(signs, profile) if profile is not None and signs.cosine is not None else _logistic(WORDS_ALONE, signs)
    )
    return _verdict(score, THRESHOLD)


def _is_title(query: str, results: Sequence[SearchResult]) -> bool:
    """Whether a result stands under the question itself."""
    asked = normal_question(query)
    titles = {title for result in results[:RESULTS_READ] for title in result.citation.heading_path[-1:]}
    titles |= {result.faq.question for result in results[:RESULTS_READ] if result.faq}
    return bool(asked) and asked in {normal_question(title) for title in titles}


def evidence_signs(query: str, results: Sequence[SearchResult]) -> EvidenceSigns:
    """What speaks for evidence in the first ten of at least one result."""
    read = results[:RESULTS_READ]
    words = content_words(query)
    shares = [_share(words, set(passage_words(result.text))) for result in read]
    others = shares[1:]
    cosines = [result.scores.vector for result in read if result.scores and result.scores.vector is not None]
    first = read[0].scores.vector if read[0].scores else None
    return EvidenceSigns(
        cosine=first if first is not None else min(cosines, default=None),
        coverage=shares[0],
        lead=shares[0] - (sum(others) / len(others) if others else 0.0),
        same_script=_is_han(query) == _is_han(read[0].text),
    )


def content_words(query: str) -> frozenset[str]:
    """The words of a question without those that only make it one; all of them where nothing else is left."""
    words = frozenset(query_words(query))
    return words - QUESTION_WORDS or words


def _verdict(score: float, threshold: float) -> Answerability:
    enough = score >= threshold
    reason: Literal["ENOUGH_EVIDENCE", "LOW_RELEVANCE"] = "ENOUGH_EVIDENCE" if enough else "LOW_RELEVANCE"
    return Answerability(answerable=enough, score=score, threshold=threshold, reason=reason)


def _score(signs: EvidenceSigns, profile: EmbeddingProfile) -> float:
    """The score of results with cosines, 0 to 1."""
    calibration = CALIBRATIONS.get(profile.model)
    cosine = signs.cosine or 0.0
    if not signs.same_script:
        least = profile.min_score + (calibration.across_scripts if calibration else 0.0)
        return _sigmoid((calibration or CALIBRATIONS[_DEFAULT]).cosine * (cosine - least))
    if calibration is not None:
        return _logistic(calibration, signs, least=profile.min_score)
    return _logistic(WORDS_ALONE, signs) if cosine >= profile.min_score else 0.0


_DEFAULT = "universal-sentence-encoder-multilingual"


def _logistic(weights: Calibration, signs: EvidenceSigns, *, least: float = 0.0) -> float:
    return _sigmoid(
        weights.cosine * ((signs.cosine or 0.0) - least)
        + weights.coverage * signs.coverage
        + weights.lead * signs.lead
        + weights.offset
    )


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(value, -700.0), 700.0)))


def _share(words: frozenset[str], held: set[str]) -> float:
    return len(words & held) / len(words) if words else 0.0


def _is_han(text: str) -> bool:
    letters = len(_LETTER.findall(text))
    return letters > 0 and len(_HAN.findall(text)) / letters >= _HAN_SHARE
