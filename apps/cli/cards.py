"""`lorebase cards`: what is proposed, and the acts of accepting and rejecting it."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from apps.cli.options import DEFAULT_WORKSPACE, AsJson, BaseName, WorkspaceFolder


class CardStatusName(StrEnum):
    """How a card stands."""

    proposed = "proposed"
    accepted = "accepted"
    rejected = "rejected"
    stale = "stale"


def cards(
    name: BaseName,
    status: Annotated[
        CardStatusName | None, typer.Option(help="Only cards that stand so; accepted ones include stale ones.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="ID", help="Accept a version, or the proposal of a card. May be repeated."),
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option("--reject", metavar="ID", help="Reject a version. May be repeated.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; a rejection needs one.")] = "",
    by: Annotated[str, typer.Option(help="Who decides; by default the user of this machine.")] = "",
    confirm: Annotated[bool, typer.Option("--confirm", help="Accept in spite of faults.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """The wiki cards of a knowledge base: proposals, and what was decided about them; or decide."""
    from apps.cli.card_views import card_lines, card_list, decided, decision_lines  # noqa: PLC0415 (so that --help answers at once)
    from apps.cli.output import console, print_json  # noqa: PLC0415 (as above)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    opened = Workspace.load(workspace, os.environ)
    if accept or reject:
        made = decided(
            name, opened, accept=accept or (), reject=reject or (), reason=reason, decided_by=by, confirmed=confirm
        )
        if as_json:
            print_json(made)
            return
        lines = decision_lines(made)
    else:
        found = card_list(name, opened, status)
        if as_json:
            print_json(found)
            return
        lines = card_lines(found)
    for line in lines:
        console().print(line, markup=False)
