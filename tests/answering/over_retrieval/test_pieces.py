"""What of a passage can be quoted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lorebase.answering.over_retrieval.pieces import pieces_of


def test_sentences_come_without_the_citations_of_their_own_document() -> None:
    pieces = pieces_of("The tide turns at ten [3]. It is high in May.")

    assert [piece.text for piece in pieces] == ["The tide turns at ten.", "It is high in May."]


def test_rows_know_the_first_row_of_their_table() -> None:
    pieces = pieces_of("Prices:\n\n| Berth | Crowns |\n|---|---|\n| pier | 6 |\n| quay | 9 |\n\nPaid at noon.")

    assert [(piece.text, piece.above, piece.is_row) for piece in pieces] == [
        ("Prices:", "", False),
        ("pier | 6", "Berth | Crowns", True),
        ("quay | 9", "Berth | Crowns", True),
        ("Paid at noon.", "", False),
    ]


def test_a_title_line_stands_above_its_sentences_and_is_none_itself() -> None:
    pieces = pieces_of(
        "五、水浸应急\n文献被水浸湿以后，最初的48小时最为关键。\n1. Who may help\nAnyone aged 14 or over may help."
    )

    assert [(piece.text, piece.above) for piece in pieces] == [
        ("文献被水浸湿以后，最初的48小时最为关键。", "五、水浸应急"),
        ("Anyone aged 14 or over may help.", "1. Who may help"),
    ]


def test_a_sentence_that_ends_in_a_semicolon_goes_on() -> None:
    pieces = pieces_of("座位保留十五分钟；逾时自动释放。")

    assert [(piece.text, piece.goes_on) for piece in pieces] == [
        ("座位保留十五分钟；", True),
        ("逾时自动释放。", False),
    ]


@given(st.text(alphabet="ab你。.；;|- \n[1]:#", max_size=80))
def test_any_text_has_pieces_that_are_single_lines(text: str) -> None:
    assert all(piece.text == " ".join(piece.text.split()) for piece in pieces_of(text))
