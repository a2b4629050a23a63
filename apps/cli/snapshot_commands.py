"""Commands about what was built. They import what they need when they run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from apps.cli import exit_codes
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, BaseName, WorkspaceFolder, opened


def status(name: BaseName, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """What is live, what the latest run did, and who builds now."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.status import base_status  # noqa: PLC0415 (as above)

    found = base_status(name, opened(workspace))
    if as_json:
        print_json(found)
        return
    for line in found.lines():
        console().print(line, markup=False)


def runs(name: BaseName, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """The runs of a knowledge base, oldest first."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.status import run_lines  # noqa: PLC0415 (as above)

    found = run_lines(name, opened(workspace))
    if as_json:
        print_json(found)
        return
    for run in found:
        console().print(run.line(), markup=False)


def report(
    name: BaseName,
    run: Annotated[str, typer.Argument(help="Run id; the latest where none is given.")] = "",
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as a self-contained page.")] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """The report of a run: steps, counts, issues, capabilities."""
    from apps.cli.output import console, print_json, show_report  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.status import report_of, write_report  # noqa: PLC0415 (as above)

    found = report_of(name, run, opened(workspace))
    if html is not None:
        write_report(found, html)
    if as_json:
        print_json(found)
        return
    if html is not None:
        console().print(f"{html}: the report of run {found.run_id}.", markup=False)
        return
    show_report(found, console())


def history(name: BaseName, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """The snapshots of a knowledge base, newest first: what each changed, which is live, and how it came to be."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.snapshots import history_lines, history_of  # noqa: PLC0415 (as above)

    found = history_of(name, opened(workspace))
    if as_json:
        print_json(found)
        return
    for line in history_lines(found):
        console().print(line, markup=False)


def rollback(
    name: BaseName,
    to: Annotated[str, typer.Option("--to", metavar="RUN", help="Snapshot, or the run that made it.")],
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Make an earlier snapshot live again, from stored artifacts alone."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.snapshots import rollback_lines, rolled_back  # noqa: PLC0415 (as above)

    result = asyncio.run(rolled_back(name, to, opened(workspace)))
    if as_json:
        print_json(result)
        return
    for line in rollback_lines(result):
        console().print(line, markup=False)


def gc(
    name: BaseName,
    keep: Annotated[int, typer.Option(min=0, help="Last snapshots to keep, besides the live one.")] = 5,
    apply: Annotated[bool, typer.Option("--apply", help="Remove; without it only say what would be removed.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Remove what neither the kept snapshots nor the latest run need."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.snapshots import cleaned_up, cleaning_lines  # noqa: PLC0415 (as above)

    found = asyncio.run(cleaned_up(name, opened(workspace), keep=keep, apply=apply))
    if as_json:
        print_json(found)
        return
    for line in cleaning_lines(found):
        console().print(line, markup=False)


def forget(
    name: BaseName,
    document: Annotated[str, typer.Argument(help="Id of the document, or its name in its source.", show_default=False)],
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    recipe: Annotated[
        Path | None, typer.Option(help="Recipe file: where to look whether the source still has the document.")
    ] = None,
) -> None:
    """Remove one document from every store and every kept snapshot, and print the counts that prove it."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.snapshots import forgotten, forgotten_lines  # noqa: PLC0415 (as above)

    answer = asyncio.run(forgotten(name, document, opened(workspace), recipe))
    if as_json:
        print_json(answer)
    for line in forgotten_lines(answer):
        console(stderr=as_json).print(line, markup=False)
    if not answer.is_clean:
        raise typer.Exit(exit_codes.FAILED)
