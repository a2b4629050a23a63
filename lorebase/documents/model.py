"""What a source gave and what became of it: documents, blocks of parsed text, chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lorebase.ids import document_id_of

SIDECAR_SUFFIX = ".meta.yaml"
"""What the file beside a document that describes it adds to the document's name."""

BlockKind = Literal["heading", "paragraph", "list", "table", "code"]


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as the scan of a source found it.

    Attributes:
        document_id: Identity by place: source name and path (`lorebase.ids.document_id_of`).
        name: Path in its source, forward slashes, NFC.
        source: Name of the source in the recipe.
        url: Where its bytes lie now; may differ from machine to machine and is part of no identity.
        sha256: Digest of its bytes; also its revision where nothing else governs it.
        size_bytes: Length of its bytes.
        sidecar_sha256: Digest of the file beside it that describes it (`SIDECAR_SUFFIX`); empty where there is none.
    """

    document_id: str
    name: str
    source: str
    url: str
    sha256: str
    size_bytes: int
    sidecar_sha256: str = ""

    @property
    def sidecar(self) -> SourceDocument:
        """The file beside it, as something that can be read."""
        name = f"{self.name}{SIDECAR_SUFFIX}"
        return SourceDocument(document_id_of(self.source, name), name, self.source, "", self.sidecar_sha256, 0)


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a parsed document that has one kind and stands under one heading.

    Attributes:
        kind: What it is. The text of a table has one row a line, its header first.
        start: First code point in the document's text.
        end: One past its last code point.
        heading_path: Titles of the headings above it, outermost first; a heading's own title is its last member.
        page: Page (PDF), slide (pptx) or sheet number (xlsx), from 1; None where the format has none.
        page_label: Name of the sheet, where it has one.
        header_chars: For a table: length of its header at the block's start, its line break included; otherwise 0.
    """

    kind: BlockKind
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    page_label: str = ""
    header_chars: int = 0


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a document with its structure.

    Attributes:
        document_id: The document that was parsed.
        revision_id: The revision of its content.
        name: Its path in its source.
        text: All of its text; blocks point into it.
        blocks: In reading order, not overlapping; what lies between two blocks is white space.
        media_type: Decided type, for example "text/html".
        encoding: Character encoding that was decided for a text format, otherwise empty.
        parser: Engine and its version, for example "builtin/1".
        warnings: What a reader should know, such as pages that failed, as (code, message).
    """

    document_id: str
    revision_id: str
    name: str
    text: str
    blocks: tuple[Block, ...]
    media_type: str
    encoding: str = ""
    parser: str = ""
    warnings: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Chunk:
    """The stretch of a document that is retrieved.

    Attributes:
        chunk_id: Digest of document, revision, position and indexed text.
        text: The stretch itself: exactly `ParsedDocument.text[start:end]`.
        heading_path: Titles of the headings above it, outermost first.
        table_header: Header of the table it continues, where it does not hold that header itself; otherwise empty.
        first_row: First row of the table that it holds, its header not counted, from 1; None outside of tables.
        last_row: Last row of the table that it holds.
    """

    chunk_id: str
    document_id: str
    revision_id: str
    document_name: str
    source: str
    position: int
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    table_header: str = ""
    page: int | None = None
    page_label: str = ""
    kind: BlockKind = "paragraph"
    tokens: int = 0
    first_row: int | None = None
    last_row: int | None = None

    @property
    def indexed_text(self) -> str:
        """What is embedded and searched: heading path, table header, text."""
        return indexed_text_of(self.heading_path, self.table_header, self.text)


def indexed_text_of(heading_path: tuple[str, ...], table_header: str, text: str) -> str:
    """Heading path (joined by " > "), table header and text, one after the other on lines of their own."""
    return "\n".join(part for part in (" > ".join(heading_path), table_header.rstrip("\n"), text) if part)
