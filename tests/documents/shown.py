"""What the built-in engine makes of a document, in a form that tests compare."""

from __future__ import annotations

from lorebase.adapters.parsers.builtin import BuiltinParser
from lorebase.documents.model import ParsedDocument
from lorebase.documents.parsing import ParserRegistry
from tests.documents.making import source_document

Shown = list[tuple[str, str]]


def parse(name: str, content: bytes | str) -> ParsedDocument:
    data = content.encode() if isinstance(content, str) else content
    return ParserRegistry([BuiltinParser()]).parse_document(source_document(name, data), data)


def blocks(parsed: ParsedDocument) -> Shown:
    return [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]


def paths(parsed: ParsedDocument) -> list[tuple[str, ...]]:
    return [block.heading_path for block in parsed.blocks]
