"""The pieces of a passage that can be quoted: its sentences and the rows of its tables, with what stands above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import regex

from lorebase.answering.ready_checks.claims import claims_of, without_citations

_CELLS = regex.compile(r"\S.*\s\|\s|^\s*\|.*\|\s*$")
_RULE = regex.compile(r"^\s*\|?[\s:|-]*-[\s:|-]*$")
_GOES_ON = ("；", ";")
_ENDS = tuple(".!?。！？；;：:…”\"')）」』,，、")
_BEGINS = regex.compile(r"[\s\"'“‘(（]*[\p{Lu}\p{N}\p{Script=Han}]")
_HAN = regex.compile(r"\p{Script=Han}")
_TITLE_CHARS = 40
_LISTED_CHARS = 75
_WHITE_SPACE = regex.compile(r"\s+")
_BEFORE_MARK = regex.compile(r"\s+(?=[.,;:!?](?:\s|$))")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence or a row.

    Attributes:
        text: What it says, without citations of its own; white space is single.
        above: The title line above a sentence, the first row of the table above a row; empty where there is none.
        is_row: Whether it is a row.
        goes_on: Whether the sentence ends in a semicolon, so that the next piece belongs to it.
    """

    text: str
    above: str = ""
    is_row: bool = False
    goes_on: bool = False


def pieces_of(text: str) -> tuple[Piece, ...]:
    """The pieces of a passage in reading order; title lines and first rows of tables are none of their own."""
    lines = [line for line in text.splitlines() if not ("|" in line and _RULE.match(line))]
    pieces: list[Piece] = []
    for is_table, block in groupby(lines, key=lambda line: _CELLS.search(line) is not None):
        read = _rows if is_table else _sentences
        pieces += read(list(block))
    return tuple(pieces)


def single_line(text: str) -> str:
    """The text with single spaces, and none before the mark of a sentence, where a citation may have been."""
    return _BEFORE_MARK.sub("", _WHITE_SPACE.sub(" ", text)).strip()


def _rows(lines: Sequence[str]) -> Iterator[Piece]:
    first, *others = (single_line(without_citations(line).strip().strip("|")) for line in lines)
    if not others:
        yield Piece(first, is_row=True)
    for row in others:
        yield Piece(row, first, is_row=True)


def _sentences(lines: Sequence[str]) -> Iterator[Piece]:
    title = ""
    stretch: list[str] = []
    for place, line in enumerate(lines):
        if not _is_title(lines, place):
            stretch.append(line)
            continue
        yield from _sentences_under(title, stretch)
        title, stretch = single_line(line), []
    yield from _sentences_under(title, stretch)


def _sentences_under(title: str, lines: Sequence[str]) -> Iterator[Piece]:
    for claim in claims_of("\n".join(_parted(lines))):
        text = single_line(claim.text)
        yield Piece(text, title, goes_on=text.endswith(_GOES_ON))


def _parted(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with a blank one behind each where most are short and without an end: settings, slides, addresses."""
    for is_text, stretch in groupby(lines, key=lambda line: bool(line.strip())):
        paragraph = list(stretch)
        listed = [line for line in paragraph if _is_short(line.strip(), _LISTED_CHARS)]
        is_list = is_text and len(paragraph) > 1 and 2 * len(listed) > len(paragraph)
        for line in paragraph:
            yield line
            if is_list:
                yield ""


def _is_title(lines: Sequence[str], place: int) -> bool:
    """Whether a line of plain text is a title: short, without an end, at the beginning of a paragraph that goes on."""
    line, before = lines[place].strip(), lines[place - 1].strip() if place else ""
    after = lines[place + 1].strip() if place + 1 < len(lines) else ""
    begins_paragraph = not before or before.endswith(_ENDS)
    return (
        _is_short(line, _TITLE_CHARS)
        and begins_paragraph
        and len(after) > len(line)
        and _BEGINS.match(after) is not None
    )


def _is_short(line: str, longest: int) -> bool:
    """Whether a line has no end and at most so many letters; a Chinese character counts as two and a half."""
    return 0 < len(line) + 1.5 * len(_HAN.findall(line)) <= longest and not line.endswith(_ENDS)
