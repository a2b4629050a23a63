"""The answer is in the language of the question, as far as their writing tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import regex

from lorebase.answering.ready_checks.claims import without_citations
from lorebase.answering.ready_checks.grounded import GroundedAnswer
from lorebase.operation.check_results import CheckResult, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

# What counts as one: a word in writing with spaces, a character in Chinese, a run of kana or Hangul.
_UNITS: Final = {
    "Chinese": r"\p{Script=Han}",
    "Japanese": r"[\p{Script=Hiragana}\p{Script=Katakana}]+",
    "Korean": r"\p{Script=Hangul}+",
    "Latin": r"[\p{Script=Latin}][\p{Script=Latin}\p{M}'’-]*",
    "Cyrillic": r"\p{Script=Cyrillic}+",
    "Greek": r"\p{Script=Greek}+",
    "Arabic": r"\p{Script=Arabic}+",
    "Hebrew": r"\p{Script=Hebrew}+",
    "Thai": r"\p{Script=Thai}+",
    "Devanagari": r"[\p{Script=Devanagari}\p{M}]+",
}
_PATTERNS: Final = {name: regex.compile(unit) for name, unit in _UNITS.items()}
_HAN_TO_KANA: Final = 5
_NOT_PROSE = regex.compile(r"```.*?```|`[^`]*`|https?://\S+|<[^<>]*>", regex.DOTALL)


@dataclass(frozen=True, slots=True)
class SameLanguage:
    """Question and answer are in the same writing: OTHER_LANGUAGE.

    It tells Chinese from English and from others with a writing of their own, not English from French. Code, addresses
    and citations do not count; a few foreign names in an answer do not make it foreign. Where the writing of either is
    not clear, the answer passes.
    """

    id: str = "same-language"

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Compare the writing of question and answer."""
        del context
        asked, answered = writing_of(value.question), writing_of(without_citations(value.text))
        if asked is None or answered is None or asked == answered:
            return result_of(())
        message = f"The question is in {asked} writing, the answer in {answered} writing."
        return result_of((CheckIssue(code="OTHER_LANGUAGE", message=message),))


def writing_of(text: str) -> str | None:
    """The writing that most of a text is in, or None where there is none or two are level.

    Japanese is told by its kana: at least one to five Chinese characters.
    """
    prose = _NOT_PROSE.sub(" ", text)
    counts = {name: len(pattern.findall(prose)) for name, pattern in _PATTERNS.items()}
    kana = sum(map(len, _PATTERNS["Japanese"].findall(prose)))
    if kana and kana * _HAN_TO_KANA >= counts["Chinese"]:
        counts["Japanese"] += counts.pop("Chinese")
    first, second = sorted(counts.items(), key=lambda pair: -pair[1])[:2]
    return first[0] if first[1] > second[1] else None
