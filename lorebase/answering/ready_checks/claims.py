"""The claims of an answer: its sentences, each with the numbers of the passages that it cites."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import regex

from lorebase.documents.boundaries import sentence_starts

_NUMBERS = r"\d{1,3}(?:\s*[-–,，、;；]\s*\d{1,3})*"
# [1], [1, 2], [1-3], 【1】; not the text of a Markdown link, and not a year.
_CITATION = regex.compile(rf"[\[【［]\s*({_NUMBERS})\s*[\]】］](?!\()")
_RANGE = regex.compile(r"(\d+)\s*[-–]\s*(\d+)")
_NUMBER = regex.compile(r"\d+")
_LIST_MARKER = regex.compile(
    r"[ \t]*(?:(?:[-*+•·>|]|\#{1,6}|\d{1,3}[.)．]|[(（]\d{1,3}[)）])[ \t]+|\d{1,3}、|[•·])[ \t]*"
)
_HEADING = regex.compile(r"[ \t]*\#{1,6}[ \t]")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_CLOSING = "\"'”’»」』）)】]*_ \t\n"


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer.

    Attributes:
        text: The sentence without citations and without what marks it as part of a list.
        citations: Numbers of the passages that it cites, counted from 1, in the order in which they stand.
        needs_citation: Whether it says something: a question does not, nor does the line that leads to a list.
    """

    text: str
    citations: tuple[int, ...]
    needs_citation: bool = True


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    leads_to_list: bool


def claims_of(text: str) -> tuple[Claim, ...]:
    """The sentences of a text that hold a letter or a digit, in reading order.

    A citation belongs to the sentence before it, be it before or behind the mark that ends it. Line breaks part
    sentences only at list items, headings and blank lines.
    """
    bare, marks = _without_citations(text)
    spans = [span for span in _spans(bare) if _WORD.search(bare, span.start, span.end)]
    cited: list[list[int]] = [[] for _ in spans]
    starts = [span.start for span in spans]
    for position, numbers in marks if spans else []:
        before = position
        while before > 0 and bare[before - 1].isspace():
            before -= 1
        cited[max(0, bisect_left(starts, before) - 1)] += numbers
    return tuple(_claim(bare[span.start : span.end], numbers, span) for span, numbers in zip(spans, cited, strict=True))


def without_citations(text: str) -> str:
    """The text with a space in place of each citation."""
    return _without_citations(text)[0]


def cited_numbers(text: str) -> tuple[int, ...]:
    """All numbers that a text cites, in the order in which they stand."""
    return tuple(number for _position, numbers in _without_citations(text)[1] for number in numbers)


def renumbered(text: str, number_of: Callable[[int], int | None]) -> str:
    """The text with other numbers in its citations, each in brackets of its own: `[3, 5]` becomes `[1][2]`.

    Args:
        text: The text.
        number_of: The new number of an old one; None leaves the citation out.
    """

    def mark(match: regex.Match[str]) -> str:
        found = (number_of(number) for number in _numbers(match[1]))
        return "".join(f"[{number}]" for number in dict.fromkeys(found) if number is not None)

    return _CITATION.sub(mark, text)


def _claim(sentence: str, numbers: list[int], span: _Span) -> Claim:
    stripped = sentence.strip()
    end = stripped.rstrip(_CLOSING)[-1:]
    is_lead = span.leads_to_list and end in (":", "：")
    return Claim(stripped, tuple(dict.fromkeys(numbers)), needs_citation=end not in ("?", "？") and not is_lead)


def _without_citations(text: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """The bare text, and where in it which numbers were cited."""
    pieces: list[str] = []
    marks: list[tuple[int, list[int]]] = []
    reached = chars = 0
    for match in _CITATION.finditer(text):
        pieces += [text[reached : match.start()], " "]
        chars += match.start() - reached
        marks.append((chars, list(_numbers(match[1]))))
        chars, reached = chars + 1, match.end()
    return "".join([*pieces, text[reached:]]), marks


def _numbers(listed: str) -> Iterator[int]:
    for part in regex.split(r"[,，、;；]", listed):
        if ends := _RANGE.search(part):
            yield from range(int(ends[1]), int(ends[2]) + 1)
        else:
            yield from (int(number) for number in _NUMBER.findall(part))


def _spans(text: str) -> Iterator[_Span]:
    """Sentences, inside blocks of lines."""
    blocks = list(_line_blocks(text))
    for index, (start, end) in enumerate(blocks):
        followed_by_list = index + 1 < len(blocks) and _is_list_item(text, blocks[index + 1][0])
        marker = _LIST_MARKER.match(text, start, end)
        begin = marker.end() if marker else start
        starts = [begin, *sentence_starts(text, begin, end)]
        ends = [*starts[1:], end]
        for first, last in zip(starts, ends, strict=True):
            yield _Span(first, last, followed_by_list and last == end)


def _line_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Runs of lines that belong together: a new one at a blank line, a list item, a heading, and after a heading."""
    start = position = 0
    after_heading = False
    for line in text.splitlines(keepends=True):
        begins = not line.strip() or _LIST_MARKER.match(line) is not None or after_heading
        if begins and position > start:
            yield start, position
            start = position
        if not line.strip():
            start = position + len(line)
        after_heading = _HEADING.match(line) is not None
        position += len(line)
    if position > start:
        yield start, position


def _is_list_item(text: str, start: int) -> bool:
    return _LIST_MARKER.match(text, start) is not None and _HEADING.match(text, start) is None
