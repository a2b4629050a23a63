"""From results to pinned passages."""

from __future__ import annotations

from lorebase.answering.over_retrieval.evidence import evidence_passages
from tests.answering.over_retrieval.evidence_scene import evidence, result


def test_a_passage_is_pinned_to_document_revision_and_text() -> None:
    """X-01."""
    (passage,) = evidence_passages([result("The tide turns.", document="tide")], 5)

    assert (passage.snapshot.document_id, passage.snapshot.revision, passage.text) == (
        "tide",
        "tide#1",
        "The tide turns.",
    )
    assert passage.snapshot.id.startswith("doc:")


def test_the_identity_of_a_passage_does_not_depend_on_what_else_was_found() -> None:
    alone = evidence_passages([result("The tide turns.", document="tide")], 5)
    among = evidence_passages([result("Noon.", document="ferry"), result("The tide turns.", document="tide")], 5)

    assert alone[0].snapshot.id == among[1].snapshot.id


def test_blank_and_repeated_results_are_left_out_and_the_rest_are_bounded() -> None:
    results = [result(text, document=f"doc-{place}") for place, text in enumerate([" \n", "a b", "a b", "c d", "e f"])]

    passages = evidence_passages(results, 2)

    assert [passage.text for passage in passages] == ["a b", "c d"]


def test_passages_know_whether_they_are_in_the_language_of_the_question() -> None:
    mixed = evidence("When does it open?", ["港务办公室早上七点开门。", "The office opens at seven."])

    assert mixed.in_own_language == (2,)
