"""Putting a parsed document together: blocks in reading order over one text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorebase.documents.model import Block, BlockKind

_MAX_TITLE_CHARS = 300
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_OTHER_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufeff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with line feeds as only line ends, without control characters, and able to be encoded as UTF-8.

    A lone surrogate (broken JSON escapes hold them) is written as its escape, so that nothing is lost.
    """
    # Looking for a character is much faster than a pattern's walk through the text.
    if any(end in text for end in _OTHER_LINE_ENDS):
        text = _LINE_ENDS.sub("\n", text)
    text = _CONTROLS.sub("", text)
    if text.isascii():
        return text
    return _SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(clean_text(text).split())


class HeadingPath:
    """The titles above the place that a parser has reached."""

    def __init__(self) -> None:
        self._titles: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Go below a heading; headings of its level and deeper ones end. Smaller levels stand further out."""
        self.leave(level)
        if len(title) <= _MAX_TITLE_CHARS:
            self._titles.append((level, title))

    def leave(self, level: int) -> None:
        """End the headings of this level and of deeper ones."""
        while self._titles and self._titles[-1][0] >= level:
            self._titles.pop()

    @property
    def titles(self) -> tuple[str, ...]:
        """Outermost first."""
        return tuple(title for _, title in self._titles)


class DocumentBuilder:
    """Gathers blocks for formats whose text is assembled rather than taken as it stands."""

    def __init__(self) -> None:
        self.headings = HeadingPath()
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._warnings: list[tuple[str, str]] = []
        self._page: int | None = None
        self._page_label = ""

    def start_page(self, number: int, label: str = "") -> None:
        """Blocks from here on stand on this page, slide or sheet (from 1)."""
        self._page = number
        self._page_label = label

    def add_heading(self, title: str, level: int) -> None:
        """A heading; blocks after it stand below it until a heading of its level or further out."""
        title = one_line(title)
        if title:
            self.headings.enter(level, title)
            self._append("heading", title)

    def add_paragraph(self, text: str) -> None:
        """A paragraph; blank ones are left out."""
        self._append("paragraph", clean_text(text).strip())

    def add_list(self, items: Sequence[tuple[int, str, str]]) -> None:
        """A list: one item a line, as (depth from 0, marker such as "-" or "1.", text)."""
        lines = [f"{'  ' * depth}{marker} {text}" for depth, marker, item in items if (text := one_line(item))]
        self._append("list", "\n".join(lines))

    def add_code(self, text: str) -> None:
        """Text whose white space has a meaning."""
        self._append("code", clean_text(text).strip("\n").rstrip())

    def add_table(self, rows: Sequence[Sequence[str]], *, header_rows: int) -> None:
        """A table, one row a line; cells of one line each, empty rows and columns are left out.

        Args:
            rows: Cell texts; a merged cell has its text once and "" elsewhere.
            header_rows: How many of the rows name the columns.
        """
        lines: list[str] = []
        header_chars = 0
        lined = [[one_line(cell) for cell in row] for row in rows]
        used = sorted({column for row in lined for column, cell in enumerate(row) if cell})
        for index, row in enumerate(lined):
            cells = [row[column] for column in used if column < len(row)]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                lines.append(" | ".join(cells))
                if index < header_rows:
                    header_chars += len(lines[-1]) + 1
        text = "\n".join(lines)
        # A table of headers only has nothing to continue.
        self._append("table", text, header_chars=header_chars if header_chars < len(text) else 0)

    def warn(self, code: str, message: str) -> None:
        """Record what a reader of the document should know."""
        self._warnings.append((code, message))

    @property
    def text(self) -> str:
        """Everything that was added, blocks apart by a blank line."""
        return "".join(self._parts)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """In the order in which they were added."""
        return tuple(self._blocks)

    @property
    def warnings(self) -> tuple[tuple[str, str], ...]:
        """What was recorded, as (code, message)."""
        return tuple(self._warnings)

    def _append(self, kind: BlockKind, text: str, *, header_chars: int = 0) -> None:
        if not text.strip():
            return
        if self._parts:
            self._parts.append("\n\n")
            self._length += 2
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        self._blocks.append(
            Block(
                kind=kind,
                start=start,
                end=self._length,
                heading_path=self.headings.titles,
                page=self._page,
                page_label=self._page_label,
                header_chars=header_chars,
            )
        )
