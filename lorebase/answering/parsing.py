"""Knowledge documents out of Markdown: headings open sections, blank lines part paragraphs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lorebase.answering.documents import (
    KnowledgeDocument,
    KnowledgePart,
    KnowledgeSection,
    refuse_repeated_sections,
    snapshot_document,
)
from lorebase.errors import InvalidDefinitionError

_EXPLICIT_ID = re.compile(r"\s*\{#([^\s{}]+)\}\s*$")
_NOT_SLUG = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_INLINE_TEXT = ("text", "code_inline", "image")


def parse_knowledge_document(
    *,
    id: str,  # noqa: A002 (the name of the field that it becomes)
    revision: str,
    text: str,
    locale: str | None = None,
) -> KnowledgeDocument:
    """The document that a Markdown text describes.

    A line `#` to `######` opens a section; its level says inside which one. The section's id is what stands in `{#...}`
    behind the heading, otherwise the heading in lower case with hyphens between its words (`Opening hours` becomes
    `opening-hours`, `开放时间` stays). The heading itself is a name, not a paragraph. What blank lines part are
    paragraphs, as they stand in the source; a fenced block is one paragraph. There is no front matter, and no heading
    by underlining.

    Args:
        id: Name of the document.
        revision: Which version of it this is.
        text: Markdown; line ends of any system.
        locale: Its language.

    Raises:
        InvalidDefinitionError: A heading gives no id, or two give the same one; blank id or revision.
    """
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    root = _OpenSection("", 0)
    path = [root]
    for block in _blocks(unified):
        if isinstance(block, str):
            path[-1].parts.append(block)
            continue
        while path[-1].level >= block.level:
            _close(path)
        path.append(block)
    while len(path) > 1:
        _close(path)
    document = KnowledgeDocument(id=id, revision=revision, locale=locale, parts=tuple(root.parts))
    refuse_repeated_sections(document)
    return snapshot_document(document)


@dataclass(slots=True)
class _OpenSection:
    id: str
    level: int
    parts: list[KnowledgePart] = field(default_factory=list)


def _close(path: list[_OpenSection]) -> None:
    section = path.pop()
    path[-1].parts.append(KnowledgeSection(section.id, tuple(section.parts)))


def _blocks(text: str) -> Iterator[str | _OpenSection]:
    """Paragraphs and headings, in reading order."""
    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").disable("lheading").parse(text)
    headings: dict[int, tuple[Token, Token]] = {}
    code: dict[int, tuple[int, bool]] = {}
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "heading_open" and token.level == 0:
            headings[first] = token, tokens[index + 1]
        elif token.type in ("fence", "code_block"):
            code[first] = end, token.type == "fence" and token.level == 0
    yield from _walk(lines, headings, code)


def _walk(
    lines: list[str], headings: dict[int, tuple[Token, Token]], code: dict[int, tuple[int, bool]]
) -> Iterator[str | _OpenSection]:
    gathered: list[str] = []
    number = 0
    while number < len(lines):
        end, stands_alone = code.get(number, (number + 1, False))
        is_heading = number in headings
        if is_heading or stands_alone or (number not in code and not lines[number].strip()):
            yield from _paragraph(gathered)
            gathered = []
        if is_heading:
            yield _heading(*headings[number], line=number + 1)
        elif stands_alone:
            yield from _paragraph(lines[number:end])
        elif number in code or lines[number].strip():
            gathered += lines[number:end]
        number = max(end, number + 1)
    yield from _paragraph(gathered)


def _paragraph(lines: list[str]) -> Iterator[str]:
    """Nothing for blank lines; the first line keeps its indentation, which may have a meaning."""
    text = "\n".join(lines).rstrip()
    if text.strip():
        yield text.lstrip("\n")


def _heading(opening: Token, inline: Token, *, line: int) -> _OpenSection:
    level = int(opening.tag[1])
    if explicit := _EXPLICIT_ID.search(inline.content):
        return _OpenSection(explicit[1], level)
    children = inline.children or []
    title = "".join(child.content if child.type in _INLINE_TEXT else " " for child in children if _is_shown(child))
    slug = _NOT_SLUG.sub("-", unicodedata.normalize("NFKC", title).casefold()).strip("-")
    if not slug:
        raise InvalidDefinitionError(
            f"The heading in line {line} gives no id.", remedy="Write {#some-id} behind it.", line=line
        )
    return _OpenSection(slug, level)


def _is_shown(token: Token) -> bool:
    return token.type in _INLINE_TEXT or token.type in ("softbreak", "hardbreak")
