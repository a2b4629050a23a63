"""Whether a question asks for a figure, and whether a sentence holds one that can answer it; English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import regex

from lorebase.index.words import query_words

_ENGLISH_NUMERAL: Final = (
    r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty"
    r"|ninety|hundred|thousand|half)"
)
_ENGLISH_TIME: Final = (
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|times?|met(?:re|er)s?|c?m\b|km\b|working"
    r"|calendar)"
)
_ENGLISH: Final = (
    (
        r"\bhow (?:long|often|old|soon|late|early)\b",
        rf"\b{_ENGLISH_NUMERAL}[\s-]+{_ENGLISH_TIME}|\b(?:once|twice|daily|weekly|monthly|noon|\d+:\d+|aged \d+)",
    ),
    (r"\bhow heavy\b|\bwhat weight\b", rf"\b{_ENGLISH_NUMERAL}\s*(?:kg|g|kilo\w*|gram\w*|tonnes?|tons?|pounds?|lb)\b"),
    (
        r"\bhow (?:far|tall|high|deep|wide)\b",
        rf"\b{_ENGLISH_NUMERAL}\s*(?:mm|cm|m|km|met(?:re|er)s?|kilomet(?:re|er)s?|miles?|inch(?:es)?|feet|foot)\b",
    ),
    (
        r"\bhow (?:many|much|big|large|fast)\b|\bwhen\b|\bwhat (?:time|year|date|percentage|share)\b",
        rf"\d|\b(?:{_ENGLISH_NUMERAL}|once|twice|noon|midnight)\b",
    ),
)
"""What asks for a figure, and what it looks like where it is answered; the first that fits."""
_TIMES: Final = "秒|分钟|刻钟|小时|钟头|天|日|周|星期|个月|月|年|点"
_CHINESE: Final = (
    (regex.compile(r"多久|多长时间|何时|什么时候|什么时间|哪[年天日月]|几[点时]"), _TIMES),
    (regex.compile(r"多少钱|什么价|价格|收费|费用"), "元|角|分|块|美元|免费"),
    (regex.compile(r"多重"), "克|千克|公斤|斤|吨"),
    (regex.compile(r"多[长高远宽深]"), "米|厘米|公里|里|尺"),
)
"""What asks for a figure, and in which units it is answered."""
_CHINESE_UNIT = regex.compile(r"(?:多少|几)(个?\p{Han}{0,2})")
_ENGLISH_UNIT = regex.compile(r"\bhow (?:many|much) (\w+)", regex.IGNORECASE)
_NUMERAL: Final = r"[\d〇零一二三四五六七八九十百千万两半]"


@dataclass(frozen=True, slots=True)
class FigureWanted:
    """What kind of figure answers a question.

    Attributes:
        figure: Found in sentences that hold such a figure; None where no figure is asked for.
        unit_words: Words of the question that name the unit: a sentence that holds nothing else of it is about
            something else that is counted so.
    """

    figure: regex.Pattern[str] | None
    unit_words: frozenset[str] = frozenset()

    @classmethod
    def by(cls, question: str) -> Self:
        """What a question wants."""
        for pattern, units in _CHINESE:
            if pattern.search(question):
                return cls(_numeral_with(units))
        if (asked := _CHINESE_UNIT.search(question)) is not None:
            unit = asked[1]
            shorter = [unit[:length] for length in range(len(unit), 0, -1)]
            figure = _numeral_with("|".join(map(regex.escape, shorter))) if shorter else regex.compile(_NUMERAL)
            return cls(figure, frozenset(query_words(unit)))
        looks = next((looks for asks, looks in _ENGLISH if regex.search(asks, question, regex.IGNORECASE)), None)
        if looks is None:
            return cls(None)
        counted = _ENGLISH_UNIT.search(question)
        return cls(regex.compile(looks, regex.IGNORECASE), frozenset(query_words(counted[1]) if counted else ()))

    @property
    def is_wanted(self) -> bool:
        """Whether a figure is asked for."""
        return self.figure is not None

    def is_in(self, text: str) -> bool:
        """Whether a text holds such a figure."""
        return self.figure is not None and self.figure.search(text) is not None


def _numeral_with(units: str) -> regex.Pattern[str]:
    return regex.compile(rf"{_NUMERAL}\s*(?:{units})")
