"""Thought at the head of a text, whole or in pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.models.thinking import ThinkingSplitter, without_thinking


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "Paris"),
        ("<think>a</think>\n\nParis", "Paris"),
        (" \n<think>a</think>Paris", "Paris"),
        ("a thought without its opening</think>巴黎", "巴黎"),
        ("<think>never ends", ""),
        ("The tag <think>x</think> stands inside.", "The tag <think>x</think> stands inside."),
        ('{"tag": "</think>"}', '{"tag": "</think>"}'),
        ("", ""),
    ],
)
def test_the_answer_is_what_comes_after_the_thought(text: str, answer: str):
    assert without_thinking(text) == answer


@given(
    thought=st.text(alphabet="ab </think>").filter(lambda text: "</think>" not in text + "</think>"[:-1]),
    answer=st.text(alphabet="cd <think>\n").filter(lambda text: text == text.lstrip()),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_for_every_cut_a_stream_is_divided_as_the_whole(thought: str, answer: str, cuts: list[int]):
    text = f"<think>{thought}</think>\n{answer}"
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    splitter = ThinkingSplitter()

    parts = [part for start, end in pairwise(places) for part in splitter.feed(text[start:end])]
    parts += splitter.end()

    assert "".join(piece for kind, piece in parts if kind == "text") == answer
    assert "".join(piece for kind, piece in parts if kind == "reasoning") == thought


@given(answer=st.text(alphabet="<think>/ab ").filter(lambda text: not text.lstrip().startswith("<think>")))
def test_without_a_thought_every_character_is_text(answer: str):
    splitter = ThinkingSplitter()

    parts = [part for char in answer for part in splitter.feed(char)]
    parts += splitter.end()

    assert "".join(piece for _, piece in parts) == answer
    assert {kind for kind, _ in parts} <= {"text"}
