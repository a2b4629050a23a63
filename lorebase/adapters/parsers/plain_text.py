"""Plain text: paragraphs between blank lines, headings where a line stands alone and counts chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lorebase.documents.building import HeadingPath, clean_text
from lorebase.documents.model import Block

_PARAGRAPH = re.compile(r"[^\S\n]*\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
_NUMERAL = r"(?:[0-9]+|[IVXLCDM]+|ONE|TWO|THREE|FOUR|FIVE|SIX|SEVEN|EIGHT|NINE|TEN|ELEVEN|TWELVE|[A-Z][a-z]+)"
_HAN_NUMERAL = r"[0-9０-９零〇一二三四五六七八九十百千两]+"
_MAX_HEADING_CHARS = 80

# Which lines of their own are headings, with their level.
_HEADINGS = (
    (1, re.compile(rf"第{_HAN_NUMERAL}[卷部编篇](?:[\s:：].*|.{{0,20}})")),
    (2, re.compile(rf"第{_HAN_NUMERAL}[章回](?:[\s:：].*|.{{0,20}})")),
    (3, re.compile(rf"第{_HAN_NUMERAL}节(?:[\s:：].*|.{{0,20}})")),
    (1, re.compile(rf"(?:BOOK|PART|VOLUME|Book|Part|Volume) {_NUMERAL}\b[^.!?]*[.:]?[^.!?]*")),
    (2, re.compile(rf"(?:CHAPTER|Chapter) {_NUMERAL}\b[^.!?]*[.:]?[^.!?]*")),
)
_SENTENCE_ENDS = "。！？；!?;,，"


def read_plain_text(text: str) -> tuple[str, tuple[Block, ...]]:
    """The text with unified line ends, and its blocks."""
    text = clean_text(text)
    return text, tuple(_blocks(text))


def _blocks(text: str) -> Iterator[Block]:
    headings = HeadingPath()
    for match in _PARAGRAPH.finditer(text):
        paragraph = match.group().strip()
        level = _heading_level(paragraph)
        if level:
            headings.enter(level, paragraph)
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        yield Block(
            kind="heading" if level else "paragraph",
            start=start,
            end=start + len(paragraph),
            heading_path=headings.titles,
        )


def _heading_level(paragraph: str) -> int:
    """Level of the heading that a paragraph is, 0 for none."""
    if "\n" in paragraph or len(paragraph) > _MAX_HEADING_CHARS or paragraph[-1] in _SENTENCE_ENDS:
        return 0
    return next((level for level, pattern in _HEADINGS if pattern.fullmatch(paragraph)), 0)
