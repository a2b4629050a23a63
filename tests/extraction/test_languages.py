"""Which language a text counts as."""

from __future__ import annotations

import pytest

from lorebase.extraction.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The lamp burns oil.", "en"),
        ("灯塔每晚八点亮灯。", "zh"),
        ("使用 GraphRAG 检索知识库", "zh"),
        ("The word 灯塔 means lighthouse in Chinese.", "en"),
        ("東京タワーはとても高いです", "en"),
        ("Der Leuchtturm brennt.", "en"),
        ("", "en"),
        ("123 456", "en"),
    ],
)
def test_the_language_with_more_words_decides(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_setting_overrules_the_text() -> None:
    assert language_of("灯塔每晚八点亮灯。", "en") == "en"
