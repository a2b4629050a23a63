"""The estimate for unknown tokenizers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.models.token_estimate import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 1),
        ("words", 2),
        ("two words", 3),
        ("知识", 3),
        ("deadbeef01", 10),
        ("a,b", 3),
        ("a\n\n\nb", 3),
        ("a  b", 3),
        ("\ud83d", 2),
    ],
)
def test_each_kind_of_stretch_counts_as_the_table_says(text: str, tokens: int):
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_joined_texts_count_about_as_their_parts(left: str, right: str):
    whole = estimate_tokens(f"{left}\n{right}")

    assert abs(whole - estimate_tokens(left) - estimate_tokens(right)) <= 2


@given(st.text())
def test_more_tokens_than_bytes_are_never_counted(text: str):
    assert estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


@given(st.lists(st.sampled_from(["知识库", "word", "0xdeadbeef", "。", "\n"])))
def test_a_longer_text_never_counts_less(pieces: list[str]):
    counts = [estimate_tokens("".join(pieces[:end])) for end in range(len(pieces) + 1)]

    assert counts == sorted(counts)
