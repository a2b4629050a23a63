"""Rules of the docling engine: what is sent, how the answer becomes blocks, how failures are told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lorebase.adapters.parsers.docling_serve import DoclingServeParser, DoclingServeSettings
from lorebase.documents.model import ParsedDocument
from lorebase.errors import (
    ConfigurationError,
    LorebaseError,
    MalformedAnswerError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
    UnreadableDocumentError,
)
from tests.fakes.docling_serve import FakeDoclingServe, running_docling_serve

PDF = "application/pdf"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeDoclingServe]:
    with running_docling_serve() as fake:
        yield fake


@pytest.fixture
def parser(server: FakeDoclingServe) -> Iterator[DoclingServeParser]:
    server.status, server.headers, server.requests = 200, {}, []
    parser = DoclingServeParser(DoclingServeSettings(server.url + "/", api_key="key-1", timeout_seconds=5))
    yield parser
    parser.close()


def parse(parser: DoclingServeParser) -> ParsedDocument:
    return parser.parse(b"%PDF-1.7", name="a/规程.pdf", media_type=PDF, document_id="doc-1", revision_id="rev-1")


def text(label: str, value: str, *children: str, page: int = 1, **more: Any) -> dict[str, Any]:
    return {"label": label, "text": value, "prov": [{"page_no": page}], "children": refs(*children), **more}


def refs(*names: str) -> list[dict[str, str]]:
    return [{"$ref": f"#/{name}"} for name in names]


def cell(row: int, column: int, value: str, *, width: int = 1, header: bool = False) -> dict[str, Any]:
    return {
        "text": value,
        "start_row_offset_idx": row,
        "end_row_offset_idx": row + 1,
        "start_col_offset_idx": column,
        "end_col_offset_idx": column + width,
        "column_header": header,
    }


DOCUMENT = {
    "schema_name": "DoclingDocument",
    "body": {
        "label": "unspecified",
        "children": refs("texts/0", "texts/1", "texts/2", "groups/0", "tables/0", "texts/9"),
    },
    "texts": [
        text("page_header", "Confidential", content_layer="furniture"),
        text("title", "Handbook"),
        text("section_header", "Lending", level=1),
        text("list_item", "Books", "groups/1", enumerated=True, marker="1."),
        text("list_item", "Novels"),
        text("list_item", "Films", enumerated=True, marker="2."),
        text("caption", "Table 1: Fees", page=2),
        text("text", "a bold "),
        text("text", "word"),
        text("code", "x = 1\n  y = 2", page=2),
    ],
    "groups": [
        {"label": "ordered_list", "children": refs("texts/3", "texts/5", "groups/2")},
        {"label": "list", "children": refs("texts/4")},
        {"label": "inline", "children": refs("texts/7", "texts/8")},
    ],
    "tables": [
        {
            "label": "table",
            "prov": [{"page_no": 2}],
            "captions": refs("texts/6"),
            "children": refs("texts/6"),
            "data": {
                "num_rows": 2,
                "num_cols": 3,
                "table_cells": [
                    cell(0, 0, "Kind", header=True),
                    cell(0, 1, "Fee", width=2, header=True),
                    cell(1, 0, "Book"),
                    cell(1, 1, "0.10"),
                    cell(1, 2, "a day"),
                ],
            },
        }
    ],
}


def test_a_document_is_sent_as_one_file_with_key_and_formats(server, parser):
    server.answer = {"document": {"json_content": DOCUMENT}, "status": "success", "errors": []}

    parse(parser)

    (request,) = server.requests
    assert (request.path, request.api_key, request.content) == ("/v1/convert/file", "key-1", b"%PDF-1.7")
    assert request.file_name.endswith(".pdf")
    assert request.options["to_formats"] == ["json", "md"]


def test_the_tree_becomes_blocks_with_headings_lists_tables_and_pages(server, parser):
    server.answer = {"document": {"json_content": DOCUMENT}, "status": "success", "errors": []}

    parsed = parse(parser)

    assert [(b.kind, parsed.text[b.start : b.end], b.heading_path, b.page) for b in parsed.blocks] == [
        ("heading", "Handbook", ("Handbook",), 1),
        ("heading", "Lending", ("Handbook", "Lending"), 1),
        ("list", "1. Books\n  - Novels\n2. Films", ("Handbook", "Lending"), 1),
        ("paragraph", "a bold word", ("Handbook", "Lending"), 1),
        ("paragraph", "Table 1: Fees", ("Handbook", "Lending"), 2),
        ("table", "Kind | Fee\nBook | 0.10 | a day", ("Handbook", "Lending"), 2),
        ("code", "x = 1\n  y = 2", ("Handbook", "Lending"), 2),
    ]
    assert parsed.blocks[5].header_chars == len("Kind | Fee\n")
    assert (parsed.document_id, parsed.revision_id, parsed.parser) == ("doc-1", "rev-1", "docling/1-v1-ocr")


def test_a_partial_result_is_kept_with_a_warning(server, parser):
    server.answer = {
        "document": {"json_content": DOCUMENT},
        "status": "partial_success",
        "errors": [{"component_type": "model", "module_name": "m", "error_message": "page 3 failed"}],
    }

    parsed = parse(parser)

    assert parsed.warnings == (("PARTIAL_RESULT", "docling-serve: page 3 failed"),)
    assert "Handbook" in parsed.text


def test_a_failed_conversion_is_an_unreadable_document(server, parser):
    server.answer = {"document": {}, "status": "failure", "errors": [{"error_message": "bad xref"}]}

    with pytest.raises(UnreadableDocumentError, match="bad xref") as caught:
        parse(parser)

    assert caught.value.facts["reason"] == "CORRUPT"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, RefusedError),
        (403, RefusedError),
        (404, RefusedError),
        (422, UnreadableDocumentError),
        (429, RateLimitedError),
        (500, UnavailableError),
        (503, UnavailableError),
        (504, UnavailableError),
    ],
)
def test_each_status_has_its_error(server, parser, status, expected):
    server.status, server.answer, server.headers = status, {"detail": "no"}, {"Retry-After": "7"}

    with pytest.raises(LorebaseError) as caught:
        parse(parser)

    assert type(caught.value) is expected
    assert caught.value.facts.get("retry_after_seconds") == (7.0 if status == 429 else None)
    assert "key-1" not in str(caught.value)


@pytest.mark.parametrize("answer", [b"<html>", {"status": "success"}, {"document": [], "status": "success"}])
def test_an_answer_of_another_form_is_malformed(server, parser, answer):
    server.answer = answer

    with pytest.raises(MalformedAnswerError):
        parse(parser)


def test_nobody_there_is_unavailable():
    parser = DoclingServeParser(DoclingServeSettings("http://127.0.0.1:9", timeout_seconds=2))

    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9"):
        parse(parser)
    parser.close()


def test_the_address_must_be_a_url_and_the_key_is_never_shown():
    with pytest.raises(ConfigurationError, match="docling:5001"):
        DoclingServeParser(DoclingServeSettings("docling:5001"))
    assert "secret" not in repr(DoclingServeSettings("http://a", api_key="secret"))
