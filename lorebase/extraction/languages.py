"""Which of the languages that extraction speaks a text is written in."""

from __future__ import annotations

import re
from typing import Literal

import regex

Language = Literal["en", "zh"]
LanguageSetting = Literal["auto", "en", "zh"]

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = regex.compile(r"[\p{Script=Hiragana}\p{Script=Katakana}]")
_SPACED_WORD = regex.compile(r"[[\p{L}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]]+", regex.VERSION1)
_HAN_CHARS_A_WORD = 2


def language_of(text: str, setting: LanguageSetting = "auto") -> Language:
    """The setting, or Chinese where a text has more Chinese words than others, otherwise English.

    Japanese, told by its kana, and every other language count as English: its prompts ask for answers in the
    language of the text.
    """
    if setting != "auto":
        return setting
    han = 0 if text.isascii() else len(_HAN.findall(text))
    if not han or len(_KANA.findall(text)) * 4 > han:
        return "en"
    return "zh" if han / _HAN_CHARS_A_WORD >= len(_SPACED_WORD.findall(text)) else "en"
