"""Answers on the screen and on the wire: whole or as they come, with their sources."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import orjson
from rich.text import Text

from apps.cli.output import console, place_of
from lorebase.operation import OperationContext
from lorebase.presentation.event_streams import serialize_output_events
from lorebase.presentation.reply_events import Delivery, publish_reply_events

if TYPE_CHECKING:
    from lorebase.answering.over_retrieval import AnsweredQuestion, Takeover

Write = Callable[[str], object]

_NOT_RECORDED = {
    "": "",
    "UNGOVERNED_BASE": "Nobody was told: the base has no governance, and so no queue of feedback.",
    "FORBIDDEN": "Nobody was told: the caller may give no feedback.",
    "NOTHING_CITED": "Nobody was told: there was no evidence that feedback could be about.",
}
_BLOCKED = "No answer passed the checks."
_DELIVERY = Delivery(chunk_size=24, interval_ms=15, bubble_pause_ms=150)
"""Reads as if it were written; all pauses of an answer together last three seconds at most."""


def show_answers(answers: Sequence[AnsweredQuestion]) -> None:
    """Answers with their sources, for people."""
    screen = console()
    for answered in answers:
        for line in answer_lines(answered):
            screen.print(line)


def answer_lines(answered: AnsweredQuestion) -> Iterator[Text]:
    """An answer with its sources, for people."""
    yield question_line(answered)
    for line in (answered.text or _BLOCKED).splitlines():
        yield Text(f"  {line}")
    yield from source_lines(answered)


def question_line(answered: AnsweredQuestion) -> Text:
    """The question and what became of it."""
    kind = f"{answered.status}, {answered.kind}" if answered.kind else answered.status
    return Text.assemble(("? ", "bold"), (answered.question, "bold"), (f"  ({kind})", "dim"))


def source_lines(answered: AnsweredQuestion) -> Iterator[Text]:
    """The numbered sources, and why an answer is none of a model's or of the evidence."""
    for source in answered.sources:
        yield Text.assemble((f"  [{source.number}] ", "bold cyan"), (place_of(source), "cyan"))
    for issue in answered.issues:
        yield Text(f"  {issue.code}: {issue.message}", style="dim")
    if answered.takeover is not None:
        yield Text(f"  {_takeover_line(answered.takeover)}", style="dim")


def _takeover_line(takeover: Takeover) -> str:
    if takeover.recorded:
        return f"A person has to answer this: reported to operators as feedback {', '.join(takeover.feedback_ids)}."
    return f"A person has to answer this. {_NOT_RECORDED[takeover.reason]}"


async def stream_answer(
    answered: AnsweredQuestion,
    write: Write,
    context: OperationContext[None] | None = None,
    *,
    as_json: bool = False,
    delivery: Delivery | None = None,
) -> None:
    """Write a checked answer event by event; nothing of it is written before it was checked.

    Args:
        answered: The answer.
        write: Takes the pieces.
        context: Its signal stops the stream before the next event.
        as_json: Whether the events are written, one JSON object a line, and then the answer as event `answered`;
            otherwise their text.
        delivery: How the text is cut and paced.

    Raises:
        OperationCancelledError: The signal was given.
    """
    used = context or OperationContext(app=None)
    events = publish_reply_events(answered.text, used, delivery=delivery or _DELIVERY)
    if not as_json:
        async for text in serialize_output_events(events):
            write(text)
        return
    try:
        async for event in events:
            write(event.model_dump_json() + "\n")
    finally:
        await events.aclose()
    write(orjson.dumps({"type": "answered", "answer": answered.model_dump(mode="json")}).decode() + "\n")


async def stream_answers(answers: Sequence[AnsweredQuestion], *, as_json: bool) -> None:
    """Stream answers to stdout, one after the other; for people with question and sources around each."""
    screen = console()
    for answered in answers:
        if as_json:
            await stream_answer(answered, _write, as_json=True)
            continue
        screen.print(question_line(answered))
        if answered.text:
            await stream_answer(answered, _write)
            _write("\n")
        else:
            _write(f"{_BLOCKED}\n")
        for line in source_lines(answered):
            screen.print(line)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
