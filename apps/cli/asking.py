"""`lorebase ask`: answers questions from a knowledge base, with numbered citations."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from apps.cli.governed import DEFAULT_ORGAN, Organ, User, operator
from apps.cli.options import DEFAULT_WORKSPACE, BaseName, WorkspaceFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lorebase.answering.over_retrieval import AnsweredQuestion, AskOptions
    from lorebase.governance.context import PrincipalContext
    from lorebase.workspace import Workspace


def ask(  # noqa: PLR0917 (Typer: one parameter an option)
    name: BaseName,
    question: Annotated[str, typer.Argument(help="What is asked.", show_default=False)] = "",
    questions: Annotated[
        Path | None, typer.Option(help="JSON file with a list of {question: ...}; each is answered.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="Query mode; by default the best that asks no model.")] = None,
    generator: Annotated[
        Literal["auto", "chat", "extractive"],
        typer.Option(help="Who writes: the recipe's chat model, or nobody: the evidence is quoted."),
    ] = "auto",
    review: Annotated[
        Literal["required", "optional", "off"] | None,
        typer.Option(help="Review by the chat model; optional where there is one."),
    ] = None,
    max_calls: Annotated[int, typer.Option(min=0, help="Most calls to the chat model, for all questions.")] = 200,
    stream: Annotated[bool, typer.Option("--stream", help="Print the checked answer piece by piece.")] = False,
    no_routing: Annotated[
        bool,
        typer.Option("--no-routing", help="Look for an answer also where the text seems to ask for another thing."),
    ] = False,
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON alone on stdout; with --stream one event a line.")
    ] = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Answer a question with numbered citations, or say that there is no evidence.

    A governed base answers from what is live of the organisation.
    """
    from apps.cli.answer_output import show_answers, stream_answers  # noqa: PLC0415 (so that --help answers at once)
    from apps.cli.output import print_json  # noqa: PLC0415 (as above)
    from apps.cli.searching import questions_of  # noqa: PLC0415 (as above)
    from lorebase.answering.over_retrieval import AskOptions  # noqa: PLC0415 (as above)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    options = AskOptions(mode=mode, generator=generator, review=review, max_calls=max_calls, routes=not no_routing)
    asked = questions_of(question, questions)
    caller = operator(organ, user)
    answers = asyncio.run(_answered(name, asked, options, caller, Workspace.load(workspace, os.environ)))
    if stream:
        asyncio.run(stream_answers(answers, as_json=as_json))
    elif as_json:
        print_json(answers[0] if questions is None else answers)
    else:
        show_answers(answers)


async def _answered(
    name: str, questions: Sequence[str], options: AskOptions, caller: PrincipalContext, workspace: Workspace
) -> tuple[AnsweredQuestion, ...]:
    from lorebase.asked_bases import answers_from  # noqa: PLC0415 (so that --help answers at once)

    return await answers_from(workspace, caller, name, questions, options)
