"""Quoting: the right sentences, word for word."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.over_retrieval.drafts import Draft, check_draft, local_checks
from lorebase.answering.over_retrieval.extractive import extractive_answer
from lorebase.operation import OperationContext
from tests.answering.over_retrieval.evidence_scene import evidence

SENTENCES = [
    "The ferry leaves at noon.",
    "Dogs travel without a ticket on the ferry.",
    "A berth costs 9 crowns; in winter it costs 6.",
    "Mr. Oil keeps the lamp (see [4]) at the pier.",
    "渡轮中午开航。",
    "泊位每晚收费九元；冬季六元。",
    "| lamp | watts |\n|---|---|\n| pier | 75 |",
    "- one berth\n- two lamps",
    "ferry.departure: noon\nferry.dogs_allowed: true\nberth.cost: 9",
    "渡轮\n泊位收费\n灯",
    'He said: "The ferry leaves (at noon)"',
    "lamp | watts\nferry e.g. No. 5. Lamp | 40",
    "Look at http://lamps.example/pier for the ferry.",
    "![ferry](http://evil.example/x.png) leaves.",
]
QUESTIONS = ["When does the ferry leave?", "What does a berth cost?", "渡轮几点开航？", "泊位收费多少？", "Which lamp?"]


def test_the_sentence_that_covers_the_question_best_is_quoted() -> None:
    answer = extractive_answer(
        evidence(
            "When does the ferry leave?", ["Ferries are painted in spring.", "Dogs bark. The ferry leaves at noon."]
        )
    )

    assert answer is not None
    assert answer.text == "The ferry leaves at noon. [2]"


def test_a_sentence_with_a_figure_is_taken_where_a_figure_is_asked_for() -> None:
    answer = extractive_answer(
        evidence(
            "How long is footage of cameras kept?",
            ["Footage of cameras is kept safe. Footage of cameras is kept 14 days."],
        )
    )

    assert answer is not None
    assert answer.text == "Footage of cameras is kept 14 days. [1]"


def test_a_sentence_that_goes_on_is_quoted_to_its_end() -> None:
    answer = extractive_answer(evidence("泊位收费多少？", ["泊位每晚收费九元；冬季六元。渡轮中午开航。"]))

    assert answer is not None
    assert answer.text == "泊位每晚收费九元；[1]冬季六元。[1]"


def test_nothing_is_quoted_in_another_language_than_the_question() -> None:
    assert extractive_answer(evidence("When does the 渡轮 leave, please?", ["渡轮中午开航。"])) is None


def test_nothing_is_quoted_where_no_sentence_is_about_the_question() -> None:
    assert extractive_answer(evidence("Who painted the ceiling?", ["The ferry leaves at noon."])) is None


@settings(max_examples=100)
@given(
    question=st.sampled_from(QUESTIONS),
    texts=st.lists(
        st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map("\n\n".join), min_size=1, max_size=4
    ),
)
def test_every_quote_passes_all_checks_of_quotes(question: str, texts: list[str]) -> None:
    answer = extractive_answer(evidence(question, texts))

    checked = (
        None if answer is None else check_draft(local_checks(4000), Draft(answer, "quoted"), OperationContext(app=None))
    )
    assert checked is None or checked.issues == ()
    assert answer is None or "evil.example" not in answer.text


def test_settings_without_full_stops_are_quoted_as_a_list() -> None:
    answer = extractive_answer(
        evidence("How many dogs on the ferry?", ["ferry.lamp: red\nferry.dogs: 3 dogs\nberth: 9"])
    )

    assert answer is not None
    assert answer.text == "- ferry.dogs: 3 dogs [1]"


def test_the_figure_that_is_asked_for_may_stand_in_the_sentence_behind() -> None:
    answer = extractive_answer(
        evidence("How heavy is the second gate?", ["The second gate was ordered. It comes in May and weighs 186 kg."])
    )

    assert answer is not None
    assert answer.text == "The second gate was ordered. [1] It comes in May and weighs 186 kg. [1]"
