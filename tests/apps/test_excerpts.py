"""What is shown of a result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apps.cli.excerpts import excerpt

ROWS = "Room | Seats\n" + "\n".join(
    f"Room {number} | {number} seats, all of them quite comfortable" for number in range(30)
)


def test_a_short_text_is_shown_whole() -> None:
    assert excerpt("A berth costs nine crowns.\n\nPay at the gate.", "berth") == (
        "A berth costs nine crowns.\nPay at the gate."
    )


def test_the_row_that_was_asked_for_is_shown_under_the_header() -> None:
    shown = excerpt(ROWS.replace("Room 17", "Chart Room"), "what seats has the chart room", keep_lines=1)

    assert shown.splitlines()[0] == "Room | Seats"
    assert "Chart Room" in shown
    assert shown.endswith("…")


def test_the_chinese_sentence_that_was_asked_for_is_shown() -> None:
    text = "灯塔每晚八点亮灯，夏季推迟一小时，冬季提前一小时。" * 20 + "铜版纸必须在六小时内处理。" + "其余照旧。" * 40

    assert "铜版纸必须在六小时内处理" in excerpt(text, "铜版纸要在几小时内处理？")


@given(st.text(), st.text(), st.integers(0, 5))
def test_any_text_gives_an_excerpt_of_bounded_length(text: str, query: str, keep_lines: int) -> None:
    shown = excerpt(text, query, keep_lines=keep_lines, max_chars=100)

    assert len(shown) <= len(text) + 4
