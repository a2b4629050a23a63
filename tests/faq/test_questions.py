"""Which questions are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.faq.questions import normal_answer, normal_question


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("How do I reset my password?", "how do i reset my PASSWORD"),
        ("What's the fee?", "whats the fee"),
        ("Ｈｏｗ　ｍｕｃｈ？", "how much?"),
        ("如何重置密码？", "如何重置密码"),
        ("如何 重置 密码?", "如何重置密码？"),
        ("请问如何重置密码呢？", "如何重置密码"),
        ("开通ＶＩＰ要多少钱", "开通 vip 要多少钱？"),
        ("e-mail or fax", "e mail, or fax"),
        ("Please  what is it", "what is it"),
    ],
)
def test_width_case_punctuation_spaces_and_politeness_do_not_tell_questions_apart(left: str, right: str) -> None:
    assert normal_question(left) == normal_question(right) != ""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("What is C#?", "What is C?"),
        ("Is C++ used?", "Is C used?"),
        ("Version 1.2", "Version 12"),
        ("如何开户", "如何销户"),
        ("能退款吗", "能退款"),
        ("100% off", "100 off"),
    ],
)
def test_signs_and_words_that_carry_meaning_do(left: str, right: str) -> None:
    assert normal_question(left) != normal_question(right)


@given(st.text(max_size=40))
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_question(normal_question(text)) == normal_question(text)


@pytest.mark.parametrize("text", ["", "  ", "?!。，", "“”"])
def test_punctuation_alone_asks_nothing(text: str) -> None:
    assert normal_question(text) == ""


def test_answers_that_differ_in_width_case_and_spaces_are_the_same() -> None:
    assert normal_answer("Ask　the  DESK.\n") == normal_answer("ask the desk.")
    assert normal_answer("Ask the desk.") != normal_answer("Ask the desk")
