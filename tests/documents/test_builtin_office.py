"""Rules of the built-in engine for workbooks, Word, slides and PDF."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import docx
import pptx
import pytest
import xlsxwriter
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx.util import Inches

from lorebase.errors import UnreadableDocumentError
from tests.documents.making import pdf_of
from tests.documents.shown import blocks, parse, paths


def workbook(**options: object) -> bytes:
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True, **options})
    first = book.add_worksheet("库存")
    first.write_row(0, 0, ["Stock list"])
    first.write_row(1, 0, ["name", "count", "since", "sum"])
    first.write_row(2, 0, ["a", 3])
    first.write_datetime(2, 2, dt.date(2025, 3, 31), book.add_format({"num_format": "yyyy-mm-dd"}))
    first.write_formula(2, 3, "=B3*2", None, 6)
    first.write_row(3, 0, ["b", 0.1])
    first.merge_range(4, 0, 4, 1, "merged")
    book.add_worksheet("Empty")
    book.add_worksheet("Second").write_row(0, 0, [1, True])
    book.close()
    return stream.getvalue()


def test_every_sheet_is_a_table_on_its_own_page():
    parsed = parse("a.xlsx", workbook())

    assert [(b.kind, parsed.text[b.start : b.end], b.page, b.page_label) for b in parsed.blocks] == [
        ("heading", "库存", 1, "库存"),
        ("paragraph", "Stock list", 1, "库存"),
        ("table", "name | count | since | sum\na | 3 | 2025-03-31 | 6\nb | 0.1\nmerged", 1, "库存"),
        ("heading", "Second", 3, "Second"),
        ("table", "1 | TRUE", 3, "Second"),
    ]
    assert parsed.blocks[2].header_chars == len("name | count | since | sum\n")
    assert paths(parsed)[-1] == ("Second",)


# Word


def word(fill) -> bytes:
    document = docx.Document()
    fill(document)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_word_headings_lists_and_tables_keep_their_structure():
    def fill(document):
        document.add_heading("Doc", 0)
        document.add_heading("One", 1)
        document.add_paragraph("Text\twith tab")
        document.add_paragraph("x", style="List Bullet")
        document.add_paragraph("y", style="List Bullet 2")
        document.add_paragraph("n", style="List Number")
        document.add_heading("Two", 2)
        table = document.add_table(3, 2)
        for index, text in enumerate(["k", "v", "a", "1", "b", "2"]):
            table.cell(index // 2, index % 2).text = text

    parsed = parse("a.docx", word(fill))

    assert blocks(parsed) == [
        ("heading", "Doc"),
        ("heading", "One"),
        ("paragraph", "Text\twith tab"),
        ("list", "- x\n- y\n1. n"),
        ("heading", "Two"),
        ("table", "k | v\na | 1\nb | 2"),
    ]
    assert paths(parsed)[-1] == ("Doc", "One", "Two")
    assert parsed.blocks[-1].header_chars == len("k | v\n")


def test_a_word_document_whose_body_sits_in_layout_tables_keeps_all_its_text():
    def fill(document):
        outer = document.add_table(2, 2)
        outer.cell(0, 0).text = "left"
        outer.cell(0, 1).paragraphs[0].style = document.styles["Heading 1"]
        outer.cell(0, 1).paragraphs[0].add_run("Title")
        inner = outer.cell(1, 0).add_table(2, 2)
        for index, text in enumerate("abcd"):
            inner.cell(index // 2, index % 2).text = text
        outer.cell(1, 1).text = "last"

    parsed = parse("a.docx", word(fill))

    assert blocks(parsed) == [
        ("paragraph", "left"),
        ("heading", "Title"),
        ("table", "a | b\nc | d"),
        ("paragraph", "last"),
    ]


def test_merged_word_cells_have_their_text_once():
    def fill(document):
        table = document.add_table(2, 3)
        for index, text in enumerate("abcdef"):
            table.cell(index // 3, index % 3).text = text
        table.cell(0, 0).merge(table.cell(0, 1))

    assert blocks(parse("a.docx", word(fill))) == [("table", "a b |  | c\nd | e | f")]


def test_deleted_text_is_left_out_and_inserted_linked_and_boxed_text_is_kept():
    def fill(document):
        paragraph = document.add_paragraph("kept ")
        for xml in (
            "<w:del {ns}><w:r><w:delText>gone</w:delText></w:r></w:del>",
            "<w:ins {ns}><w:r><w:t>new </w:t></w:r></w:ins>",
            "<w:hyperlink {ns}><w:r><w:t>link</w:t></w:r></w:hyperlink>",
            "<w:r {ns}><w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>",
        ):
            paragraph._p.append(parse_xml(xml.format(ns=nsdecls("w"))))
        document.element.body.insert(
            1,
            parse_xml(
                f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
            ),
        )

    assert blocks(parse("a.docx", word(fill))) == [
        ("paragraph", "kept new link"),
        ("paragraph", "boxed"),
        ("paragraph", "control"),
    ]


# Presentations


def presentation() -> bytes:
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Opening"
    first.placeholders[1].text = "point"
    first.placeholders[1].text_frame.add_paragraph().text = "sub"
    first.placeholders[1].text_frame.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Say hello."
    second = deck.slides.add_slide(deck.slide_layouts[6])
    table = second.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    for index, text in enumerate(["k", "v", "a", "1"]):
        table.cell(index // 2, index % 2).text = text
    second.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "above"
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


def test_slides_are_pages_with_title_text_tables_and_notes():
    parsed = parse("a.pptx", presentation())

    assert [(b.kind, parsed.text[b.start : b.end], b.heading_path, b.page) for b in parsed.blocks] == [
        ("heading", "Opening", ("Opening",), 1),
        ("list", "- point\n  - sub", ("Opening",), 1),
        ("paragraph", "Say hello.", ("Opening",), 1),
        ("paragraph", "above", (), 2),
        ("table", "k | v\na | 1", (), 2),
    ]


# PDF


def test_pdf_pages_are_numbered_and_large_lines_are_headings():
    content = pdf_of(
        [
            [
                (24, 700, "Rules"),
                (11, 660, "Members may borrow five books for four weeks and must bring"),
                (11, 646, "them back."),
            ],
            [(16, 700, "Fees"), (11, 660, "Ten cents a day."), (11, 600, "A new paragraph.")],
        ]
    )

    parsed = parse("a.pdf", content)

    assert [(b.kind, parsed.text[b.start : b.end], b.heading_path, b.page) for b in parsed.blocks] == [
        ("heading", "Rules", ("Rules",), 1),
        ("paragraph", "Members may borrow five books for four weeks and must bring them back.", ("Rules",), 1),
        ("heading", "Fees", ("Rules", "Fees"), 2),
        ("paragraph", "Ten cents a day.", ("Rules", "Fees"), 2),
        ("paragraph", "A new paragraph.", ("Rules", "Fees"), 2),
    ]


def test_pages_without_text_are_named():
    parsed = parse("a.pdf", pdf_of([[(11, 700, "Text here.")], []]))

    assert [code for code, _ in parsed.warnings] == ["PAGES_WITHOUT_TEXT"]


def test_a_pdf_without_any_text_has_no_text():
    with pytest.raises(UnreadableDocumentError) as caught:
        parse("scan.pdf", pdf_of([[], []]))

    assert caught.value.facts["reason"] == "NO_TEXT"


# All


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.docx", word(lambda d: d.add_paragraph("x"))), ("a.pptx", presentation()), ("a.xlsx", workbook())],
)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_damaged_office_files_are_corrupt_or_still_readable(name, content, data):
    damaged = bytearray(content)
    for position in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=30)):
        damaged[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(damaged)))

    for attempt in (bytes(damaged), content[:cut]):
        try:
            outcome = parse(name, attempt).text
        except UnreadableDocumentError as error:
            outcome = error.facts["reason"]
        assert isinstance(outcome, str)


def test_containers_that_unpack_to_too_much_are_refused_before_that():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * (80 << 20))

    with pytest.raises(UnreadableDocumentError, match="unpacked it has 83,886,080 bytes") as caught:
        parse("bomb.docx", stream.getvalue())

    assert caught.value.facts["reason"] == "TOO_LARGE"
