"""Rules of the built-in engine, format by format."""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile
from contextlib import suppress
from email.message import EmailMessage

import docx
import pptx
import pytest
import xlsxwriter
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx.util import Inches

from lorebase.adapters.parsers.builtin import BuiltinParser
from lorebase.documents.file_types import MEDIA_TYPES
from lorebase.documents.model import ParsedDocument
from lorebase.documents.parsing import ParserRegistry
from lorebase.errors import UnreadableDocumentError
from tests.documents.making import pdf_of, source_document

Shown = list[tuple[str, str]]


def parse(name: str, content: bytes | str) -> ParsedDocument:
    data = content.encode() if isinstance(content, str) else content
    return ParserRegistry([BuiltinParser()]).parse_document(source_document(name, data), data)


def blocks(parsed: ParsedDocument) -> Shown:
    return [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]


def paths(parsed: ParsedDocument) -> list[tuple[str, ...]]:
    return [block.heading_path for block in parsed.blocks]


# Web pages


def test_scripts_styles_templates_and_hidden_parts_never_become_text():
    parsed = parse(
        "a.html",
        """<html><head><title>T</title><script>bad1()</script><style>.bad2{}</style></head>
        <body><nav>bad3</nav>
        <p>one<script>bad4()</script> two</p><template>bad5</template><noscript>bad6</noscript><p hidden>bad7</p>
        <div style="color:red; display: none">bad8</div><div aria-hidden="true">bad9</div>
        <ul role="navigation"><li>bad10</ul>
        <!-- bad11 --><button>bad12</button><svg><text>bad13</text></svg>three</body></html>""",
    )

    assert blocks(parsed) == [("heading", "T"), ("paragraph", "one two"), ("paragraph", "three")]


def test_headings_lists_tables_and_code_of_a_page_keep_their_structure():
    parsed = parse(
        "a.htm",
        """<h1>A <em>b</em></h1>loose <b>te</b>xt<br>next<h2>C</h2>
        <ul><li>x<ul><li>y</ul><li>z</ul><ol start=3><li>q</ol>
        <table><caption>Cap</caption><thead><tr><th>n<th>v</thead><tr><td>1<td>2<br>3</table><pre>  a
  b</pre>""",
    )

    assert blocks(parsed) == [
        ("heading", "A b"),
        ("paragraph", "loose text\nnext"),
        ("heading", "C"),
        ("list", "- x\n  - y\n- z"),
        ("list", "3. q"),
        ("paragraph", "Cap"),
        ("table", "n | v\n1 | 2 3"),
        ("code", "  a\n  b"),
    ]
    assert parsed.blocks[-1].heading_path == ("A b", "C")
    assert parsed.blocks[6].header_chars == len("n | v\n")


def test_line_breaks_of_the_source_put_no_space_between_chinese_characters():
    parsed = parse("a.html", "<p>图书\n  馆\nis a\nlibrary<br>二<table><tr><td>借\n书<td>b<tr><td>c<td>d</table>")

    assert blocks(parsed) == [("paragraph", "图书馆 is a library\n二"), ("table", "借书 | b\nc | d")]


def test_merged_cells_have_their_text_once():
    parsed = parse(
        "a.html",
        "<table><tr><td rowspan=2>a<td colspan=2>b<td>c<tr><td>d<td>e<td>f<tr><td>g<td>h<td>i<td>j</table>",
    )

    assert blocks(parsed) == [("table", "a | b |  | c\n | d | e | f\ng | h | i | j")]


def test_layout_tables_of_a_page_are_read_as_its_text():
    parsed = parse(
        "a.html", "<table><tr><td><h1>T</h1><p>left</p><td><table><tr><td>x<td>y<tr><td>1<td>2</table></table>"
    )

    assert blocks(parsed) == [("heading", "T"), ("paragraph", "left"), ("table", "x | y\n1 | 2")]


def test_a_page_of_nothing_but_navigation_keeps_it():
    assert blocks(parse("a.html", "<body><nav><p>only this</p></nav>")) == [("paragraph", "only this")]


def test_a_page_without_visible_text_has_no_text():
    with pytest.raises(UnreadableDocumentError) as caught:
        parse("a.html", "<html><script>x()</script></html>")

    assert caught.value.facts["reason"] == "NO_TEXT"


def test_a_page_nested_beyond_all_measure_keeps_its_text():
    parsed = parse("a.html", "<div>" * 1500 + "deep" + "</div>" * 1500 + "<p>after</p>")

    assert blocks(parsed) == [("paragraph", "deep\nafter")]
    assert [code for code, _ in parsed.warnings] == ["STRUCTURE_LOST"]


def test_a_page_nested_so_deeply_that_text_would_be_lost_is_refused():
    with pytest.raises(UnreadableDocumentError, match="nested too deeply"):
        parse("a.html", "<p>before</p>" + "<div>" * 3000 + "deep")


# Markdown


def test_markdown_keeps_its_source_and_gains_blocks():
    source = (
        "# A `b`\r\n\r\nText\nmore.\n\n* x\n  * y\n\n| n | v |\n|---|---|\n| 1 | 2 |\n\n"
        "```py\n# no heading\n```\n\n[l]: http://x\n"
    )

    parsed = parse("a.md", source)

    assert parsed.text == source.replace("\r\n", "\n")
    assert blocks(parsed) == [
        ("heading", "# A `b`"),
        ("paragraph", "Text\nmore."),
        ("list", "* x\n  * y"),
        ("table", "| n | v |\n|---|---|\n| 1 | 2 |"),
        ("code", "```py\n# no heading\n```"),
        ("paragraph", "[l]: http://x"),
    ]
    assert set(paths(parsed)) == {("A b",)}
    assert parsed.blocks[3].header_chars == len("| n | v |\n|---|---|\n")


def test_front_matter_is_no_heading():
    parsed = parse("a.md", "---\ntitle: x\n---\n# A\n")

    assert blocks(parsed) == [("code", "---\ntitle: x\n---"), ("heading", "# A")]


@given(text=st.text(st.characters(exclude_categories=["Cs"])) | st.text(alphabet="#*-|>`[]()<a \n\t:1.", max_size=80))
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_blocks_of_text_formats_cover_every_visible_character_in_order(name, text):
    try:
        parsed = parse(name, text)
    except UnreadableDocumentError:
        return

    reached = 0
    for block in parsed.blocks:
        assert parsed.text[reached : block.start].strip() == ""
        assert reached <= block.start < block.end
        assert parsed.text[block.start : block.end].strip()
        reached = block.end
    assert parsed.text[reached:].strip() == ""


# Plain text


def test_chapter_lines_of_plain_text_are_headings():
    parsed = parse(
        "a.txt", "第一章 总则\n\n第一条 为了管理，制定本规程。\n\n第二章 借阅\n\n每人五册。\n\nCHAPTER IV\n\nHe came.\n"
    )

    assert [(kind, path) for (kind, _), path in zip(blocks(parsed), paths(parsed), strict=True)] == [
        ("heading", ("第一章 总则",)),
        ("paragraph", ("第一章 总则",)),
        ("heading", ("第二章 借阅",)),
        ("paragraph", ("第二章 借阅",)),
        ("heading", ("CHAPTER IV",)),
        ("paragraph", ("CHAPTER IV",)),
    ]


# Tables


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    rows = [["name", "price"], ["a b", "1"], ["c", "2"]]

    parsed = parse("a.csv", "\r\n".join(delimiter.join(row) for row in rows))

    assert blocks(parsed) == [("table", "name | price\na b | 1\nc | 2")]
    assert parsed.blocks[0].header_chars == len("name | price\n")


def test_quoted_delimiters_line_breaks_and_long_fields_stay_in_their_cell():
    long = "x" * 200_000

    parsed = parse("a.csv", f'name;note\n"a;b";"two\nlines, one cell"\nc;{long}\n')

    assert blocks(parsed) == [("table", f"name | note\na;b | two lines, one cell\nc | {long}")]


def test_a_first_row_of_numbers_is_no_header():
    assert parse("a.tsv", "1\t2\n3\t4\n").blocks[0].header_chars == 0


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


# JSON and mail


def test_json_records_are_paragraphs_of_paths_and_values():
    content = json.dumps(
        [{"id": 1, "price": 1.10, "tags": ["a", "b"], "who": {"name": "李"}, "ok": True, "no": None}, {"id": 2}]
    )

    assert blocks(parse("a.json", content)) == [
        ("paragraph", "id: 1\nprice: 1.1\ntags: a, b\nwho.name: 李\nok: true\nno: null"),
        ("paragraph", "id: 2"),
    ]


def test_json_parts_stand_apart_and_numbers_keep_their_digits():
    content = (
        '{"v": 1.10, "v": 12345678901234567890, "part": {"a": [[1], [2]]}, "rows": [{"x": 1}, {"x": 2}], "end": ""}'
    )

    parsed = parse("a.json", content)

    assert blocks(parsed) == [
        ("paragraph", "v: 1.10\nv: 12345678901234567890"),
        ("paragraph", "part.a[0]: 1\npart.a[1]: 2"),
        ("heading", "rows"),
        ("paragraph", "x: 1"),
        ("paragraph", "x: 2"),
        ("paragraph", "end: "[:-1]),
    ]


def test_json_lines_are_records_and_broken_lines_are_kept_with_a_warning():
    parsed = parse("a.jsonl", '{"q": "一"}\n\n{broken\n{"q": "\\ud800 half"}\n')

    assert blocks(parsed) == [("paragraph", "q: 一"), ("paragraph", "{broken"), ("paragraph", "q: \\ud800 half")]
    assert parsed.warnings == (("INVALID_JSON", "1 line(s) are no JSON and were kept as text, first: 3."),)


def test_a_mail_has_its_subject_as_heading():
    message = EmailMessage()
    message["Subject"] = "新门禁"
    message["From"] = "a@example.org"
    message.set_content("Dear all,\n\nthe gate comes.\n")
    message.add_alternative("<p>other</p>", subtype="html")
    message.add_attachment(b"data", maintype="application", subtype="pdf", filename="plan.pdf")

    parsed = parse("a.eml", message.as_bytes())

    assert blocks(parsed) == [
        ("heading", "新门禁"),
        ("paragraph", "From: a@example.org"),
        ("paragraph", "Dear all,"),
        ("paragraph", "the gate comes."),
    ]
    assert [code for code, _ in parsed.warnings] == ["ATTACHMENTS_LEFT_OUT"]


def test_a_mail_of_html_only_is_read_as_a_page():
    message = EmailMessage()
    message["Subject"] = "S"
    message.set_content("<p>one</p><script>bad()</script>", subtype="html")

    assert blocks(parse("a.eml", message.as_bytes())) == [("heading", "S"), ("paragraph", "one")]


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
        with suppress(UnreadableDocumentError):
            parse(name, attempt)


def test_containers_that_unpack_to_too_much_are_refused_before_that():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * (80 << 20))

    with pytest.raises(UnreadableDocumentError, match="unpacked it has 83,886,080 bytes") as caught:
        parse("bomb.docx", stream.getvalue())

    assert caught.value.facts["reason"] == "TOO_LARGE"


def test_the_engine_reads_every_known_type_and_names_itself():
    assert BuiltinParser.media_types == set(MEDIA_TYPES.values())
    assert parse("a.txt", "x").parser == "builtin/1"
