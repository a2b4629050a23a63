"""Checks of citations: every claim has one, it leads somewhere, and what it leads to says the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import regex

from lorebase.answering.ready_checks.claims import Claim, cited_numbers
from lorebase.answering.ready_checks.grounded import GroundedAnswer, excerpt
from lorebase.index.words import passage_words, query_words
from lorebase.operation.check_results import CheckResult, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

_FIGURE = regex.compile(r"\d+(?:[.,:/]\d+)*")
_THOUSANDS = regex.compile(r"(?<=\d)[,，](?=\d{3}(?!\d))")
_FUNCTION_WORDS: Final = frozenset(
    query_words(
        "a an and are as at be been but by can could did do does for from had has have if in into is it its may might"
        " must no nor not of on or shall should so such than that the their them then there these they this those to"
        " was were what when where which while who will with would you your we our i"
    )
)
"""English words that stand in nearly every passage, and so support nothing."""


class Entailment(Protocol):
    """A model, local and quick, that says whether one text follows from another."""

    def entails(self, premise: str, claim: str, /) -> bool:
        """Whether the claim follows from the premise."""
        ...


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A passage, cut once for all claims that cite it."""

    text: str
    words: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Evidence:
        return cls(text, frozenset(passage_words(text)), frozenset(_figures(text)))


@dataclass(frozen=True, slots=True)
class EveryClaimCited:
    """Every sentence cites a passage: UNCITED_CLAIM. Questions, and lines that lead to a list, need not."""

    id: str = "every-claim-cited"

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Look for claims without a citation; a fixed text of the program needs none."""
        del context
        if value.written_by == "program":
            return result_of(())
        return result_of(
            tuple(
                CheckIssue(
                    code="UNCITED_CLAIM",
                    message=f"This sentence cites no passage: {excerpt(claim.text)}",
                    path=("claims", index),
                )
                for index, claim in enumerate(value.claims())
                if claim.needs_citation and not claim.citations
            )
        )


@dataclass(frozen=True, slots=True)
class CitationsExist:
    """Every number cited is that of a passage, counted from 1: UNKNOWN_CITATION."""

    id: str = "citations-exist"

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Look for numbers that lead nowhere."""
        del context
        count = len(value.passages)
        return result_of(
            tuple(
                CheckIssue(
                    code="UNKNOWN_CITATION",
                    message=f"[{number}] is cited, but the passages are numbered 1 to {count}."
                    if count
                    else f"[{number}] is cited, but there are no passages.",
                    path=("citations", number),
                )
                for number in dict.fromkeys(cited_numbers(value.text))
                if value.passage(number) is None
            )
        )


@dataclass(frozen=True, slots=True)
class CitationsSupport:
    """What is cited says what the sentence says: UNSUPPORTED_CLAIM, UNSUPPORTED_FIGURE.

    By words alone: enough of the sentence's words, and all of its figures, stand in the passages that it cites. That
    tells invented things from evidence, not a statement from its denial, and nothing where answer and evidence are in
    different languages; for those there is `entailment`.

    Attributes:
        min_share: Share of the sentence's words that have to stand in the passages, 0.0 to 1.0; words that stand in
            nearly every text do not count.
        entailment: Asked about sentences that passed by their words; None to do without.
    """

    id: str = "citations-support"
    min_share: float = 0.5
    entailment: Entailment | None = None

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Compare each sentence with the passages that it cites, as far as they exist."""
        issues: list[CheckIssue] = []
        known = [_Evidence.of(passage.text) for passage in value.passages]
        for index, claim in enumerate(value.claims()):
            context.signal.raise_if_cancelled()
            cited = [known[number - 1] for number in claim.citations if value.passage(number) is not None]
            if cited:
                issues += self._faults(claim, cited, index)
        return result_of(tuple(issues))

    def _faults(self, claim: Claim, cited: Sequence[_Evidence], index: int) -> Iterator[CheckIssue]:
        missing = _figures(claim.text).difference(*(evidence.figures for evidence in cited))
        if missing:
            yield CheckIssue(
                code="UNSUPPORTED_FIGURE",
                message=f"The cited passages do not hold {', '.join(sorted(missing))}: {excerpt(claim.text)}",
                path=("claims", index),
            )
        elif _share(claim.text, cited) < self.min_share or not self._follows(claim.text, cited):
            yield CheckIssue(
                code="UNSUPPORTED_CLAIM",
                message=f"The cited passages do not say this: {excerpt(claim.text)}",
                path=("claims", index),
            )

    def _follows(self, claim: str, cited: Sequence[_Evidence]) -> bool:
        premise = "\n".join(evidence.text for evidence in cited)
        return self.entailment is None or self.entailment.entails(premise, claim)


def _share(claim: str, cited: Sequence[_Evidence]) -> float:
    words = set(query_words(claim)) - _FUNCTION_WORDS
    missing = words.difference(*(evidence.words for evidence in cited))
    return 1.0 - len(missing) / len(words) if words else 1.0


def _figures(text: str) -> set[str]:
    folded = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return set(_FIGURE.findall(folded))
