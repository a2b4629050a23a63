"""Where a text may be cut: between sentences, clauses, words and graphemes, in Latin and in Chinese writing."""

from __future__ import annotations

from collections.abc import Iterator

import regex

# What may follow the mark that ends a sentence and still belongs to it.
_CLOSING = r"[\"'”’»」』）》】〉〕\])}]*"
_SENTENCE_END = regex.compile(
    rf"""
      [。！？；｡．…] [。！？；｡．….!?]*+ {_CLOSING}+ \s*+      # full-width marks need no space after them
    | (?<![.!?]) [.!?]++ {_CLOSING}+ \s++                  # others do; each run of marks is looked at once
    | \n \s* \n \s*+
    """,
    regex.VERBOSE,
)
# A full stop after these ends no sentence: titles, single initials, "e.g.", "No. 5".
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(\"'“‘])(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|Nos|Fig|Figs|Eq|Sec|Art|Vol|vs|cf|al|etc|approx|e\.g|i\.e|\p{Lu})\.$"
)
_ABBREVIATION_CHARS = 10
_CLAUSE_END = regex.compile(r"[,;:，、：；—]+[\"'”’」』）》】)]*\s*|\s\|\s")
_WHITE_SPACE = regex.compile(r"\s+")
# Word boundaries of Unicode (UAX 29): each Chinese character is a word, "can't" and "3.14" are one.
_WORD_BOUNDARY = regex.compile(r"\b", regex.WORD | regex.VERSION1)
_GRAPHEME = regex.compile(r"\X")
_NOT_AT_LINE_START = frozenset("，。、！？；：）》】」』’”…,.!?;:)]}%")
_NEAR_CHARS = 256
_CONTEXT_CHARS = 16


def sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Where sentences begin inside `text[start:end]`, `start` itself not among them."""
    for match in _SENTENCE_END.finditer(text, start, end):
        if match.end() >= end:
            return
        if not _ends_abbreviation(text, match.start(), match.end()):
            yield match.end()


def line_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Where lines begin inside `text[start:end]`, `start` itself not among them."""
    position = text.find("\n", start, end)
    while position >= 0 and position + 1 < end:
        yield position + 1
        position = text.find("\n", position + 1, end)


def last_line_start(text: str, start: int, end: int) -> int:
    """The last place in `(start, end]` where a line begins, or `start`."""
    return max(start, text.rfind("\n", start, end) + 1)


def last_clause_start(text: str, start: int, end: int) -> int:
    """The last place in `(start, end]` where a clause or a table cell begins, or `start`."""
    return _last_match_end(_CLAUSE_END, text, start, end)


def last_space_end(text: str, start: int, end: int) -> int:
    """The last place in `(start, end]` right after white space, or `start`."""
    return _last_match_end(_WHITE_SPACE, text, start, end)


def last_word_start(text: str, start: int, end: int) -> int:
    """The last place in `(start, end]` between two words, or `start`."""
    reach = min(len(text), end + _CONTEXT_CHARS)
    for near in (max(start, end - _NEAR_CHARS), start):
        best = start
        for match in _WORD_BOUNDARY.finditer(text, near, reach):
            if match.start() > end:
                break
            if near < match.start() < len(text) and text[match.start()] not in _NOT_AT_LINE_START:
                best = match.start()
        if best > start:
            return best
    return start


def first_word_start(text: str, start: int, end: int) -> int:
    """The first place in `[start, end)` where a word begins, or `end`."""
    if start == 0 or text[start - 1].isspace():
        return start
    for match in _WORD_BOUNDARY.finditer(text, max(0, start - _CONTEXT_CHARS), min(len(text), end + _CONTEXT_CHARS)):
        position = match.start()
        if start <= position < end and not text[position].isspace() and text[position] not in _NOT_AT_LINE_START:
            return position
    return end


def last_grapheme_start(text: str, start: int, end: int) -> int:
    """The last place in `(start, end]` between two characters as readers see them, or `start`."""
    best = start
    for match in _GRAPHEME.finditer(text, start, min(len(text), end + _CONTEXT_CHARS)):
        if match.end() > end:
            break
        best = match.end()
    return best


def _last_match_end(pattern: regex.Pattern[str], text: str, start: int, end: int) -> int:
    for near in (max(start, end - _NEAR_CHARS), start):
        best = start
        for match in pattern.finditer(text, near, end):
            best = match.end()
        if best > start:
            return best
    return start


def _ends_abbreviation(text: str, start: int, end: int) -> bool:
    if text[start] != "." or "\n\n" in text[start:end]:
        return False
    return _ABBREVIATION.search(text, max(0, start - _ABBREVIATION_CHARS), start + 1) is not None
