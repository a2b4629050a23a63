"""Rules of the built-in engine for pages, text, data and mail."""

from __future__ import annotations

import json
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.adapters.parsers.builtin import BuiltinParser
from lorebase.documents.file_types import MEDIA_TYPES
from lorebase.errors import UnreadableDocumentError
from tests.documents.shown import blocks, parse, paths

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


def test_the_engine_reads_every_known_type_and_names_itself():
    assert BuiltinParser.media_types == set(MEDIA_TYPES.values())
    assert parse("a.txt", "x").parser == "builtin/1"
