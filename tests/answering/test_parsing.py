"""Knowledge documents out of Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.documents import KnowledgeDocument, KnowledgeSection
from lorebase.answering.knowledge import KnowledgeRead, define_knowledge_catalog
from lorebase.answering.parsing import parse_knowledge_document
from lorebase.errors import InvalidDefinitionError


def parse(text: str) -> KnowledgeDocument:
    return parse_knowledge_document(id="d", revision="1", locale="en", text=text)


def test_headings_open_sections_inside_each_other_by_their_level() -> None:
    """A-005, A-007."""
    document = parse("Intro.\n\n# Install\nMount it.\n\n## Wiring\n\nUse 16 A.\n\n# Care\n\nClean it.\n")

    assert document == KnowledgeDocument(
        id="d",
        revision="1",
        locale="en",
        parts=(
            "Intro.",
            KnowledgeSection("install", ("Mount it.", KnowledgeSection("wiring", ("Use 16 A.",)))),
            KnowledgeSection("care", ("Clean it.",)),
        ),
    )


@pytest.mark.parametrize(
    ("heading", "section_id"),
    [
        ("# Opening Hours", "opening-hours"),
        ("### Opening hours ###", "opening-hours"),
        ("# 开放时间", "开放时间"),
        ("# ＦＡＱ：退款、换货?", "faq-退款-换货"),
        ("# **Bold** [link](http://example.org/x) `code`", "bold-link-code"),
        ("# Opening hours {#hours}", "hours"),
        ("# ??? {#questions}", "questions"),
        ("# हिन्दी", "हिन्दी"),
    ],
)
def test_a_section_is_named_by_its_heading_or_what_stands_behind_it(heading: str, section_id: str) -> None:
    assert parse(heading).parts == (KnowledgeSection(section_id),)


def test_a_skipped_level_nests_and_a_higher_one_closes() -> None:
    document = parse("### c\n\n# a\n\n### deep\n\n## b\n")

    assert document.parts == (
        KnowledgeSection("c"),
        KnowledgeSection("a", (KnowledgeSection("deep"), KnowledgeSection("b"))),
    )


def test_blank_lines_part_paragraphs_which_stay_as_they_stand() -> None:
    document = parse("One\ntwo *three*.\r\n\r\n- a\n- b\n\n\n| x |\n|---|\n")

    assert document.parts == ("One\ntwo *three*.", "- a\n- b", "| x |\n|---|")


def test_a_fenced_block_is_one_paragraph_whatever_it_holds() -> None:
    document = parse("Run:\n```\nmake\n\n# not a heading\n```\nDone.\n\n~~~\nopen to the end\n\nlast")

    assert document.parts == (
        "Run:",
        "```\nmake\n\n# not a heading\n```",
        "Done.",
        "~~~\nopen to the end\n\nlast",
    )


def test_code_inside_a_list_item_stays_with_it() -> None:
    document = parse("- Run\n  ```\n  a\n\n  b\n  ```\n  now.\n")

    assert document.parts == ("- Run\n  ```\n  a\n\n  b\n  ```\n  now.",)


def test_there_is_no_front_matter_and_no_underlined_heading() -> None:
    document = parse("---\ntitle: x\n---\n\nTitle\n=====\n\n#hashtag\n")

    assert document.parts == ("---\ntitle: x\n---", "Title\n=====", "#hashtag")


def test_two_headings_with_one_id_are_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidDefinitionError, match=r"two sections with the id 'care'.*\{#another-id\}"):
        parse("# Care\n\n## Care\n")


def test_a_heading_without_an_id_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidDefinitionError, match="heading in line 3 gives no id"):
        parse("Text.\n\n# ???\n")


def test_an_empty_text_is_an_empty_document() -> None:
    assert parse(" \n\n").parts == ()


@settings(deadline=None)
@given(st.lists(st.sampled_from(["水泵 works.", "```\na\n\nb\n```", "- x\n- y", "> q", "***", "a\nb"]), max_size=6))
def test_no_line_is_lost_and_paragraphs_keep_their_order(blocks: list[str]) -> None:
    document = parse("\n\n".join(blocks))

    content = define_knowledge_catalog([document]).read(KnowledgeRead(document_id="d")).content

    assert content == "\n\n".join(blocks)


@settings(deadline=None)
@given(st.text(alphabet="`~- \n\t>a{}[]:=1水", max_size=60))
def test_without_headings_nothing_but_white_space_is_lost(text: str) -> None:
    content = define_knowledge_catalog([parse(text)]).read(KnowledgeRead(document_id="d")).content

    assert "".join(content.split()) == "".join(text.split())
