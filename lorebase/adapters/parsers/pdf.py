"""PDF: page by page, headings by the size and weight of their type, lines joined into paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lorebase.adapters.parsers.pdf_lines import Line, lines_of
from lorebase.documents.building import DocumentBuilder, clean_text

_LARGER = 1.12
_NOT_SMALLER = 0.98
_MAX_HEADING_CHARS = 150
_MAX_HEADING_SHARE = 0.4
_MAX_TITLE_LINES = 3
_MAX_BOLD_HEADING_CHARS = 80
# Rows of figures are often set large or bold; they are no headings.
_LETTERS_OF_A_HEADING = 0.5
_PARAGRAPH_GAP = 1.7
_SHORT_LINE = 0.75
_SENTENCE_ENDS = "。！？；.!?;,，"
_SOFT_HYPHEN = "\u00ad"
_HAN = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_LIST_ITEM = re.compile(r"(?:[•●▪◦‣·–—-]|\(?[0-9]{1,2}[.)]|\(?[a-z][.)])\s+\S")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def read_pdf(content: bytes, builder: DocumentBuilder, *, name: str) -> None:
    """Add the pages of a PDF; a page that cannot be read or has no text becomes a warning."""
    lines = lines_of(content, name=name, warn=builder.warn)
    if unmapped := sum(line.text.count("\x00") for line in lines):
        builder.warn(
            "UNMAPPED_CHARACTERS", f"{unmapped} character(s) of the fonts stand for no known text and are missing."
        )
    type_ = _Type.of(lines)
    words = {word.lower() for line in lines for word in _WORD.findall(line.text)}
    for group in _paragraphs(lines, type_):
        builder.start_page(group[0].page)
        text = _joined(group, words)
        level = type_.heading_level(group[0])
        if level and len(text) <= _MAX_HEADING_CHARS and len(group) <= type_.most_lines(group[0]):
            builder.add_heading(text, level)
        else:
            builder.add_paragraph(text)


@dataclass(frozen=True, slots=True)
class _Type:
    """How a document uses sizes and weights of type.

    Attributes:
        body_size: The commonest size, by characters.
        is_body_bold: Whether the commonest type is bold, so that weight says nothing.
        heading_styles: Size and weight of headings, the largest first; their place gives the level.
    """

    body_size: float
    is_body_bold: bool
    heading_styles: tuple[tuple[float, bool], ...]

    @classmethod
    def of(cls, lines: list[Line]) -> _Type:
        """Look at all lines of a document.

        The body is the commonest type, or a larger one where otherwise too many lines would be headings: in forms the
        small print is the longest text.
        """
        chars: Counter[tuple[float, bool]] = Counter()
        for line in lines:
            chars[line.size, line.is_bold] += len(line.text)
        body_size, is_body_bold = chars.most_common(1)[0][0] if chars else (0.0, False)
        larger = sorted({line.size for line in lines if line.size > body_size})
        for size, is_bold in [(body_size, is_body_bold), *((size, True) for size in (body_size, *larger))]:
            type_ = cls(size, is_bold, ())
            headings = [line for line in lines if type_.is_heading(line)]
            if len(headings) <= len(lines) * _MAX_HEADING_SHARE:
                styles = {(line.size, line.is_bold) for line in headings}
                return cls(size, is_bold, tuple(sorted(styles, reverse=True)))
        return cls(body_size, is_body_bold, ())

    def is_heading(self, line: Line) -> bool:
        """Larger than the body, or as large and bold on a short line of its own."""
        text = line.text.strip()
        if sum(map(str.isalpha, text)) < len(text) * _LETTERS_OF_A_HEADING:
            return False
        if line.size > self.body_size * _LARGER:
            return True
        is_prominent = line.is_bold and not self.is_body_bold and line.size >= self.body_size * _NOT_SMALLER
        return is_prominent and len(text) <= _MAX_BOLD_HEADING_CHARS and text[-1] not in _SENTENCE_ENDS

    def most_lines(self, line: Line) -> int:
        """How many lines a heading of this type may have: a bold passage is no heading."""
        return _MAX_TITLE_LINES if line.size > self.body_size * _LARGER else 1

    def heading_level(self, line: Line) -> int:
        """From 1 for the largest; 0 for lines that are no headings."""
        return self.heading_styles.index((line.size, line.is_bold)) + 1 if self.is_heading(line) else 0


def _paragraphs(lines: list[Line], type_: _Type) -> Iterator[list[Line]]:
    group: list[Line] = []
    for line in lines:
        if group and _starts_paragraph(group[-1], line, type_):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _starts_paragraph(before: Line, line: Line, type_: _Type) -> bool:
    height = max(before.top - before.bottom, 1.0)
    distance = before.bottom - line.bottom
    return (
        before.page != line.page
        or type_.heading_level(before) != type_.heading_level(line)
        or distance > _PARAGRAPH_GAP * height
        or distance < -height  # further up: another column
        or _LIST_ITEM.match(line.text) is not None
    )


def _joined(group: list[Line], words: set[str]) -> str:
    """Lines as one paragraph.

    Words that were cut by a hyphen are whole again, Chinese lines join without a space, and a line that ends far from
    the right edge keeps its end: rows of tables and short titles stay apart.
    """
    left, right = min(line.left for line in group), max(line.right for line in group)
    text = ""
    ends_short = False
    for line in group:
        piece = clean_text(line.text).strip()
        if text.endswith(_SOFT_HYPHEN):
            text = _without_hyphen(text[:-1], piece, words)
        elif ends_short:
            text = f"{text}\n{piece}"
        else:
            apart = "" if not text or (_HAN.match(text[-1]) and _HAN.match(piece)) else " "
            text = f"{text}{apart}{piece}"
        ends_short = line.right - left < (right - left) * _SHORT_LINE
    if text.endswith(_SOFT_HYPHEN):
        text = f"{text[:-1]}-"
    return text.replace(_SOFT_HYPHEN, "")


def _without_hyphen(before: str, after: str, words: set[str]) -> str:
    """Join a word that was cut; the hyphen stays where the document elsewhere writes the word with it."""
    first, second = re.search(r"[^\W\d_]*$", before), re.match(r"[^\W\d_]*", after)
    head, tail = first.group() if first else "", second.group() if second else ""
    is_one_word = f"{head}{tail}".lower() in words
    keeps_hyphen = f"{head}-{tail}".lower() in words or not head or not tail or tail[0].isupper()
    return f"{before}-{after}" if keeps_hyphen and not is_one_word else before + after
