"""Markdown: the source stays as it is; its headings, lists, tables and code become blocks over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lorebase.documents.building import HeadingPath, clean_text, one_line
from lorebase.documents.model import Block, BlockKind

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "paragraph",
    "html_block": "paragraph",
    "hr": "paragraph",
}
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_INLINE_TEXT = ("text", "code_inline", "image")


def read_markdown(text: str) -> tuple[str, tuple[Block, ...]]:
    """The text with unified line ends, and its blocks."""
    text = clean_text(text)
    return text, tuple(_without_gaps(text, list(_blocks(text))))


def _blocks(text: str) -> Iterator[Block]:
    first = 0
    if front_matter := _FRONT_MATTER.match(text):
        # Metadata before the text; CommonMark would take its last line for a heading's underline.
        first = front_matter.group().count("\n") + 1
        yield Block(kind="code", start=0, end=front_matter.end())
    lines = text.split("\n")
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    headings = HeadingPath()
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines[first:]))
    for index, token in enumerate(tokens):
        if token.level != 0 or token.map is None or token.type not in _KINDS:
            continue
        start, end = (offsets[first + line] for line in token.map)
        end = min(end, len(text))
        kind = _KINDS[token.type]
        if kind == "heading" and (title := _title(tokens[index + 1])):
            headings.enter(int(token.tag[1]), title)
        yield Block(
            kind=kind,
            start=start,
            end=end,
            heading_path=headings.titles,
            header_chars=_header_chars(text, start, end) if kind == "table" else 0,
        )


def _title(inline: Token) -> str:
    """What a heading says, without its markup."""
    children = inline.children or []
    pieces = [child.content if child.type in _INLINE_TEXT else " " for child in children if _is_shown(child)]
    return one_line("".join(pieces))


def _is_shown(token: Token) -> bool:
    return token.type in _INLINE_TEXT or token.type in ("softbreak", "hardbreak")


def _header_chars(text: str, start: int, end: int) -> int:
    """A table's header is its first line and the line of dashes below it."""
    second = text.find("\n", text.find("\n", start, end) + 1, end)
    has_rows = second > 0 and text[second:end].strip()
    return second + 1 - start if has_rows else 0


def _without_gaps(text: str, blocks: list[Block]) -> Iterator[Block]:
    """The blocks, trimmed, and a paragraph for all that no block holds (link definitions, for example)."""
    reached = 0
    path: tuple[str, ...] = ()
    for block in blocks:
        yield from _trimmed(text, "paragraph", reached, block.start, path)
        yield from _trimmed(text, block.kind, block.start, block.end, block.heading_path, block.header_chars)
        reached, path = block.end, block.heading_path
    yield from _trimmed(text, "paragraph", reached, len(text), path)


def _trimmed(
    text: str, kind: BlockKind, start: int, end: int, path: tuple[str, ...], header_chars: int = 0
) -> Iterator[Block]:
    piece = text[start:end]
    if stripped := piece.strip():
        # Indentation of code has a meaning and stays with its block.
        lead = 0 if kind == "code" else len(piece) - len(piece.lstrip())
        end = start + len(piece) - len(piece.lstrip()) + len(stripped)
        yield Block(kind, start + lead, end, path, header_chars=max(0, header_chars - lead))
