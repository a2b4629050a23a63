"""Which queries of a model are taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lorebase.retrieval.modes.queries import MAX_WRITTEN_CHARS, new_queries, one_line, query_key


def test_repetitions_the_question_and_what_is_no_query_are_left_out() -> None:
    written = [
        "When does it open?",
        "ＷＨＥＮ does it open",
        "opening  hours",
        "Opening hours!",
        " ",
        "x" * 400,
        "灯塔",
    ]

    assert new_queries("when does it open", written, 8) == ["opening hours", "灯塔"]


def test_no_more_than_the_most_are_taken_in_their_order() -> None:
    assert new_queries("q", ["a", "b", "c"], 2) == ["a", "b"]


def test_chinese_queries_that_differ_in_punctuation_are_one() -> None:
    assert query_key("灯塔几点亮灯？") == query_key("灯塔几点亮灯")
    assert new_queries("灯塔几点亮灯？", ["灯塔几点亮灯", "灯塔的亮灯时间"], 4) == ["灯塔的亮灯时间"]


@given(st.lists(st.text(max_size=40), max_size=12), st.integers(1, 8))
def test_for_every_answer_the_queries_are_few_short_single_lines_and_all_different(
    written: list[str], most: int
) -> None:
    taken = new_queries("question", written, most)

    assert len(taken) <= most
    assert len({query_key(text) for text in taken}) == len(taken)
    assert all(text == one_line(text) and 0 < len(text) <= MAX_WRITTEN_CHARS for text in taken)
