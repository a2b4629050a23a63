"""Prompts have a version that every word counts for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lorebase.extraction.prompts.entity_prompt import ENTITY_PROMPT
from lorebase.extraction.prompts.relation_prompt import RELATION_PROMPT
from lorebase.extraction.prompts.wording import PromptWording


@pytest.mark.parametrize("prompt", [ENTITY_PROMPT, RELATION_PROMPT])
def test_a_changed_word_is_another_version(prompt: PromptWording) -> None:
    changed = replace(prompt, system={**prompt.system, "zh": prompt.system["zh"] + "。"})

    assert changed.version != prompt.version
    assert replace(prompt).version == prompt.version


@pytest.mark.parametrize("prompt", [ENTITY_PROMPT, RELATION_PROMPT])
def test_both_languages_say_all_that_is_filled_in(prompt: PromptWording) -> None:
    for language in ("en", "zh"):
        said = prompt.instructions(language, types=("ship",), most=7)

        assert "ship" in said
        assert "7" in said
        assert "{most}" not in said
        assert "{types}" not in said
