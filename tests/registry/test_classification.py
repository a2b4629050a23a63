"""Telling the source type of a document by its signs, and by a model where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.errors import UnavailableError
from lorebase.registry.classification import (
    Classification,
    DocumentGlimpse,
    ModelChoice,
    classify_by_signs,
    classify_document,
)
from lorebase.registry.source_types import SourceType, builtin_source_types

TYPES = builtin_source_types()


class FixedClassifier:
    """Chooses what it was told to, and keeps what it was asked."""

    def __init__(self, choice: str | Exception, confidence: float = 0.9) -> None:
        self._choice = choice
        self._confidence = confidence
        self.asked: list[tuple[str, ...]] = []

    async def choose(self, document: DocumentGlimpse, types: Sequence[SourceType]) -> ModelChoice:
        self.asked.append(tuple(known.id for known in types))
        if isinstance(self._choice, Exception):
            raise self._choice
        return ModelChoice(self._choice, self._confidence, "It reads like one.")


@pytest.mark.parametrize(
    ("name", "headings", "text", "expected"),
    [
        ("travel_policy-2026.pdf", (), "", "policy"),
        ("差旅管理办法.docx", (), "", "policy"),
        ("x.md", ("常见问题",), "", "faq"),
        ("x.md", ("Frequently Asked Questions",), "", "faq"),
        ("FAQ.html", (), "", "faq"),
        ("ＦＡＱ.html", (), "", "faq"),
        ("a.txt", (), "参会人：张三、李四\n待办事项：……", "meeting_note"),
        ("a.txt", (), "Attendees: three. Action items: none.", "meeting_note"),
        ("orders.sql", (), "CREATE TABLE orders (id int PRIMARY KEY)", "table_schema"),
        ("kpi.xlsx", ("计算口径",), "", "metric_definition"),
        ("2026-05-01 postmortem.md", ("Root cause",), "", "incident_report"),
        ("打印机使用说明.pdf", (), "", "manual"),
        ("letter.txt", (), "Dear friend, the weather is fine.", "document"),
        ("", (), "", "document"),
    ],
)
def test_signs_tell_the_type_in_english_and_chinese(
    name: str, headings: tuple[str, ...], text: str, expected: str
) -> None:
    found = classify_by_signs(DocumentGlimpse(name, headings, text), TYPES)

    assert found.source_type_id == expected
    assert found.reason
    assert (found.score > 0) is (expected != "document")


def test_latin_signs_are_whole_words() -> None:
    found = classify_by_signs(DocumentGlimpse("manually-geometrics.txt", (), "agendas"), TYPES)

    assert found.way == "fallback"


def test_one_sign_in_the_text_alone_is_not_enough() -> None:
    """A document that mentions a policy once is none."""
    assert classify_by_signs(DocumentGlimpse("a.txt", (), "see our policy"), TYPES).source_type_id == "document"
    assert classify_by_signs(DocumentGlimpse("a.txt", (), "policy, compliance"), TYPES).source_type_id == "policy"


def test_an_exclude_in_a_heading_rules_a_type_out() -> None:
    found = classify_by_signs(DocumentGlimpse("policy.docx", ("Meeting minutes",), ""), TYPES)

    assert found.source_type_id == "meeting_note"


def test_an_exclude_in_the_text_takes_points_away() -> None:
    text = "policy compliance regulation. See the meeting minutes."

    assert classify_by_signs(DocumentGlimpse("a.txt", (), text), TYPES).source_type_id == "document"
    assert classify_by_signs(DocumentGlimpse("policy.txt", (), text), TYPES).source_type_id == "policy"


def test_a_disabled_type_is_passed_over() -> None:
    types = [known.model_copy(update={"enabled": known.id != "faq"}) for known in TYPES]

    assert classify_by_signs(DocumentGlimpse("faq.md"), types).source_type_id == "document"


async def test_clear_signs_ask_no_model() -> None:
    classifier = FixedClassifier("policy")

    found = await classify_document(DocumentGlimpse("faq.md"), TYPES, classifier)

    assert found.source_type_id == "faq"
    assert classifier.asked == []


async def test_without_signs_the_model_chooses_among_all_but_the_fallback() -> None:
    classifier = FixedClassifier("manual")

    found = await classify_document(DocumentGlimpse("letter.txt", (), "how?"), TYPES, classifier)

    assert found == Classification("manual", "model", "It reads like one.", 0.9)
    assert classifier.asked == [tuple(known.id for known in TYPES if known.id != "document")]


async def test_of_two_types_with_equal_signs_the_model_chooses_and_without_it_the_first() -> None:
    document = DocumentGlimpse("policy manual.pdf")

    with_model = await classify_document(document, TYPES, FixedClassifier("manual"))
    without = await classify_document(document, TYPES)

    assert with_model.source_type_id == "manual"
    assert (without.source_type_id, without.way) == ("policy", "signals")


@pytest.mark.parametrize("choice", ["", "document", "invented"])
async def test_a_type_that_was_not_offered_leaves_the_fallback(choice: str) -> None:
    found = await classify_document(DocumentGlimpse("letter.txt"), TYPES, FixedClassifier(choice))

    assert (found.source_type_id, found.way) == ("document", "fallback")


async def test_a_model_that_is_away_makes_no_document_the_fallback() -> None:
    """D-015."""
    with pytest.raises(UnavailableError):
        await classify_document(DocumentGlimpse("letter.txt"), TYPES, FixedClassifier(UnavailableError("away")))


@given(name=st.text(max_size=30), headings=st.lists(st.text(max_size=20), max_size=3), text=st.text(max_size=80))
@settings(max_examples=60)
def test_any_document_has_one_type_and_the_same_again(name: str, headings: list[str], text: str) -> None:
    document = DocumentGlimpse(name, tuple(headings), text)

    found = classify_by_signs(document, TYPES)

    assert found == classify_by_signs(document, TYPES)
    assert found.source_type_id in {known.id for known in TYPES}
