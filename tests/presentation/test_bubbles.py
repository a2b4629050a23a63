"""Bubbles of a reply."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import UsageError
from lorebase.presentation.bubbles import is_blank, merge_reply_bubbles, reply_bubble_texts

BUBBLES = st.lists(st.text(alphabet="a你 \n\u200b"), max_size=8)


@dataclass
class Reply:
    bubbles: object


def test_a_blank_line_separates_two_bubbles_of_a_text() -> None:
    """A-100."""
    assert reply_bubble_texts("您好。\n第二行\n\n  Second\n \t\nThird\n") == ("您好。\n第二行", "  Second", "Third")


def test_a_second_blank_line_holds_a_blank_bubble() -> None:
    """A-100: extraction hides nothing from the checks."""
    assert reply_bubble_texts("a\n\n\nb") == ("a", "", "b")


def test_windows_line_ends_separate_like_others() -> None:
    assert reply_bubble_texts("a\r\nb\r\n\r\nc\r\n") == ("a\r\nb", "c")


def test_a_blank_text_is_one_blank_bubble_and_an_empty_list_none() -> None:
    assert reply_bubble_texts("") == reply_bubble_texts("\n \n\n") == ("",)
    assert reply_bubble_texts([]) == ()


def test_a_text_in_a_list_is_one_bubble_whatever_blank_lines_it_has() -> None:
    assert reply_bubble_texts(["a\n\nb", "", "c"]) == ("a\n\nb", "", "c")


@pytest.mark.parametrize(
    "reply",
    [Reply("a\n\nb"), Reply(["a", "b"]), {"bubbles": ["a", "b"]}, [Reply(["a"]), "b"], Reply({"bubbles": "a\n\nb"})],
)
def test_bubbles_are_found_in_objects_mappings_and_lists_of_them(reply: object) -> None:
    assert reply_bubble_texts(reply) == ("a", "b")


@pytest.mark.parametrize("reply", [None, 3, b"a", [b"a"], {"text": "a"}, [None]])
def test_a_reply_of_another_form_is_refused(reply: object) -> None:
    with pytest.raises(UsageError, match="cannot be read from"):
        reply_bubble_texts(reply)


def test_nothing_is_counted_or_cut_at_extraction() -> None:
    """A-100: limits belong to the registered contract."""
    assert len(reply_bubble_texts(["x" * 100_000] * 500)) == 500


def test_the_surplus_joins_the_last_bubble_with_one_line_break() -> None:
    """A-099."""
    assert merge_reply_bubbles(["a", " ", "b", "c", "", "d"], 2) == ("a", "b\nc\nd")


def test_bubbles_within_the_limit_stay_as_they_are_but_for_blank_ones() -> None:
    """A-099."""
    assert merge_reply_bubbles([" a ", "\n", "b"], 5) == (" a ", "b")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        merge_reply_bubbles(["a"], limit)


@given(BUBBLES, st.integers(1, 5))
def test_merging_loses_no_visible_bubble_and_keeps_to_the_limit(bubbles: list[str], limit: int) -> None:
    """A-099."""
    merged = merge_reply_bubbles(bubbles, limit)

    assert len(merged) <= limit
    assert "\n".join(merged) == "\n".join(bubble for bubble in bubbles if not is_blank(bubble))
    assert not any(is_blank(bubble) for bubble in merged)


@pytest.mark.parametrize(
    "text", ["", " \t\n", "\u3000", "\u200b\ufeff", "\u2060", "\u3164", "\u2800", "\x00", "\u200d"]
)
def test_what_a_reader_cannot_see_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "。", " \u200b你", "👩\u200d👩", "\u0301"])
def test_what_a_reader_can_see_is_not_blank(text: str) -> None:
    assert not is_blank(text)
