"""Questions and answers in Markdown: a heading that asks with the text below it, or paragraphs that begin with Q and A.

Lines below the question may say more of it: `variants: ...`, `enabled: no`, 相似问：…, 启用：否.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lorebase.documents.model import Block, ParsedDocument
from lorebase.faq.columns import ROLES, FaqValues, is_switch, values_of
from lorebase.faq.tables import FoundRow, read_markdown_table

_HEADING_MARK = re.compile(r"^#{1,6}\s+|\s+#+\s*$")
_ASKS = re.compile(r"[?？]\s*[*_]*\s*$")
_NUMBER = re.compile(r"^\s*(?:\d+[.)、．]\s*|Q\d+[.:：]\s*)", re.IGNORECASE)
_EMPHASIS = re.compile(r"^[*_]{1,2}|[*_]{1,2}$")
_PAIR = re.compile(
    r"^\s*(?:[-*+]\s+)?[*_]{0,2}(?:Q|Question|问题|问)\s*\d*\s*[*_]{0,2}\s*[:：]\s*[*_]{0,2}\s*(?P<question>.+?)\s*$\n+"
    r"^\s*(?:[-*+]\s+)?[*_]{0,2}(?:A|Answer|答案|回答|答)\s*\d*\s*[*_]{0,2}\s*[:：]\s*[*_]{0,2}\s*(?P<answer>.*)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_PAIR_START = re.compile(
    r"^\s*(?:[-*+]\s+)?[*_]{0,2}(?:Q|Question|问题|问)\s*\d*\s*[*_]{0,2}\s*[:：]", re.IGNORECASE | re.MULTILINE
)
_NAMES = {name: role for role in ("variants", "enabled", "disabled", "status") for name in ROLES[role]}
_NOTE = re.compile(
    rf"^\s*(?:[-*+]\s+)?[*_]{{0,2}}({'|'.join(map(re.escape, sorted(_NAMES, key=len, reverse=True)))})[*_]{{0,2}}"
    r"\s*[:：]\s*[*_]{0,2}\s*(.*?)\s*$",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$")


@dataclass(frozen=True, slots=True)
class FoundStretch:
    """An entry in running text, or a row of a table in it.

    Attributes:
        found: What it says.
        heading_path: Headings above it.
        start: Where it begins in the text.
        end: One past its end.
        is_row: Whether it is a row of a table.
    """

    found: FoundRow
    heading_path: tuple[str, ...]
    start: int
    end: int
    is_row: bool = False


def read_markdown(document: ParsedDocument, columns: Mapping[str, str]) -> list[FoundStretch]:
    """The entries of a Markdown text, in reading order; none where it asks nothing.

    Args:
        document: The parsed text.
        columns: Names of columns of tables by role, where they are unusual.
    """
    found: list[FoundStretch] = []
    for question, blocks in _sections(document):
        body = "\n\n".join(document.text[block.start : block.end] for block in blocks)
        first, last = (blocks[0], blocks[-1]) if blocks else (question, question)
        if question is not None:
            asked = _asked(document.text[question.start : question.end])
            end = last.end if last is not None else question.end
            row = FoundRow(1, None, _values(asked, body))
            found.append(FoundStretch(row, question.heading_path, question.start, end))
            continue
        for block in blocks:
            if block.kind == "table":
                rows = read_markdown_table(document.text[block.start : block.end], columns) or []
                found += [FoundStretch(row, block.heading_path, block.start, block.end, is_row=True) for row in rows]
        if first is not None and last is not None:
            path = first.heading_path
            pairs = _pairs(document.text, first.start, last.end)
            found += [FoundStretch(FoundRow(1, None, values), path, start, end) for values, start, end in pairs]
    return found


def _sections(document: ParsedDocument) -> Iterator[tuple[Block | None, list[Block]]]:
    """Headings that ask with the blocks below them, and other blocks in runs without one."""
    question: Block | None = None
    depth = 0
    blocks: list[Block] = []
    for block in document.blocks:
        if block.kind == "heading" and (question is None or len(block.heading_path) <= depth):
            yield question, blocks
            asks = _ASKS.search(document.text[block.start : block.end]) is not None
            question, depth, blocks = (block if asks else None), len(block.heading_path), []
        elif block.kind == "heading" and _ASKS.search(document.text[block.start : block.end]):
            yield question, blocks
            question, depth, blocks = block, len(block.heading_path), []
        else:
            blocks.append(block)
    yield question, blocks


def _asked(heading: str) -> str:
    text = _HEADING_MARK.sub("", heading.strip().splitlines()[0])
    return _EMPHASIS.sub("", _NUMBER.sub("", text)).strip()


def _pairs(text: str, start: int, end: int) -> Iterator[tuple[FaqValues, int, int]]:
    """Paragraphs that begin with Q and A, each up to the next Q."""
    begins = [match.start() for match in _PAIR_START.finditer(text, start, end)]
    for first, last in pairwise([*begins, end]):
        match = _PAIR.match(text[first:last])
        if match is not None:
            question = _EMPHASIS.sub("", match["question"]).strip()
            yield _values(question, match["answer"]), first, last


def _values(question: str, body: str) -> FaqValues:
    """A question with the notes and the answer that stand below it."""
    notes: dict[str, str] = {}
    kept: list[str] = []
    for line in body.strip().splitlines():
        comment = _COMMENT.match(line)
        note = _NOTE.match(comment[1] if comment else line)
        if note is not None and (_NAMES[note[1].lower()] == "variants" or is_switch(note[2])):
            notes[_NAMES[note[1].lower()]] = note[2]
        else:
            kept.append(line)
    roles = ["question", "answer", *notes]
    cells: Sequence[str] = [question, "\n".join(kept), *notes.values()]
    return values_of(cells, {role: place for place, role in enumerate(roles)})
