"""Questions and answers in Markdown."""

from __future__ import annotations

from lorebase.adapters.parsers.markdown import read_markdown as parse
from lorebase.documents.model import ParsedDocument
from lorebase.faq.markdown import FoundStretch, read_markdown


def entries(text: str) -> list[FoundStretch]:
    whole, blocks = parse(text)
    return read_markdown(ParsedDocument("doc-1", "rev", "faq.md", whole, blocks, "text/markdown"), {})


def pairs(found: list[FoundStretch]) -> list[tuple[str, str]]:
    return [(one.found.values.question, one.found.values.answer) for one in found if one.found.values]


def test_a_heading_that_asks_is_answered_by_what_stands_below_it() -> None:
    text = (
        "# FAQ\n\nIntro.\n\n## 1. How do I join?\n\nAt the desk.\n\n- bring a pass\n\n## 怎么退卡？\n\n到前台办理。\n"
    )

    found = entries(text)

    assert pairs(found) == [("How do I join?", "At the desk.\n\n- bring a pass"), ("怎么退卡？", "到前台办理。")]
    assert found[0].heading_path == ("FAQ", "1. How do I join?")
    assert text[found[1].start : found[1].end] == "## 怎么退卡？\n\n到前台办理。"


def test_a_deeper_heading_belongs_to_the_answer_unless_it_asks_too() -> None:
    found = entries("## How?\n\nSo.\n\n### Details\n\nMore.\n\n### And why?\n\nBecause.\n")

    assert pairs(found) == [("How?", "So.\n\n### Details\n\nMore."), ("And why?", "Because.")]


def test_paragraphs_that_begin_with_q_and_a_are_entries_in_both_languages() -> None:
    found = entries("**Q:** How?\n**A:** So.\nAnd so.\n\n问：为什么？\n答：因为。\n")

    assert pairs(found) == [("How?", "So.\nAnd so."), ("为什么？", "因为。")]


def test_notes_below_a_question_give_variants_and_disable_it() -> None:
    """C159."""
    english = "## How?\n\nvariants: In what way? | By which means?\nenabled: no\n\nSo.\n\n"
    chinese = "## 怎么办？\n\n相似问：如何办\n\n这样办。\n"

    one, two = entries(english + chinese)

    assert one.found.values is not None
    assert two.found.values is not None
    assert (one.found.values.variants, one.found.values.enabled) == (("In what way?", "By which means?"), False)
    assert one.found.values.answer == "So."
    assert (two.found.values.variants, two.found.values.answer) == (("如何办",), "这样办。")


def test_text_that_asks_nothing_gives_no_entries() -> None:
    assert entries("# Harbour\n\nThe lamp burns.\n\nStatus: it burns at night.\n") == []
