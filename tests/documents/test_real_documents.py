"""Every file of the test data either yields its text or says why not; no word of it is lost."""

# ruff: noqa: E501 (a table of phrases, one a line)

from __future__ import annotations

import html
import os
import re
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from lorebase.adapters.parsers.builtin import BuiltinParser
from lorebase.documents.model import ParsedDocument
from lorebase.documents.parsing import ParserRegistry
from lorebase.documents.splitting import split_document
from lorebase.errors import UnreadableDocumentError
from tests.documents.making import source_document

ROOT = Path(os.environ.get("LOREBASE_TEST_DATA", "missing")) / "documents"
FILES = sorted(path for path in ROOT.rglob("*") if path.is_file())
EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples" / "documents").rglob("*") if path.is_file())
pytestmark = pytest.mark.skipif(not FILES, reason="LOREBASE_TEST_DATA is not set")

# Kind of block, a stretch of it, the last heading above it (None: any), its page.
PHRASES: dict[str, list[tuple[str, str, str | None, int | None]]] = {
    "csv-semicolon.csv": [("table", "1 | DD37Cf93aecA6Dc | Sheryl | Baxter | Rasmussen Group | East Leonard", None, None)],
    "unit_test_headers_numbered.docx": [
        ("paragraph", "Paragraph 2.1.1.1", "Section 2.1.1", None),
        ("list", "3. Third sub-item at this level", None, None),
        ("paragraph", "This is the second reference.", "REFERENCES", None),
    ],
    "wiki_duck.html": [
        ("heading", "Etymology", "Etymology", None),
        ("paragraph", "Duck is the common name for numerous species of waterfowl", "Duck", None),
    ],
    "word_sample.docx": [
        ("list", "- Paddle about", "Let’s swim!", None),
        ("list", "1. Leaves\n2. Berries\n3. Grain", "Let’s eat", None),
        ("table", " | Food | Calories per portion\nLeaves | Ash, Elm, Maple | 50", "Let’s eat", None),
        ("paragraph", "Figure 1: This is a cute duckling", None, None),
    ],
    "word_tables.docx": [("table", "Cell 1.0 | Merged Cell 1.1 2.1 | Cell 1.2\nCell 2.0 |  | Cell 2.2", None, None)],
    "REPAIR-2022-INV-001_multipage.pdf": [
        ("paragraph", "Gabriel Diaz", None, 1),
        ("paragraph", "batman@wayneindustries.com", None, 2),
    ],
    "test.docx": [("heading", "Abstract", "Abstract", None), ("paragraph", "customizable, conversable", "Abstract", None)],
    "test.pdf": [("paragraph", "Large language models (LLMs) are becoming a crucial building block", "1 Introduction", 1)],
    "test.pptx": [
        ("table", "ColA | ColB | ColC | ColD | ColE | ColF\n1 | 2 | 3 | 4 | 5 | 6", "A table to test parsing:", 3),
        ("table", "2003 | 2003", "A chart to test parsing:", 4),
        ("list", "  - Sub comment 2", "A Nested Shape parsing", 5),
    ],
    "test.xlsx": [("table", "Alpha | Beta | Gamma | Delta\n89 | 82 | 100 | 12\n76 | 89 | 33 | 42", "Sheet1", 1)],
    "test_blog.html": [("paragraph", "Large language models (LLMs) are powerful tools", "Does Model and Inference Parameter Matter in LLM Applications? - A Case Study for MATH", None)],
    "test_mskanji.csv": [("table", "名前 | 年齢 | 住所\n佐藤太郎 | 30 | 東京\n三木英子 | 25 | 大阪\n髙橋淳 | 35 | 名古屋", None, None)],
    "test_wikipedia.html": [("paragraph", "Microsoft Corporation is an American multinational", "Microsoft", None)],
    "README.md": [("code", "curl -O", None, None), ("list", "`example-10k.html` - A 10-K SEC filing", "Example Docs", None)],
    "all-number-table.pdf": [("paragraph", "1600.01 15", None, 1)],
    "book-war-and-peace-1225p.txt": [("paragraph", '"Well, Prince, so Genoa and Lucca', "CHAPTER I", None)],
    "codeblock.md": [("code", '<html lang="en">', "HTML Example", None), ("code", "<to>Tove</to>", "XML Example", None)],
    "copy-protected.pdf": [("paragraph", "This paper introduces LayoutParser", None, 1)],
    "csv-with-escaped-commas.csv": [("table", "A | A | A | A,A | A", None, None)],
    "csv-with-long-lines.csv": [("table", "SpearmanCorrelationCoefficient | 1Freq CD161CD8TfrequencyUnstim", None, None)],
    "docx-tables.docx": [("table", "Header Col 1 | Header Col 2\nLorem ipsum | A link example", None, None), ("paragraph", ">b<", None, None)],
    "emoji.xlsx": [("table", "🤠😅", None, 1)],
    "eng_spa_mult.docx": [("paragraph", "All human beings are born free", None, None)],
    "example-10k-1p.html": [("table", "Nevada | 20-8143439", None, None), ("paragraph", "Galaxy Gaming, Inc.", None, None)],
    "example-with-scripts.html": [("paragraph", "Belarusian forces remain unlikely to attack Ukraine", None, None)],
    "fake-html-cp1252.html": [("code", "Der Preis betrug 15,50 €.", "My First Heading", None)],
    "fake-html.html": [("list", "- A test list\n  - With sub-bullets!\n  - And another\n- Back at the root", "My Second Heading", None)],
    "fake-power-point.pptx": [("paragraph", "Here is some text in a text box!", "Adding a Bullet Slide", 1)],
    "fake-text-utf-16.txt": [("paragraph", "This is a test document to use", None, None)],
    "handbook-1p.docx": [("paragraph", "appoints and supervises standing trustees", None, None)],
    "handbook-872p.docx": [("heading", "C. STANDING TRUSTEE COMPENSATION AND BENEFITS", None, None)],
}  # fmt: skip
UNREADABLE = {
    "empty.txt": "EMPTY",
    "fake-text-all-whitespace.txt": "EMPTY",
    "password_protected.xlsx": "ENCRYPTED",
    "random.bin": "BINARY",
}


@cache
def parsed(path: Path) -> ParsedDocument:
    content = path.read_bytes()
    return ParserRegistry([BuiltinParser()]).parse_document(source_document(path.name, content), content)


def readable() -> list[Path]:
    return [path for path in FILES if path.name not in UNREADABLE]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def test_every_file_of_the_data_is_spoken_for():
    assert {path.name for path in FILES} == PHRASES.keys() | UNREADABLE.keys()


@pytest.mark.parametrize("path", readable(), ids=lambda path: path.name)
def test_known_phrases_stand_where_they_belong(path):
    document = parsed(path)

    for kind, phrase, heading, page in PHRASES[path.name]:
        found = [block for block in document.blocks if phrase in document.text[block.start : block.end]]
        assert found, phrase
        assert any(
            block.kind == kind and (heading is None or block.heading_path[-1:] == (heading,)) and block.page == page
            for block in found
        ), (phrase, found)


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files_say_why(name):
    (path,) = (path for path in FILES if path.name == name)

    with pytest.raises(UnreadableDocumentError) as caught:
        parsed(path)

    assert caught.value.facts == {"document": name, "reason": UNREADABLE[name]}


def test_a_pdf_that_asks_not_to_be_copied_is_read_with_a_warning():
    (path,) = (path for path in FILES if path.name == "copy-protected.pdf")

    assert "COPYING_NOT_PERMITTED" in [code for code, _ in parsed(path).warnings]


@pytest.mark.parametrize("path", [*readable(), *EXAMPLES], ids=lambda path: path.name)
def test_blocks_cover_the_text_in_order_and_hold_no_replacement_character(path):
    document = parsed(path)

    reached = 0
    for block in document.blocks:
        assert document.text[reached : block.start].strip() == ""
        assert reached <= block.start < block.end
        assert 0 <= block.header_chars < block.end - block.start
        reached = block.end
    assert document.text[reached:].strip() == ""
    assert "\ufffd" not in document.text


@pytest.mark.parametrize("path", [path for path in readable() if path.suffix == ".docx"], ids=lambda path: path.name)
def test_no_word_of_a_word_document_is_lost(path):
    with zipfile.ZipFile(path) as archive:
        xml = archive.read("word/document.xml").decode()
    runs = (
        "".join(re.findall(r"<w:t(?: [^>]*)?>([^<]*)</w:t>", piece))
        for piece in re.split(r"</w:p>|<w:br/>|<w:tab/>", xml)
    )

    lost = words(html.unescape("\n".join(runs))) - words(parsed(path).text)

    assert not lost


@pytest.mark.parametrize("path", [path for path in readable() if path.suffix == ".pptx"], ids=lambda path: path.name)
def test_no_word_of_a_presentation_is_lost(path):
    with zipfile.ZipFile(path) as archive:
        slides = [
            archive.read(name).decode()
            for name in archive.namelist()
            if re.match(r"ppt/(slides|notesSlides)/[^/]+xml", name)
        ]
    lines = (
        "".join(re.findall(r"<a:t>([^<]*)</a:t>", piece))
        for slide in slides
        for piece in re.split(r"</a:p>|<a:br/>", slide)
    )

    lost = words(html.unescape("\n".join(lines))) - words(parsed(path).text)

    # Slide numbers stand in fields of the notes pages.
    assert not [word for word in lost if not word.isdigit()]


@pytest.mark.parametrize(
    "name", ["example-with-scripts.html", "wiki_duck.html", "test_wikipedia.html", "test_blog.html"]
)
def test_no_script_of_a_real_page_becomes_text(name):
    (path,) = (path for path in FILES if path.name == name)

    text = parsed(path).text

    for sign in ("function(", "document.", "var ", "=>", "</", "{display", "jQuery"):
        assert sign not in text


@pytest.mark.parametrize("path", [*readable(), *EXAMPLES], ids=lambda path: path.name)
def test_real_documents_split_within_the_limit_and_lose_nothing(path):
    document = parsed(path)

    chunks = split_document(document, lambda text: (len(text) + 2) // 3, max_tokens=200, overlap_tokens=0, source="s")

    assert max(chunk.tokens for chunk in chunks) <= 200
    assert sum(len("".join(chunk.text.split())) for chunk in chunks) == len("".join(document.text.split()))
    assert all(chunk.page is not None for chunk in chunks) == (path.suffix in (".pdf", ".pptx", ".xlsx"))
