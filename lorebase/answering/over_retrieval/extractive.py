"""Answers without a model: the sentences of the evidence that best cover the question, word for word, each cited."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lorebase.answering.over_retrieval.evidence import Evidence, EvidencePassage
from lorebase.answering.over_retrieval.figures import FigureWanted
from lorebase.answering.over_retrieval.pieces import Piece, pieces_of
from lorebase.answering.ready_checks.citations import EveryClaimCited
from lorebase.answering.ready_checks.claims import claims_of
from lorebase.answering.ready_checks.grounded import GroundedAnswer
from lorebase.answering.ready_checks.links import OnlyEvidenceLinks
from lorebase.answering.ready_checks.quotation import OnlyEvidenceText
from lorebase.extraction.languages import Language
from lorebase.index.words import passage_words, query_words
from lorebase.operation.context import OperationContext
from lorebase.retrieval.answerability import content_words

MOST_PIECES = 3
LEAST_SCORE = 0.15
"""Share of the question below which a sentence says nothing about it."""
FURTHER_SCORE = 0.6
"""A further sentence covers at least this share of what the best one covers, ..."""
FURTHER_GAIN = 0.2
"""... and at least this share of the question that nothing chosen so far covers."""
SURROUNDINGS = 0.5
"""What a word counts that only the headings above, or the header of the table, hold."""
FIGURE_BONUS = 1.4
"""For a sentence with a figure where the question asks for one."""
RANK_LOSS = 0.08
"""How much less each further passage counts, because retrieval found it less fitting."""

_LIGHT_WORDS = frozenset(
    query_words(
        "可以 最多 至少 一次 一个 一页 一天 需要 应当 必须 如果 以后 之后 的时 多可 对于 关于"
        " might also may must need can should please tell me"
    )
)
"""Stand in sentences about anything, so they say nothing about which one is meant."""

SENTENCE_ENDS = tuple(".!?。！？；;…")
FIGURE_REACH = 2
"""How many sentences behind the best one may hold the figure that was asked for."""

_NO_CONTEXT: OperationContext[object] = OperationContext(app=None)


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    """A piece of the evidence.

    Attributes:
        piece: What it says.
        number: Passage that it stands in, from 1.
        position: Its place among the pieces of all passages, in reading order.
        covers: Words of the question that it holds, with their shares; all words have 1.0 together.
        score: How well it fits, bonuses included.
    """

    piece: Piece
    number: int
    position: int
    covers: Mapping[str, float]
    score: float


def extractive_answer(evidence: Evidence) -> GroundedAnswer | None:
    """The answer that quotes the evidence; None where no sentence in the question's language says anything about it."""
    scored = scored_pieces(evidence, evidence.in_own_language)
    chosen = _chosen(scored, evidence)
    if not chosen:
        return None
    whole = [scored[position] for position in sorted(_completed(chosen, scored, evidence))]
    for pieces in (whole, chosen[:1]):
        text = _written(pieces, evidence.language)
        answer = GroundedAnswer(question=evidence.question, text=text, passages=evidence.checkable)
        if _reads_as_it_stands(answer):
            return answer
    return None


def _reads_as_it_stands(answer: GroundedAnswer) -> bool:
    """Whether its sentences are still those of the evidence, each cited, once they stand beside each other."""
    checks = (EveryClaimCited(), OnlyEvidenceText())
    return all(check.check(answer, _NO_CONTEXT).status == "passed" for check in checks)


def scored_pieces(evidence: Evidence, numbers: Iterable[int]) -> list[ScoredPiece]:
    """The pieces of these passages, in reading order, with how well each covers the question."""
    asked = content_words(evidence.question)
    wanted = asked - _LIGHT_WORDS or asked
    pieces = [
        (number, evidence.passages[number - 1], piece)
        for number in numbers
        for piece in pieces_of(evidence.passages[number - 1].text)
    ]
    words = [wanted.intersection(passage_words(piece.text)) for _number, _passage, piece in pieces]
    shares = _shares(wanted, words)
    figure = FigureWanted.by(evidence.question)
    scored: list[ScoredPiece] = []
    for position, ((number, passage, piece), held) in enumerate(zip(pieces, words, strict=True)):
        has_figure = figure.is_in(piece.text)
        own = held if has_figure else held - figure.unit_words
        around = wanted.intersection(passage_words(_surroundings(passage, piece))) - own
        covers = {word: shares[word] for word in own} | {word: SURROUNDINGS * shares[word] for word in around}
        score = sum(covers.values()) / (1 + RANK_LOSS * (number - 1)) * (FIGURE_BONUS if has_figure else 1.0)
        says_something = bool(own - figure.unit_words) and not _is_heading(passage, piece)
        scored.append(ScoredPiece(piece, number, position, covers, score if says_something else 0.0))
    return scored


def _shares(wanted: frozenset[str], words: Sequence[frozenset[str]]) -> dict[str, float]:
    """What each word of the question counts: more the fewer pieces hold it; 1.0 together."""
    spread = Counter(word for own in words for word in own)
    weights = {word: math.log(1 + (len(words) + 1) / (1 + spread[word])) for word in wanted}
    total = sum(weights.values()) or 1.0
    return {word: weight / total for word, weight in weights.items()}


def _surroundings(passage: EvidencePassage, piece: Piece) -> str:
    return "\n".join((*passage.result.citation.heading_path, piece.above))


def _is_heading(passage: EvidencePassage, piece: Piece) -> bool:
    return piece.text in passage.result.citation.heading_path


def _chosen(scored: Sequence[ScoredPiece], evidence: Evidence) -> list[ScoredPiece]:
    """The best pieces, each of which adds something to those before it."""
    chosen: list[ScoredPiece] = []
    for candidate in sorted(scored, key=lambda found: (-found.score, found.position)):
        least = FURTHER_SCORE * chosen[0].score if chosen else LEAST_SCORE
        if candidate.score < least or len(chosen) == MOST_PIECES:
            break
        if not chosen or _goes_with(candidate, chosen):
            chosen += [candidate] if _may_be_shown(candidate, evidence) else []
    return chosen


def _goes_with(candidate: ScoredPiece, chosen: Sequence[ScoredPiece]) -> bool:
    """Whether it adds enough, and is prose beside prose or a row of the table that the others are of."""
    best = chosen[0]
    of_one_table = candidate.number == best.number and candidate.piece.above == best.piece.above
    is_alike = candidate.piece.is_row == best.piece.is_row and (of_one_table or not best.piece.is_row)
    return is_alike and _gain(candidate, chosen) >= FURTHER_GAIN


def _gain(candidate: ScoredPiece, chosen: Sequence[ScoredPiece]) -> float:
    """Share of the question that it covers and that nothing chosen covers as well."""
    return sum(
        max(0.0, share - max((other.covers.get(word, 0.0) for other in chosen), default=0.0))
        for word, share in candidate.covers.items()
    )


def _may_be_shown(candidate: ScoredPiece, evidence: Evidence) -> bool:
    """Whether quoting it passes the checks: no image that fetches something, no row that reads as several sentences."""
    text = _line(candidate, evidence.language)
    draft = GroundedAnswer(question=evidence.question, text=text, passages=evidence.checkable)
    is_safe = OnlyEvidenceLinks().check(draft, _NO_CONTEXT).status == "passed"
    return is_safe and all(claim.citations for claim in claims_of(text))


def _completed(chosen: Sequence[ScoredPiece], scored: Sequence[ScoredPiece], evidence: Evidence) -> set[int]:
    """Positions of the chosen pieces, and of those behind them that belong to them.

    These are the ends of sentences that one of them leaves open, and, where the question asks for a figure that none of
    them holds, the sentences behind the best one up to that figure.
    """
    figure = FigureWanted.by(evidence.question)
    positions = {position for piece in chosen for position in _to_its_end(piece.position, scored)}
    if figure.is_wanted and not any(figure.is_in(scored[position].piece.text) for position in positions):
        behind = range(chosen[0].position + 1, chosen[0].position + 1 + FIGURE_REACH)
        reached = [position for position in behind if _same_passage(scored, chosen[0].position, position)]
        found = next((position for position in reached if figure.is_in(scored[position].piece.text)), None)
        if found is not None and not scored[found].piece.is_row:
            positions.update(range(chosen[0].position, found + 1))
    return {
        position for position in positions if scored[position] in chosen or _may_be_shown(scored[position], evidence)
    }


def _to_its_end(position: int, scored: Sequence[ScoredPiece]) -> list[int]:
    positions = [position]
    while scored[positions[-1]].piece.goes_on and _same_passage(scored, position, positions[-1] + 1):
        positions.append(positions[-1] + 1)
    return positions


def _same_passage(scored: Sequence[ScoredPiece], first: int, second: int) -> bool:
    return second < len(scored) and scored[first].number == scored[second].number


def _written(pieces: Sequence[ScoredPiece], language: Language) -> str:
    """Sentences as prose, or as a list where one of them has no end; rows as a list under the header of their table."""
    sentences = [found for found in pieces if not found.piece.is_row]
    is_prose = all(found.piece.text.endswith(SENTENCE_ENDS) for found in sentences)
    first, between = ("", "" if language == "zh" else " ") if is_prose else ("- ", "\n- ")
    prose = first + between.join(_line(found, language) for found in sentences) if sentences else ""
    rows = [line for found in pieces if found.piece.is_row for line in _line(found, language).splitlines()]
    return "\n".join(part for part in (prose, *dict.fromkeys(rows)) if part)


def _line(found: ScoredPiece, language: Language) -> str:
    mark = f"[{found.number}]" if language == "zh" else f" [{found.number}]"
    if not found.piece.is_row:
        return f"{found.piece.text}{mark}"
    return "\n".join(f"- {row}{mark}" for row in (found.piece.above, found.piece.text) if row)
