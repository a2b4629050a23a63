"""`lorebase doctor`: whether everything that a workspace needs is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apps.cli import exit_codes
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, WorkspaceFolder

if TYPE_CHECKING:
    from lorebase.diagnosis.model import Cause, Diagnosis
    from lorebase.diagnosis.ports import PrefectAddress

_EXIT_CODES: dict[Cause, int] = {
    "": exit_codes.DONE,
    "configuration": exit_codes.USAGE,
    "unavailable": exit_codes.UNAVAILABLE,
}
_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}
_PREFECT_SECRETS = ("PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")


def doctor(
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    recipe: Annotated[
        Path | None, typer.Option(help="Recipe file, whose models are asked one short question each.")
    ] = None,
    deadline: Annotated[float, typer.Option(min=1, help="Longest time of one check, in seconds.")] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Check what the workspace needs: stores, database, models, Prefect, clocks, room. It exits with 2 or 4 if not."""
    from apps.cli.output import print_json  # noqa: PLC0415 (commands import what they need when they run)

    found = asyncio.run(_diagnosis(workspace, recipe, deadline, os.environ))
    if as_json:
        print_json(found)
    else:
        _show(found)
    raise typer.Exit(_EXIT_CODES[found.cause])


async def _diagnosis(
    folder: Path, recipe_file: Path | None, deadline_seconds: float, variables: Mapping[str, str]
) -> Diagnosis:
    from lorebase.doctor import diagnose_workspace  # noqa: PLC0415 (as above)
    from lorebase.recipes.loading import load_recipe  # noqa: PLC0415 (as above)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    return await diagnose_workspace(
        Workspace.load(folder, variables),
        recipe=await asyncio.to_thread(load_recipe, recipe_file) if recipe_file is not None else None,
        prefect=_prefect_of(variables),
        deadline_seconds=deadline_seconds,
    )


def _prefect_of(variables: Mapping[str, str]) -> PrefectAddress | None:
    from apps.cli.triggering import PrefectApi  # noqa: PLC0415 (as above)
    from lorebase.diagnosis.ports import PrefectAddress  # noqa: PLC0415 (as above)

    if not variables.get("PREFECT_API_URL"):
        return None
    api = PrefectApi.of(variables)
    secrets = tuple(variables[name] for name in _PREFECT_SECRETS if variables.get(name))
    return PrefectAddress(api.url, api.headers, metadata.version("prefect"), secrets)


def _show(found: Diagnosis) -> None:
    from rich.text import Text  # noqa: PLC0415 (as above)

    from apps.cli.output import console  # noqa: PLC0415 (as above)

    screen = console()
    for line in found.lines():
        status = line.split(maxsplit=1)[0]
        screen.print(Text.assemble((status, _STYLES.get(status, "")), line[len(status) :]))
