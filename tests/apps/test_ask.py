"""Asking from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from apps.cli.answer_output import answer_lines, stream_answer
from lorebase.answering.over_retrieval import AnsweredQuestion, Takeover
from lorebase.errors import OperationCancelledError
from lorebase.operation import Cancellation, OperationContext
from lorebase.presentation.reply_events import AgentOutputEvent, Delivery, TextDelta
from tests.answering.over_retrieval.ask_scene import BERTH, BERTH_ZH, NOTHING, base_in

RECIPE = "name: demo\nsources: [{folder: documents}]\npartitions: 4\nprocedures: [{use: full_text_index}]\n"


def lorebase(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apps.cli.main", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base that was built."""
    folder = tmp_path_factory.mktemp("asking")
    (folder / "documents").mkdir()
    (folder / "documents" / "harbour.md").write_text("# Harbour\n\n## Fees\n\nA berth costs nine crowns a night.\n")
    (folder / "documents" / "港口.md").write_text("# 港口\n\n泊位每晚收费九元。\n", encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE)
    done = lorebase("build", "recipe.yaml", "--executor", "inline", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


async def answered(folder: Path, question: str) -> AnsweredQuestion:
    async with await base_in(folder) as base:
        return await base.ask(question)


def test_an_answer_is_shown_with_its_numbered_sources(built: Path) -> None:
    done = lorebase("ask", "demo", BERTH, folder=built)

    assert done.returncode == 0, done.stderr
    assert "A berth costs nine crowns a night. [1]" in done.stdout
    assert "[1] harbour.md, Harbour > Fees" in done.stdout


def test_questions_of_a_file_come_back_as_json_in_their_order(built: Path) -> None:
    (built / "questions.json").write_text(json.dumps([{"question": NOTHING}, BERTH_ZH]), encoding="utf-8")

    done = lorebase("ask", "demo", "--questions", "questions.json", "--json", folder=built)

    answers = [AnsweredQuestion.model_validate(answer) for answer in json.loads(done.stdout)]
    assert done.returncode == 0, done.stderr
    assert [(answer.status, answer.kind) for answer in answers] == [("fallback", "no_evidence"), ("accepted", "quoted")]
    assert answers[1].text == "泊位每晚收费九元。[1]"


def test_a_stream_of_json_is_events_and_then_the_answer(built: Path) -> None:
    done = lorebase("ask", "demo", BERTH, "--stream", "--json", folder=built)

    *events, last = [json.loads(line) for line in done.stdout.splitlines()]
    read = [TypeAdapter(AgentOutputEvent).validate_python(event) for event in events]
    assert done.returncode == 0, done.stderr
    assert "".join(event.text for event in read if isinstance(event, TextDelta)) == last["answer"]["text"]
    assert (read[-1].type, last["type"]) == ("completed", "answered")


def test_what_cannot_be_asked_exits_with_its_code(built: Path) -> None:
    refused = lorebase("ask", "demo", BERTH, "--review", "required", "--json", folder=built)

    assert refused.returncode == 2
    assert json.loads(refused.stdout)["error"]["code"] == "USAGE_ERROR"


async def test_text_is_streamed_as_it_stands(tmp_path: Path) -> None:
    answer = await answered(tmp_path, "How many watts has the pier lamp?")
    written: list[str] = []

    await stream_answer(answer, written.append, delivery=Delivery(chunk_size=5))

    assert len(written) > 2
    assert "".join(written) == answer.text


async def test_a_stream_that_is_cancelled_ends_in_the_middle(tmp_path: Path) -> None:
    answer = await answered(tmp_path, BERTH)
    signal = Cancellation()
    written: list[str] = []

    def write(text: str) -> None:
        written.append(text)
        signal.cancel("enough")

    with pytest.raises(OperationCancelledError):
        await stream_answer(answer, write, OperationContext(app=None, signal=signal), delivery=Delivery(chunk_size=5))

    assert written == [answer.text[:5]]


async def test_markup_in_names_and_texts_is_shown_as_it_is(tmp_path: Path) -> None:
    """C157."""
    answer = await answered(tmp_path, BERTH)
    marked = answer.model_copy(update={"question": "[bold]Is it?[/bold]"})

    first = next(answer_lines(marked))

    assert first.plain.startswith("? [bold]Is it?[/bold]")


@pytest.mark.parametrize(
    ("takeover", "line"),
    [
        (Takeover(recorded=True, feedback_ids=("17", "18")), "reported to operators as feedback 17, 18"),
        (Takeover(recorded=False, reason="UNGOVERNED_BASE"), "the base has no governance"),
        (Takeover(recorded=False, reason="FORBIDDEN"), "the caller may give no feedback"),
        (Takeover(recorded=False, reason="NOTHING_CITED"), "there was no evidence"),
    ],
)
async def test_where_a_person_has_to_answer_the_screen_says_whether_operators_know(
    tmp_path: Path, takeover: Takeover, line: str
) -> None:
    """X-05."""
    answer = await answered(tmp_path, BERTH)

    *_, last = answer_lines(answer.model_copy(update={"takeover": takeover}))

    assert "A person has to answer this" in last.plain
    assert line in last.plain
