"""The prompts of the query modes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lorebase.retrieval.modes.prompts import HOP_PROMPT, REWRITE_PROMPT, QueryPrompt


@pytest.mark.parametrize("prompt", [REWRITE_PROMPT, HOP_PROMPT])
def test_a_changed_word_in_either_language_is_another_version(prompt: QueryPrompt) -> None:
    versions = {
        prompt.version,
        replace(prompt, system={**prompt.system, "en": "other"}).version,
        replace(prompt, system={**prompt.system, "zh": "其他"}).version,
    }

    assert len(versions) == 3


def test_places_are_filled_in_and_the_form_of_the_answer_stays() -> None:
    english = REWRITE_PROMPT.instructions("en", most=4, languages="English, Chinese")
    chinese = REWRITE_PROMPT.instructions("zh", most=4, languages="中文、英文")

    assert "at most 4 other queries" in english
    assert "Languages: English, Chinese." in english
    assert "最多写 4 条" in chinese
    assert all('{"queries": ["...", "..."]}' in text for text in (english, chinese))
