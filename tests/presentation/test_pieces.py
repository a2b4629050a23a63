"""Cutting a text into the pieces of a stream."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from lorebase.presentation.pieces import text_pieces

FAMILY = "👨\u200d👩\u200d👧\u200d👦"  # 7 code points that readers see as one
FLAG = "🇨🇳"
ACCENTED = "e\u0301"

TEXTS = st.text(
    alphabet=st.one_of(st.sampled_from("ab\r\n你好。\u0301\u200d👩👧🇨🇳\ufe0f"), st.characters()), max_size=60
)


@given(TEXTS, st.integers(1, 12))
def test_joined_pieces_are_the_text_and_none_is_empty_or_too_long(text: str, max_chars: int) -> None:
    """A-103."""
    pieces = list(text_pieces(text, max_chars))

    assert "".join(pieces) == text
    assert all(0 < len(piece) <= max_chars for piece in pieces)


@given(TEXTS, st.integers(1, 12))
def test_no_cut_falls_inside_a_cluster_that_fits_a_piece(text: str, max_chars: int) -> None:
    """A-103."""
    ends = [0]
    for piece in text_pieces(text, max_chars):
        ends.append(ends[-1] + len(piece))

    for cluster in regex.finditer(r"\X", text):
        if len(cluster[0]) <= max_chars:
            assert not any(cluster.start() < end < cluster.end() for end in ends)


@given(st.text(alphabet="知识库答案，。", min_size=1, max_size=2000))
def test_chinese_is_cut_every_240_characters(text: str) -> None:
    """A-102, A-103: characters, not bytes or UTF-16 units."""
    pieces = list(text_pieces(text, 240))

    assert all(len(piece) == 240 for piece in pieces[:-1])
    assert "".join(pieces) == text


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("x" * 238 + FAMILY + "y", ["x" * 238, FAMILY + "y"]),
        ("x" * 239 + FLAG, ["x" * 239, FLAG]),
        ("x" * 239 + ACCENTED, ["x" * 239, ACCENTED]),
        ("x" * 239 + "\r\n", ["x" * 239, "\r\n"]),
        ("x" * 233 + FAMILY, ["x" * 233 + FAMILY]),
        ("😀" * 241, ["😀" * 240, "😀"]),
    ],
)
def test_what_readers_see_as_one_character_stays_in_one_piece(text: str, pieces: list[str]) -> None:
    """A-103."""
    assert list(text_pieces(text, 240)) == pieces


def test_a_cluster_longer_than_a_piece_is_cut_between_code_points() -> None:
    assert list(text_pieces("ab" + FAMILY + "c", 3)) == ["ab", FAMILY[:3], FAMILY[3:6], FAMILY[6:] + "c"]


def test_endless_combining_marks_do_not_make_a_piece_longer() -> None:
    pieces = list(text_pieces("a" + "\u0301" * 1000, 240))

    assert [len(piece) for piece in pieces] == [240, 240, 240, 240, 41]


def test_an_empty_text_has_no_pieces() -> None:
    assert list(text_pieces("", 240)) == []
