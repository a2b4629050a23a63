"""Where a name stands in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.extraction.folding import FoldedText, folded


@pytest.mark.parametrize(
    ("text", "name", "written"),
    [
        ("The WORLD Health Organization met.", "World Health Organization", "WORLD Health Organization"),
        ("The World\nHealth   Organization met.", "World Health Organization", "World\nHealth   Organization"),
        ("ＧＰＵ的价格", "GPU", "ＧＰＵ"),
        ("使用AI技术", "ai", "AI"),
        ("Many GPUs and buses.", "GPU", "GPU"),
        ("Many GPUs and buses.", "bus", "bus"),
        ("Caf\u00e9 Central", "cafe\u0301 central", "Caf\u00e9 Central"),
        ("the co\u00adoperative", "cooperative", "co\u00adoperative"),
        ("在北京大学学习", "北京大学", "北京大学"),
    ],
)
def test_a_name_is_found_in_every_width_case_and_form(text: str, name: str, written: str) -> None:
    place = FoldedText(text).find(name)

    assert place is not None
    assert text[slice(*place)] == written


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("He said so.", "AI"),
        ("Cafe\u0301 Central", "Cafe"),
        ("carpets", "car"),
        ("北京", "北京大学"),
        ("anything", ""),
        ("anything", " \n"),
    ],
)
def test_a_part_of_a_word_is_not_its_name(text: str, name: str) -> None:
    assert FoldedText(text).find(name) is None


def test_all_places_are_found_from_left_to_right() -> None:
    places = list(FoldedText("WHO and who, whoever. WHO").find_all("WHO"))

    assert places == [(0, 3), (8, 11), (22, 25)]


@given(st.text(max_size=60), st.text(min_size=1, max_size=8))
def test_a_found_place_reads_like_the_name(text: str, name: str) -> None:
    for start, end in FoldedText(text).find_all(name):
        assert 0 <= start < end <= len(text)
        assert folded(name) in folded(text[start:end])


@given(st.text(st.characters(max_codepoint=127), max_size=60), st.text(st.characters(max_codepoint=127), max_size=4))
def test_ascii_text_is_folded_as_any_other(text: str, name: str) -> None:
    beside = len("灯 ")

    places = list(FoldedText("灯 x" + text).find_all(name))

    assert list(FoldedText("x" + text).find_all(name)) == [(start - beside, end - beside) for start, end in places]


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(name: str) -> None:
    assert folded(folded(name)) == folded(name)
