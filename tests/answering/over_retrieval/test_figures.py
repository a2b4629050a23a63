"""What a question asks to be counted or measured."""

from __future__ import annotations

import pytest

from lorebase.answering.over_retrieval.figures import FigureWanted


@pytest.mark.parametrize(
    ("question", "holds", "holds_not"),
    [
        ("How long is footage kept?", "It is kept for 14 days.", "It is kept in room 14."),
        ("How heavy is the gate?", "It weighs 186 kg.", "It comes on 13 May."),
        ("How far apart are the plants?", "150 cm apart", "150 seeds a packet"),
        ("How many guests are allowed?", "Nine guests may come.", "Guests may come."),
        ("When does it open?", "It opens at noon.", "It opens for guests."),
        ("座位保留多久？", "座位保留十五分钟。", "座位有十五个。"),
        ("黑白复印一页多少钱？", "每页两角。", "每页两面。"),
        ("最多可以用多少分钟？", "每次限用四十五分钟。", "总馆设四个。"),
        ("画心离地应当多高？", "离地1.55米。", "共有12幅。"),
        ("章要盖在哪几页？", "盖在第二十一页。", "盖在书名上。"),
    ],
)
def test_a_figure_of_the_kind_that_is_asked_for_is_found(question: str, holds: str, holds_not: str) -> None:
    wanted = FigureWanted.by(question)

    assert wanted.is_wanted
    assert (wanted.is_in(holds), wanted.is_in(holds_not)) == (True, False)


@pytest.mark.parametrize("question", ["Who painted the ceiling?", "What is the cause?", "谁画了穹顶？"])
def test_other_questions_ask_for_no_figure(question: str) -> None:
    wanted = FigureWanted.by(question)

    assert (wanted.is_wanted, wanted.is_in("14 days")) == (False, False)
