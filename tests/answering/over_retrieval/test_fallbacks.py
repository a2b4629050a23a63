"""What is said in place of an answer."""

from __future__ import annotations

import pytest

from lorebase.answering.over_retrieval.drafts import Draft, check_draft, local_checks
from lorebase.answering.over_retrieval.fallbacks import fallback_draft
from lorebase.operation import CheckIssue, OperationContext
from tests.answering.over_retrieval.evidence_scene import evidence

UNAVAILABLE = CheckIssue(code="MODEL_UNAVAILABLE", message="No model can be called now.")


def passes(draft: Draft) -> bool:
    return check_draft(local_checks(4000), draft, OperationContext(app=None)).status == "passed"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "When does the ferry leave, please?",
            "What the knowledge base holds about this is written in another language: see [1][2].",
        ),
        ("泊位怎么收费？", "知识库中与此有关的内容是用另一种语言写的，请看[1][2]。"),
    ],
)
def test_evidence_in_another_language_is_pointed_at(question: str, text: str) -> None:
    texts = ["渡轮中午开航。", "狗不用买票。"] if question.isascii() else ["A berth costs nine.", "Paid at noon."]

    draft = fallback_draft(evidence(question, texts), [UNAVAILABLE])

    assert (draft.kind, draft.answer.text) == ("other_language", text)
    assert passes(draft)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who painted it?", "There is no checked answer to this question. Please ask a person who knows the subject."),
        ("穹顶是谁画的？", "这个问题没有经过核对的答案，请转由人工答复。"),
    ],
)
def test_where_nothing_can_be_quoted_a_person_is_named(question: str, text: str) -> None:
    """X-05."""
    texts = ["The ferry leaves at noon."] if question.isascii() else ["渡轮中午开航。"]

    draft = fallback_draft(evidence(question, texts), [UNAVAILABLE])

    assert (draft.kind, draft.answer.text, draft.answer.written_by) == ("hand_over", text, "program")
    assert passes(draft)
