"""`lorebase migrate`: trees and memories of older layouts move to where they belong, or would move."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apps.cli import exit_codes
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, WorkspaceFolder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lorebase.registry.migration.outcome import MigrationOutcome
    from lorebase.registry.migration.registered import RegisteredMigration

_NAMES_SHOWN = 10
_UNIT_STEP = 1024
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def migrate(
    root: Annotated[
        Path | None,
        typer.Option("--root", help="Old root: the folder that holds 01_source_raw. Without it, all of the registry."),
    ] = None,
    agent_root: Annotated[
        Path | None,
        typer.Option("--agent-root", help="New root; without it the old root itself, or the registry's workspace."),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", help="Id of the base; `default` for --root, all bases for the registry.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Move; without it only say what would be moved.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Move knowledge trees and memories of older layouts below the agent's root. Says what it would do; see --apply."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (as in `main`: --help answers at once)

    if root is None:
        done = _registered(agent_root, base, workspace, apply=apply)
    else:
        done = _one_root(root, agent_root or root, base or "default", apply=apply)
    if as_json:
        print_json(
            {"applied": apply, "outcomes": done.outcomes, "repointed": done.repointed, "warnings": done.warnings}
        )
    show_outcomes(done, console(stderr=as_json), apply=apply)
    if any(outcome.status == "failed" for outcome in done.outcomes):
        raise typer.Exit(exit_codes.FAILED)


def show_outcomes(done: RegisteredMigration, screen: Console, *, apply: bool) -> None:
    """What was moved where, or would be, and why not."""
    from rich.text import Text  # noqa: PLC0415 (as above)

    for warning in done.warnings:
        screen.print(Text(warning))
    for outcome in done.outcomes:
        _show_outcome(outcome, screen)
    if any(outcome.folders for outcome in done.outcomes):
        screen.print(_table(done.outcomes))
    if not done.outcomes:
        screen.print("There is no knowledge base to migrate.")
    if done.repointed:
        verb = "names" if apply else "would name"
        screen.print(Text(f"The registry {verb} the new place of {', '.join(done.repointed)}."))
    if not apply and any(outcome.status == "moved" for outcome in done.outcomes):
        screen.print("Nothing was moved: add --apply.")


def _show_outcome(outcome: MigrationOutcome, screen: Console) -> None:
    from rich.text import Text  # noqa: PLC0415 (as above)

    text = f"{outcome.base_id}, {outcome.what}: {_said(outcome)}: {outcome.message} {outcome.remedy}"
    screen.print(Text(text.rstrip()))
    for name in outcome.remaining[:_NAMES_SHOWN]:
        screen.print(Text(f"  left: {name}"))
    if len(outcome.remaining) > _NAMES_SHOWN:
        screen.print(f"  and {len(outcome.remaining) - _NAMES_SHOWN} more: --json lists them.")


def _table(outcomes: Sequence[MigrationOutcome]) -> Table:
    from rich.table import Table  # noqa: PLC0415 (as above)
    from rich.text import Text  # noqa: PLC0415 (as above)

    table = Table()
    for name in ("base", "what", "outcome", "from", "to"):
        table.add_column(name, overflow="fold")
    for name in ("files", "size"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        place = "memory" if outcome.what == "memory" else "domain_knowledge"
        for folder in outcome.folders:
            new = "/".join(part for part in (place, outcome.base_id, folder.new_name) if part)
            cells = (outcome.base_id, outcome.what, _said(outcome), folder.name, new, str(folder.files))
            table.add_row(*map(Text, cells), Text(_shown_size(folder.size_bytes)))
    return table


def _said(outcome: MigrationOutcome) -> str:
    said = outcome.status if outcome.status != "moved" or outcome.applied else "would be moved"
    return said if outcome.reason == "moved" else f"{said} ({outcome.reason})"


def _one_root(root: Path, agent_root: Path, base_id: str, *, apply: bool) -> RegisteredMigration:
    from lorebase.registry.migration.local import migrate_memory, migrate_tree  # noqa: PLC0415 (as above)
    from lorebase.registry.migration.registered import RegisteredMigration  # noqa: PLC0415 (as above)

    outcomes = [move(root, agent_root, base_id, apply=apply) for move in (migrate_tree, migrate_memory)]
    return RegisteredMigration(tuple(outcomes), (), ())


def _registered(agent_root: Path | None, base_id: str | None, folder: Path, *, apply: bool) -> RegisteredMigration:
    from lorebase.errors import NotFoundError  # noqa: PLC0415 (as above)
    from lorebase.registry.migration.registered import migrate_registered  # noqa: PLC0415 (as above)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    workspace = Workspace.load(folder, os.environ)
    home = workspace.folder.absolute()
    done = migrate_registered(
        workspace.registry_store,
        agent_root or home,
        clock=workspace.clock,
        default_root=home,
        base_id=base_id,
        apply=apply,
    )
    if base_id is not None and not done.outcomes:
        raise NotFoundError(
            f"The registry of {folder} has no knowledge base {base_id!r}.",
            remedy="`lorebase kb list` names those that there are; --root migrates a folder that is in no registry.",
        )
    return done


def _shown_size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in _UNITS[:-1]:
        if size < _UNIT_STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _UNIT_STEP
    return f"{size:.1f} {_UNITS[-1]}"
