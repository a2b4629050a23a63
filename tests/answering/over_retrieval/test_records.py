"""Numbers and sources of an answer always agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lorebase.answering.over_retrieval.numbering import numbered_answer
from lorebase.answering.over_retrieval.records import AnswerCheckOutcomes, AnsweredQuestion, CheckOutcome
from lorebase.answering.ready_checks.claims import cited_numbers
from tests.answering.over_retrieval.evidence_scene import evidence

FOUND = evidence("Which?", [f"Passage {number} says so." for number in range(1, 6)])
PASSED = CheckOutcome(status="passed")


def answered(text: str, cited_text: str) -> AnsweredQuestion:
    _, sources = numbered_answer(cited_text, FOUND)
    return AnsweredQuestion(
        question="Which?",
        status="accepted",
        kind="quoted",
        text=text,
        sources=sources,
        source_status="ready",
        issues=(),
        checks=AnswerCheckOutcomes(local=PASSED, review=PASSED),
        language="en",
        predicate="unknown",
        mode="hybrid_search",
        evidence_score=0.9,
        generator="extractive",
    )


def test_citations_are_numbered_by_their_first_use() -> None:
    text, sources = numbered_answer("One [4]. Two [2, 4]. Three 【5】.", FOUND)

    assert text == "One [1]. Two [2][1]. Three [3]."
    assert [source.document.id for source in sources] == ["doc-4", "doc-2", "doc-5"]


@given(st.lists(st.integers(1, 5), max_size=8))
def test_whatever_is_cited_the_record_holds_together(numbers: list[int]) -> None:
    text, sources = numbered_answer(" ".join(f"Said [{number}]." for number in numbers), FOUND)

    record = answered(text, " ".join(f"Said [{number}]." for number in numbers))
    assert tuple(dict.fromkeys(cited_numbers(record.text))) == tuple(source.number for source in sources)
    assert len(sources) == len(set(numbers))


@pytest.mark.parametrize("text", ["One [2].", "None.", "One [1]. Two [2]."])
def test_a_record_whose_numbers_do_not_agree_cannot_be_made(text: str) -> None:
    with pytest.raises(ValidationError, match="the sources are numbered"):
        answered(text, "One [3].")
