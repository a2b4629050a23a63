"""What a model says, as a text that can be checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lorebase.answering.flow_model import AnswerItem, GenerateRequest
from lorebase.answering.over_retrieval.asking import AskPorts, AskRun
from lorebase.answering.over_retrieval.drafts import Draft, check_draft, local_checks
from lorebase.answering.over_retrieval.evidence import Evidence, Found
from lorebase.answering.over_retrieval.generation import generate_with_chat
from lorebase.answering.over_retrieval.runner import ChatRunner
from lorebase.operation import OperationContext
from tests.answering.over_retrieval.ask_scene import said
from tests.answering.over_retrieval.evidence_scene import evidence
from tests.fakes.scripted_chat import ScriptedChat

ASKED = evidence("What does a berth cost?", ["A berth costs 9 crowns. It is paid at noon, etc. by the owner."])


async def nowhere(question: str) -> Found:
    raise AssertionError(question)


async def generated(found: Evidence, *answers: str) -> dict[str, Draft]:
    run = AskRun(AskPorts(search=nowhere), ChatRunner(ScriptedChat(answers), 9), 5)
    item: AnswerItem[Any] = AnswerItem(id="a", input_ids=("q",), source_status="ready", data=found)
    return dict(await generate_with_chat(GenerateRequest(items=(item,)), OperationContext(app=run)))


def codes(draft: Draft) -> list[str]:
    return [issue.code for issue in check_draft(local_checks(4000), draft, OperationContext(app=None)).issues]


@pytest.mark.parametrize("first", ["A berth costs 9 crowns", "A berth costs 9 crowns, etc."])
async def test_an_uncited_sentence_does_not_hide_behind_the_citation_of_another(first: str) -> None:
    drafts = await generated(ASKED, said((first, [1]), ("It is paid at noon.", [])))

    assert codes(drafts["a"]) == ["UNCITED_CLAIM"]


async def test_citations_belong_to_every_sentence_that_the_model_gave_as_one() -> None:
    drafts = await generated(ASKED, said(("A berth costs 9 crowns. It is paid at noon [1].", [1])))

    assert drafts["a"].answer.text == "A berth costs 9 crowns. [1] It is paid at noon. [1]"
    assert codes(drafts["a"]) == []


async def test_sentences_that_say_nothing_are_no_answer() -> None:
    assert await generated(ASKED, said(("...", [1]))) == {}


async def test_an_answer_that_contradicts_itself_is_asked_for_again() -> None:
    contradictory = json.dumps({"found": False, "sentences": [{"text": "Nine.", "citations": [1]}]})

    drafts = await generated(ASKED, contradictory, said(("A berth costs 9 crowns.", [1])))

    assert drafts["a"].answer.text == "A berth costs 9 crowns. [1]"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [("泊位收费9元。", []), ("泊位收费12元。", ["UNSUPPORTED_FIGURE"])],
)
async def test_against_a_passage_in_another_language_figures_are_compared(sentence: str, expected: list[str]) -> None:
    found = evidence("泊位收费多少？", ["A berth costs 9 crowns."])

    drafts = await generated(found, said((sentence, [1])))

    assert codes(drafts["a"]) == expected
