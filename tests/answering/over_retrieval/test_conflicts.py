"""Evidence against evidence."""

from __future__ import annotations

import pytest

from lorebase.answering.over_retrieval.conflicts import diverging_figures
from lorebase.answering.over_retrieval.fallbacks import fallback_draft
from tests.answering.over_retrieval.evidence_scene import evidence

ASKED = "What does a berth cost a night?"
ASKED_ZH = "泊位每晚收费多少？"


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        (ASKED, ["A berth costs 9 crowns a night.", "A berth costs 12 crowns a night."]),
        (ASKED, ["A berth costs nine crowns a night.", "Fees. A berth costs twelve crowns a night!"]),
        (ASKED_ZH, ["泊位每晚收费九元。", "泊位每晚收费十二元。"]),
        (ASKED_ZH, ["泊位每晚收费9元。", "泊位每晚收费12元。"]),
    ],
)
def test_the_same_sentence_with_other_figures_is_a_contradiction(question: str, texts: list[str]) -> None:
    assert diverging_figures(evidence(question, texts)) == (1, 2)


@pytest.mark.parametrize(
    "texts",
    [
        ["A berth costs 9 crowns a night.", "A berth costs 9 crowns a night!"],
        ["A berth costs 9 crowns a night.", "A berth at the pier costs 6 crowns a night."],
        ["In 2023 a berth cost 9 crowns a night.", "In 2024 a berth cost 12 crowns a night."],
        ["A berth costs 9 crowns a night. A berth costs 12 crowns a night."],
        ["berth | cost | night\nA | 9 | 1", "berth | cost | night\nA | 12 | 1"],
        ["The ferry takes 9 guests aboard.", "The ferry takes 12 guests aboard."],
    ],
)
def test_other_sentences_other_years_one_document_rows_and_other_matters_are_none(texts: list[str]) -> None:
    assert diverging_figures(evidence(ASKED, texts)) == ()


def test_a_contradiction_is_quoted_from_both_sides_in_the_language_of_the_question() -> None:
    draft = fallback_draft(evidence(ASKED_ZH, ["泊位每晚收费九元。", "泊位每晚收费十二元。"], status="conflict"), ())

    assert draft.kind == "contradiction"
    assert draft.answer.text == "文档在这里互相矛盾：\n- 泊位每晚收费九元。 [1]\n- 泊位每晚收费十二元。 [2]"
