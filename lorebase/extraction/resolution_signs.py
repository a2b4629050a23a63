"""What can be read off names beside their meaning: script, numbers in them, whether one abbreviates the other."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from lorebase.extraction.resolution_forms import name_tokens

_SCRIPTS = ("Hiragana", "Katakana", "Han", "Hangul", "Cyrillic", "Greek", "Arabic", "Hebrew", "Thai", "Latin")
_OF_SCRIPT = {script: regex.compile(rf"\p{{Script={script}}}") for script in _SCRIPTS}
_SAME_SIDE = {"Hiragana": "Japanese", "Katakana": "Japanese"}

_NUMBER_WORDS: dict[str, str] = {
    word: str(value)
    for words in (
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
        ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"),
    )
    for value, word in enumerate(words, start=1)
}
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2, "十": 10}
_COUNTED = regex.compile(r"第([零一二三四五六七八九十两]+)|([一二三四五六七八九十两]+)(?=[号型级期代届章节世类])")
_STEMS = dict(zip("甲乙丙丁戊", "abcde", strict=True))
_STEM = regex.compile(r"[甲乙丙丁戊](?=[号型级类组方])|(?<=[型类组])[甲乙丙丁戊]")

_SMALL_WORDS = frozenset({"of", "the", "and", "for", "in", "to", "de", "la", "von"})
_SHORT_LATIN = range(3, 7)
_SHORT_HAN = range(2, 5)
_LEAST_LEFT_OUT = 2


def script_of(form: str) -> str:
    """The script that a name is written in; of several, the one that is not Latin; empty where it has no letters."""
    found = next((script for script in _SCRIPTS if _OF_SCRIPT[script].search(form)), "")
    return _SAME_SIDE.get(found, found)


def designators(form: str) -> tuple[str, ...]:
    """Numbers and single letters of a name, which tell one of a kind from the next: two names must agree in them.

    `type a` and `a型` have `a`; `chapter two`, `chapter ii` and `第二章` have `2`.

    Args:
        form: Normal form of the name.
    """
    found = [str(_value(match[1] or match[2])) for match in _COUNTED.finditer(form)]
    found += [_STEMS[match[0]] for match in _STEM.finditer(form)]
    for token in name_tokens(form):
        if token in _NUMBER_WORDS:
            found.append(_NUMBER_WORDS[token])
        elif token.isascii() and (len(token) == 1 or any(one.isdigit() for one in token)):
            found.append(token)
    return tuple(sorted(found))


def _value(numeral: str) -> int:
    """The number of a Chinese numeral below a hundred; of a longer one, its digits one after the other."""
    head, ten, tail = numeral.partition("十")
    if not ten:
        return int("".join(str(_DIGITS[one]) for one in numeral))
    return (_DIGITS.get(head, 1) * 10) + (_DIGITS.get(tail, 0) if tail else 0)


def abbreviation_blocks(form: str) -> Iterator[str]:
    """Keys of a long name under which its abbreviations look for it: its initials, or its first Chinese character."""
    words = form.split(" ")
    if len(words) > 1 and form.isascii():
        yield from {_initials(words), _initials([word for word in words if word not in _SMALL_WORDS])}
    elif len(words) == 1 and script_of(form) == "Han":
        yield form[0]


def abbreviates(short: str, long: str) -> bool:
    """Whether the short name is made of letters of the long one: initials, or characters picked in their order.

    A part of the long name is none: `北大` abbreviates `北京大学`, `北京` does not.
    """
    if short.isascii():
        return short.isalpha() and len(short) in _SHORT_LATIN and short in set(abbreviation_blocks(long))
    if len(short) not in _SHORT_HAN or len(long) - len(short) < _LEAST_LEFT_OUT or short in long:
        return False
    if short[0] != long[0] or not all(_OF_SCRIPT["Han"].match(one) for one in short):
        return False
    rest = iter(long)
    return all(one in rest for one in short)


def _initials(words: list[str]) -> str:
    return "".join(word[:1] for word in words)
