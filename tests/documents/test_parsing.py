"""Rules of deciding a type and an engine."""

from __future__ import annotations

import io
import pickle
import zipfile
from dataclasses import dataclass

import pytest

from lorebase.documents.file_types import MEDIA_TYPES, decide_file_type
from lorebase.documents.model import Block, ParsedDocument
from lorebase.documents.parsing import ParserRegistry, ParserRule
from lorebase.errors import InvalidRecipeError, UnreadableDocumentError
from tests.documents.making import source_document

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def zip_of(*members: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member in members:
            archive.writestr(member, "x")
    return stream.getvalue()


@dataclass(frozen=True)
class EchoParser:
    """Its text is its name and the media type."""

    name: str
    version: str = "3"
    media_types: frozenset[str] = frozenset(MEDIA_TYPES.values())

    def parse(
        self, content: bytes, *, name: str, media_type: str, document_id: str, revision_id: str
    ) -> ParsedDocument:
        text = content.decode() if content.isspace() else f"{self.name} {media_type}"
        return ParsedDocument(document_id, revision_id, name, text, (Block("paragraph", 0, len(text)),), media_type)


def registry(*rules: ParserRule) -> ParserRegistry:
    pdf_only = EchoParser("docling", media_types=frozenset({MEDIA_TYPES["pdf"], MEDIA_TYPES["docx"]}))
    return ParserRegistry([EchoParser("builtin"), pdf_only], rules)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a/b.MD", b"text", "md"),
        ("a.markdown", b"text", "md"),
        ("README", b"text", "txt"),
        ("a.htm", b"text", "html"),
        ("a.tsv", b"text", "tsv"),
        ("a.ndjson", b"{}", "jsonl"),
        ("a.eml", b"Subject: x", "eml"),
        ("a.pdf", b"junk\n%PDF-1.4", "pdf"),
        ("a.docx", zip_of("word/document.xml"), "docx"),
        ("a.xls", OLE + "Workbook".encode("utf-16-le"), "xls"),
        # what a file is wins over what it is called
        ("really-a-deck.docx", zip_of("ppt/presentation.xml"), "pptx"),
        ("report.txt", b"%PDF-1.7 ...", "pdf"),
        ("table.csv", zip_of("xl/workbook.xml"), "xlsx"),
        ("table", zip_of("xl/workbook.xml"), "xlsx"),
        ("about-pdf.txt", b"A file that begins with %PDF- is a PDF.", "txt"),
    ],
)
def test_extension_and_content_decide_the_type(name, content, expected):
    assert decide_file_type(name, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "EMPTY"),
        ("a.docx", OLE + b".." + "EncryptedPackage".encode("utf-16-le"), "ENCRYPTED"),
        ("a.doc", OLE + b"WordDocument", "UNKNOWN_TYPE"),
        ("a.docx", b"plain text", "CORRUPT"),
        ("a.pdf", b"plain text", "CORRUPT"),
        ("a.xlsx", b"PK\x03\x04 cut off", "CORRUPT"),
        ("a.xlsx", zip_of("other.txt"), "CORRUPT"),
        ("a.txt", zip_of("other.txt"), "BINARY"),
        ("a.zip", zip_of("other.txt"), "UNKNOWN_TYPE"),
        ("a.md", b"\x89PNG\r\n\x1a\n", "BINARY"),
        ("a.bin", bytes(range(32)) * 8, "BINARY"),
        ("a.xyz", b"plain text", "UNKNOWN_TYPE"),
    ],
)
def test_each_unreadable_document_has_its_reason(name, content, reason):
    with pytest.raises(UnreadableDocumentError) as caught:
        decide_file_type(name, content)

    assert caught.value.facts == {"document": name, "reason": reason}
    assert repr(name) in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).facts == caught.value.facts


def test_the_first_rule_that_matches_picks_the_engine_and_builtin_is_the_rest():
    parsers = registry(ParserRule(("pdf",), "docling"), ParserRule(("pdf", "docx"), "builtin"))

    assert parsers.engine_for("pdf").name == "docling"
    assert parsers.engine_for("docx").name == "builtin"
    assert parsers.engine_for("md").name == "builtin"
    assert parsers.versions == {"builtin": "3", "docling": "3"}


def test_all_faults_of_the_rules_are_reported_at_once():
    with pytest.raises(InvalidRecipeError) as caught:
        registry(ParserRule(("pdf", "dwg"), "tika"), ParserRule(("md",), "docling"))

    assert len(caught.value.facts["faults"]) == 3
    for word in ("'tika'", "'dwg'", "does not read 'md'"):
        assert word in str(caught.value)


def test_a_document_is_parsed_by_the_engine_of_its_type_under_its_identity():
    content = b"%PDF-1.7"
    source = source_document("a.pdf", content)

    parsed = registry(ParserRule(("pdf",), "docling")).parse_document(source, content)

    assert parsed.text == "docling application/pdf"
    assert (parsed.document_id, parsed.revision_id, parsed.name) == ("doc-1", source.sha256, "a.pdf")


def test_a_governed_revision_replaces_the_digest():
    parsed = registry().parse_document(source_document("a.txt", b"x"), b"x", revision_id="rev-9")

    assert parsed.revision_id == "rev-9"


def test_content_over_the_limit_is_not_parsed():
    with pytest.raises(UnreadableDocumentError, match="4 bytes, 3 are allowed") as caught:
        registry().parse_document(source_document("a.txt", b"text"), b"text", max_bytes=3)

    assert caught.value.facts["reason"] == "TOO_LARGE"


def test_a_parse_without_text_is_an_unreadable_document():
    with pytest.raises(UnreadableDocumentError) as caught:
        registry().parse_document(source_document("a.txt", b"  "), b"  ")

    assert caught.value.facts["reason"] == "NO_TEXT"
