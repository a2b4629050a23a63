"""For extractive answers: not a sentence that the evidence does not hold."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import regex

from lorebase.answering.ready_checks.claims import without_citations
from lorebase.answering.ready_checks.grounded import GroundedAnswer, excerpt
from lorebase.index.words import UNSPACED_SCRIPTS
from lorebase.operation.check_results import CheckResult, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

_UNSPACED = "".join(rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS)
_WHITE_SPACE = regex.compile(r"\s+")
# A line break inside Chinese text, or a place where a citation was, is no space between words.
_NEEDLESS_SPACE = regex.compile(rf"(?<=[{_UNSPACED}\p{{P}}])\s|\s(?=[{_UNSPACED}\p{{P}}])")
_SPACED_WORD = regex.compile(rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]", regex.VERSION1)


@dataclass(frozen=True, slots=True)
class OnlyEvidenceText:
    """Every sentence stands in a passage, word for word: TEXT_OUTSIDE_EVIDENCE.

    White space may differ, and citations of answer and passage do not count. A fixed text of the program passes.
    """

    id: str = "only-evidence-text"

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Look each sentence up in the passages."""
        del context
        if value.written_by == "program":
            return result_of(())
        passages = [_comparable(without_citations(passage.text)) for passage in value.passages]
        return result_of(
            tuple(
                CheckIssue(
                    code="TEXT_OUTSIDE_EVIDENCE",
                    message=f"No passage holds this sentence: {excerpt(claim.text)}",
                    path=("claims", index),
                )
                for index, claim in enumerate(value.claims())
                if not any(_holds(passage, _comparable(claim.text)) for passage in passages)
            )
        )


def _comparable(text: str) -> str:
    single = _WHITE_SPACE.sub(" ", unicodedata.normalize("NFC", text)).strip()
    return _NEEDLESS_SPACE.sub("", single)


def _holds(passage: str, sentence: str) -> bool:
    """Whether the sentence stands there with whole words: "able" is not held by "unable"."""
    start = passage.find(sentence)
    while start >= 0:
        end = start + len(sentence)
        if not _cuts_word(passage, start) and not _cuts_word(passage, end):
            return True
        start = passage.find(sentence, start + 1)
    return False


def _cuts_word(text: str, position: int) -> bool:
    around = text[max(0, position - 1) : position + 1]
    return len(around) == 2 and all(_SPACED_WORD.match(letter) for letter in around) and position > 0  # noqa: PLR2004 (a letter on each side)
