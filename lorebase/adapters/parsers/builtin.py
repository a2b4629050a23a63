"""The built-in engine: every format that needs no model and no service, each read by a focused library."""

from __future__ import annotations

from dataclasses import replace

from lorebase.adapters.parsers.delimited import read_delimited
from lorebase.adapters.parsers.docx import read_docx
from lorebase.adapters.parsers.html import read_html
from lorebase.adapters.parsers.mail import read_mail
from lorebase.adapters.parsers.markdown import read_markdown
from lorebase.adapters.parsers.pdf import read_pdf
from lorebase.adapters.parsers.plain_text import read_plain_text
from lorebase.adapters.parsers.pptx import read_pptx
from lorebase.adapters.parsers.records import read_json, read_json_lines
from lorebase.adapters.parsers.spreadsheets import read_workbook
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.encoding import DecodedText, decode_text
from lorebase.documents.file_types import MEDIA_TYPES, FileType
from lorebase.documents.model import ParsedDocument

_TYPES: dict[str, FileType] = {media_type: file_type for file_type, media_type in MEDIA_TYPES.items()}


class BuiltinParser:
    """Reads every known type of document."""

    name = "builtin"
    version = "1"
    media_types = frozenset(MEDIA_TYPES.values())

    def parse(
        self, content: bytes, *, name: str, media_type: str, document_id: str, revision_id: str
    ) -> ParsedDocument:
        """As `lorebase.documents.parsing.Parser.parse`."""
        file_type = _TYPES[media_type]
        empty = ParsedDocument(
            document_id=document_id,
            revision_id=revision_id,
            name=name,
            text="",
            blocks=(),
            media_type=media_type,
            parser=f"{self.name}/{self.version}",
        )
        match file_type:
            case "docx" | "pptx" | "xlsx" | "xls" | "pdf" | "eml":
                return _read_binary(content, file_type, empty)
            case _:
                return _read_text(content, file_type, empty)

    def close(self) -> None:
        """Nothing is open."""


def _read_binary(content: bytes, file_type: FileType, empty: ParsedDocument) -> ParsedDocument:
    builder = DocumentBuilder()
    match file_type:
        case "docx":
            read_docx(content, builder, name=empty.name)
        case "pptx":
            read_pptx(content, builder, name=empty.name)
        case "pdf":
            read_pdf(content, builder, name=empty.name)
        case "eml":
            read_mail(content, builder, name=empty.name)
        case _:
            read_workbook(content, builder, name=empty.name, is_container=file_type == "xlsx")
    return _filled(empty, builder)


def _read_text(content: bytes, file_type: FileType, empty: ParsedDocument) -> ParsedDocument:
    decoded = decode_text(content, name=empty.name, declares_encoding=file_type == "html")
    empty = replace(empty, encoding=decoded.encoding, warnings=_encoding_warnings(decoded))
    if file_type in ("md", "txt"):
        text, blocks = read_markdown(decoded.text) if file_type == "md" else read_plain_text(decoded.text)
        return replace(empty, text=text, blocks=blocks)
    builder = DocumentBuilder()
    match file_type:
        case "html":
            read_html(decoded.text, builder, name=empty.name)
        case "json":
            read_json(decoded.text, builder)
        case "jsonl":
            read_json_lines(decoded.text, builder)
        case _:
            read_delimited(decoded.text, builder, delimiter="\t" if file_type == "tsv" else "")
    return _filled(empty, builder)


def _filled(empty: ParsedDocument, builder: DocumentBuilder) -> ParsedDocument:
    return replace(empty, text=builder.text, blocks=builder.blocks, warnings=(*empty.warnings, *builder.warnings))


def _encoding_warnings(decoded: DecodedText) -> tuple[tuple[str, str], ...]:
    if decoded.is_sure:
        return ()
    return (
        ("ENCODING_UNSURE", f"The text was read as {decoded.encoding}, which is the best of several poor guesses."),
    )
