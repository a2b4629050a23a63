"""Rules of splitting: limits, coverage, boundaries, headers, determinism."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.adapters.parsers.builtin import BuiltinParser
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.model import Chunk, ParsedDocument
from lorebase.documents.splitting import split_document
from lorebase.errors import InvalidRecipeError

_TOKEN = re.compile(r"[\u3000-\u9fff\uff00-\uffef]|[A-Za-z]{1,6}|[0-9]{1,3}|\n|[^\s\w]|\w")


def count_pieces(text: str) -> int:
    """Like a subword tokenizer: cutting a word in two can give more tokens than the whole had."""
    return len(_TOKEN.findall(text))


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8"))


def count_words(text: str) -> int:
    return len(text.split())


def parsed_from(builder: DocumentBuilder) -> ParsedDocument:
    return ParsedDocument("doc-1", "rev-1", "a.txt", builder.text, builder.blocks, "text/plain")


def paragraphs(*texts: str) -> ParsedDocument:
    builder = DocumentBuilder()
    for text in texts:
        builder.add_paragraph(text)
    return parsed_from(builder)


def markdown(text: str) -> ParsedDocument:
    return BuiltinParser().parse(
        text.encode(), name="a.md", media_type="text/markdown", document_id="doc-1", revision_id="rev-1"
    )


def split(parsed: ParsedDocument, max_tokens: int, overlap_tokens: int = 0, count=count_pieces) -> list[Chunk]:
    return split_document(parsed, count, max_tokens=max_tokens, overlap_tokens=overlap_tokens, source="files")


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    text = st.one_of(
        st.text(max_size=120),
        st.text(alphabet="ab. 。！，\n中文é\u0301👩\u200d👧|", max_size=200),
        st.lists(
            st.sampled_from(["word", "Sentence ends.", "他说：“好。”", "\n", "longer-than-most-words"]), max_size=40
        ).map(" ".join),
    )
    builder = DocumentBuilder()
    for number in range(draw(st.integers(0, 8))):
        match draw(st.sampled_from(["heading", "paragraph", "list", "table", "code", "page"])):
            case "heading":
                builder.add_heading(draw(text), draw(st.integers(1, 4)))
            case "paragraph":
                builder.add_paragraph(draw(text))
            case "list":
                builder.add_list([(0, "-", item) for item in draw(st.lists(text, max_size=4))])
            case "table":
                rows = draw(st.lists(st.lists(text, max_size=4), max_size=5))
                builder.add_table(rows, header_rows=draw(st.integers(0, 2)))
            case "code":
                builder.add_code(draw(text))
            case _:
                builder.start_page(number + 1)
    return parsed_from(builder)


COUNTERS = st.sampled_from([count_pieces, count_bytes, count_words])


@given(parsed=documents(), max_tokens=st.integers(8, 60), count=COUNTERS)
@settings(max_examples=300, deadline=None)
def test_without_overlap_every_visible_character_is_in_exactly_one_chunk(parsed, max_tokens, count):
    chunks = split(parsed, max_tokens, count=count)

    covered = [position for chunk in chunks for position in range(chunk.start, chunk.end)]
    assert len(covered) == len(set(covered))
    assert {i for i in covered if not parsed.text[i].isspace()} == {
        i for i, char in enumerate(parsed.text) if not char.isspace()
    }


@given(parsed=documents(), max_tokens=st.integers(8, 60), share=st.floats(0, 0.5), count=COUNTERS)
@settings(max_examples=300, deadline=None)
def test_every_chunk_keeps_the_contract_of_chunks(parsed, max_tokens, share, count):
    chunks = split(parsed, max_tokens, int(max_tokens * share), count)

    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk.text == parsed.text[chunk.start : chunk.end]
        assert chunk.text.strip() == chunk.text != ""
        assert chunk.tokens == count(chunk.indexed_text) <= max_tokens
    for before, chunk in pairwise(chunks):
        assert before.start < chunk.start
        assert before.end < chunk.end
    missing = set(range(len(parsed.text))) - {i for chunk in chunks for i in range(chunk.start, chunk.end)}
    assert all(parsed.text[i].isspace() for i in missing)


@given(parsed=documents(), max_tokens=st.integers(8, 60), share=st.floats(0, 0.5))
@settings(max_examples=50, deadline=None)
def test_the_same_document_gives_the_same_chunks(parsed, max_tokens, share):
    first = split(parsed, max_tokens, int(max_tokens * share))
    second = split(parsed, max_tokens, int(max_tokens * share))

    assert first == second


def test_small_blocks_of_one_section_share_a_chunk():
    parsed = paragraphs("One.", "Two.", "Three.")

    chunks = split(parsed, 50)

    assert texts(chunks) == ["One.\n\nTwo.\n\nThree."]


def test_sections_do_not_share_a_chunk():
    parsed = markdown("# A\n\nFirst.\n\n# B\n\nSecond.\n")

    chunks = split(parsed, 50)

    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [
        (("A",), "# A\n\nFirst."),
        (("B",), "# B\n\nSecond."),
    ]


def test_headings_join_the_first_chunk_below_them():
    parsed = markdown("# A\n\n## B\n\nText.\n")

    chunks = split(parsed, 50)

    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [(("A", "B"), "# A\n\n## B\n\nText.")]
    assert chunks[0].kind == "paragraph"


def test_a_heading_with_nothing_below_it_is_a_chunk_of_its_own():
    parsed = markdown("# A\n\nText.\n\n# B\n\n# C\n\nMore.\n")

    chunks = split(parsed, 50)

    assert [(chunk.kind, chunk.text) for chunk in chunks] == [
        ("paragraph", "# A\n\nText."),
        ("heading", "# B"),
        ("paragraph", "# C\n\nMore."),
    ]


def test_a_chunk_is_never_a_bare_heading_when_text_follows():
    parsed = markdown("# A\n\n" + "word " * 100)

    chunks = split(parsed, 20)

    assert "word" in chunks[0].text


def test_pages_do_not_share_a_chunk():
    builder = DocumentBuilder()
    builder.start_page(1)
    builder.add_paragraph("First page.")
    builder.start_page(2, "Second")
    builder.add_paragraph("Second page.")

    chunks = split(parsed_from(builder), 50)

    assert [(chunk.page, chunk.page_label, chunk.text) for chunk in chunks] == [
        (1, "", "First page."),
        (2, "Second", "Second page."),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("田中の猫はかわいいですね。日本語上手。", ["田中の猫はかわいいですね。", "日本語上手。"]),
        ("天青色等烟雨，而我在等你。哈哈哈哈", ["天青色等烟雨，而我在等你。", "哈哈哈哈"]),
        ("他说：“今天天气好。”我们都去公园。", ["他说：“今天天气好。”", "我们都去公园。"]),
        ("谁知道……没有人知道这件事情！真的吗？", ["谁知道……", "没有人知道这件事情！", "真的吗？"]),
        (
            "One two three four five. Six seven eight nine ten.",
            ["One two three four five.", "Six seven eight nine ten."],
        ),
        ('He said "stop here now." Then he went away home.', ['He said "stop here now."', "Then he went away home."]),
        (
            "We met Dr. Smith and Mr. J. Doe. They were both late.",
            ["We met Dr. Smith and Mr. J. Doe.", "They were both late."],
        ),
        (
            "It costs 3.14 dollars at www.example.com. Pay it there.",
            ["It costs 3.14 dollars at www.example.com.", "Pay it there."],
        ),
    ],
)
def test_cuts_fall_between_sentences(text, expected):
    longest = max(count_pieces(sentence) for sentence in expected)

    chunks = split(paragraphs(text), max(longest, 8))

    assert texts(chunks) == expected


def test_a_long_chinese_text_is_cut_at_the_ends_of_sentences():
    text = "知识库需要维护，否则会过时。" * 700

    chunks = split(paragraphs(text), 120)

    assert all(chunk.text.endswith("。") for chunk in chunks)
    assert all(chunk.tokens > 90 for chunk in chunks[:-1])


def test_a_long_sentence_is_cut_at_a_clause_and_a_long_word_at_a_grapheme():
    clauses = split(paragraphs("one two three four five six, seven eight nine ten eleven twelve"), 9)
    graphemes = split(paragraphs("👩‍👧" * 10), 26, count=count_bytes)

    assert clauses[0].text == "one two three four five six,"
    assert all(set(chunk.text.split("👩‍👧")) == {""} for chunk in graphemes)


def test_words_are_cut_only_where_one_is_too_long():
    words = split(paragraphs("alpha beta gamma delta " * 20), 10)

    assert {word for chunk in words for word in chunk.text.split()} == {"alpha", "beta", "gamma", "delta"}


def table_of(row_count: int, header: list[str]) -> ParsedDocument:
    builder = DocumentBuilder()
    builder.add_heading("Stock", 1)
    builder.add_table([header, *([f"item{n}", str(n)] for n in range(row_count))], header_rows=1)
    return parsed_from(builder)


def test_tables_are_cut_between_rows_and_later_chunks_carry_the_header():
    chunks = split(table_of(30, ["name", "count"]), 30)

    assert len(chunks) > 2
    assert chunks[0].table_header == ""
    assert chunks[0].text.startswith("Stock\n\nname | count\nitem0 | 0")
    for chunk in chunks[1:]:
        assert chunk.table_header == "name | count"
        assert chunk.indexed_text.startswith("Stock\nname | count\nitem")
        assert re.fullmatch(r"(item\d+ \| \d+\n?)+", chunk.text)
        assert chunk.kind == "table"


def test_a_table_header_over_half_the_limit_is_left_away_from_later_chunks():
    chunks = split(table_of(20, ["a very long name of a column", "and another very long name"]), 20)

    assert {chunk.table_header for chunk in chunks} == {""}
    assert all(re.fullmatch(r"(item\d+ \| \d+\n?)+", chunk.text) for chunk in chunks[2:])


def test_a_long_heading_path_loses_its_outer_titles_first():
    builder = DocumentBuilder()
    builder.add_heading("outer words " * 6, 1)
    builder.add_heading("inner title", 2)
    builder.add_paragraph("Some text. " * 20)

    chunks = split(parsed_from(builder), 24)

    assert {chunk.heading_path for chunk in chunks} == {("inner title",)}


def test_an_endless_title_is_shortened():
    builder = DocumentBuilder()
    builder.add_heading("title " * 40, 1)
    builder.add_paragraph("Some text. " * 20)

    chunks = split(parsed_from(builder), 24)

    assert {chunk.heading_path for chunk in chunks} == {(" ".join(["title"] * 12),)}


def test_the_overlap_begins_at_a_sentence_where_one_is_near():
    text = " ".join(f"This is sentence number {n}." for n in range(40))

    chunks = split(paragraphs(text), 40, 10)

    for before, chunk in pairwise(chunks):
        repeated = text[chunk.start : before.end]
        assert repeated.startswith("This is sentence")
        assert 0 < count_pieces(repeated) <= 10


def test_the_overlap_begins_at_a_word_where_no_sentence_is_near():
    text = "alpha beta gamma delta " * 50

    chunks = split(paragraphs(text), 20, 5)

    for before, chunk in pairwise(chunks):
        assert chunk.start < before.end
        assert chunk.text.split()[0] in ("alpha", "beta", "gamma", "delta")


@pytest.mark.parametrize(("max_tokens", "overlap_tokens"), [(7, 0), (0, 0), (20, 11), (20, -1), (20, 20)])
def test_limits_that_contradict_each_other_are_refused(max_tokens, overlap_tokens):
    with pytest.raises(InvalidRecipeError, match="max_tokens"):
        split(paragraphs("text"), max_tokens, overlap_tokens)


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_blank_text_gives_no_chunks(text):
    parsed = ParsedDocument("doc-1", "rev-1", "a.txt", text, (), "text/plain")

    assert split(parsed, 20) == []


@pytest.mark.parametrize(
    "pattern", ["word ", "Sentence here. ", "字", "句子。", "x", "\n\n", ".", ". ", "。", '"', "a\n", "-,"]
)
def test_the_counter_is_given_a_bounded_multiple_of_the_text(pattern):
    text = pattern * (200_000 // len(pattern)) + "end"
    counted = 0

    def count(piece: str) -> int:
        nonlocal counted
        counted += len(piece)
        return len(piece)

    chunks = split(paragraphs(text), 200, 20, count)

    assert chunks
    assert counted < 12 * len(text)
