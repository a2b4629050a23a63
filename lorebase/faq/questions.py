"""When two questions are the same: width, case, punctuation, spaces and politeness do not tell them apart."""

from __future__ import annotations

import re
import unicodedata

import regex

_KEPT_SIGNS = frozenset("#%&@+$€£¥<>=")
"""Signs that make another word of a word: C# is not C."""

_JOINING = frozenset("'’ʼ`´")
_CJK = r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}"
_GAP_BESIDE_CJK = regex.compile(rf"(?<=[{_CJK}]) +| +(?=[{_CJK}])")
_POLITE_START = re.compile(r"^(?:请问一下|请问|想问一下|我想问|麻烦问一下|please )+")
_PARTICLE_END = re.compile(r"(?<=.)[呢啊呀哦]+$")
_MOST_ROUNDS = 8


def normal_question(text: str) -> str:
    """What two wordings of one question have in common.

    Compatibility forms and width are folded (NFKC), case too; punctuation parts words, except a point between digits;
    spaces beside Chinese characters go, as do 请问 before a question and 呢 after it. Signs that carry meaning stay.

    Args:
        text: A question.

    Returns:
        The normal form, which is its own normal form; empty where nothing but punctuation was asked.
    """
    for _round in range(_MOST_ROUNDS):
        again = _once(text)
        if again == text:
            break
        text = again
    return text


def _once(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = "".join(_shown(folded, place) for place in range(len(folded)))
    joined = _GAP_BESIDE_CJK.sub("", " ".join(plain.split()))
    return _PARTICLE_END.sub("", _POLITE_START.sub("", joined)).strip()


def _shown(text: str, place: int) -> str:
    """A character as it counts: itself, a space, or nothing."""
    char = text[place]
    if char.isspace():
        return " "
    if char in _JOINING or unicodedata.category(char) in {"Cf", "Cc"}:
        return ""
    if char == "." and text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit():
        return char
    if char in _KEPT_SIGNS or unicodedata.category(char)[0] not in "PSZC":
        return char
    return " "


def normal_answer(text: str) -> str:
    """What two wordings of one answer have in common: width, case and white space do not count."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
