"""The fixed texts of the program."""

from __future__ import annotations

import pytest

from lorebase.answering.over_retrieval.drafts import check_draft, local_checks
from lorebase.answering.over_retrieval.fallbacks import fixed_draft
from lorebase.answering.over_retrieval.wording import CONTRADICTION, HAND_OVER, IN_OTHER_LANGUAGE, INSTEAD, NO_EVIDENCE
from lorebase.extraction.languages import language_of
from lorebase.operation import OperationContext
from lorebase.registry.intents import Predicate
from tests.answering.over_retrieval.evidence_scene import evidence

ALL = (NO_EVIDENCE, HAND_OVER, IN_OTHER_LANGUAGE, CONTRADICTION, *INSTEAD.values())


def test_every_predicate_that_is_not_answered_has_something_to_use_instead() -> None:
    assert set(INSTEAD) == set(Predicate) - {Predicate.QUERY_KNOWLEDGE, Predicate.UNKNOWN}


@pytest.mark.parametrize("wording", ALL)
def test_every_text_is_written_in_both_languages(wording: dict[str, str]) -> None:
    assert {language: language_of(text) for language, text in wording.items()} == {"en": "en", "zh": "zh"}


@pytest.mark.parametrize("wording", [NO_EVIDENCE, HAND_OVER, *INSTEAD.values()])
def test_every_fixed_answer_passes_its_checks(wording: dict[str, str]) -> None:
    drafts = [fixed_draft(evidence("What?", ["Something."]), "hand_over", text) for text in wording.values()]

    checked = [check_draft(local_checks(4000), draft, OperationContext(app=None)).issues for draft in drafts]
    assert checked == [(), ()]
