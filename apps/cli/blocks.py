"""`lorebase blocks`: makes a Prefect server ready for Lorebase."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from apps.cli.options import AsJson

_ANSWER_SECONDS = 10.0

blocks_app = typer.Typer(help="Prefect blocks, work pool and automation of Lorebase.", no_args_is_help=True)


@blocks_app.command("register")
def register(
    workspace: Annotated[
        str,
        typer.Option(
            "--workspace", "-w", envvar="LOREBASE_WORKSPACE", help="Folder of the workspace, or block:NAME of a block."
        ),
    ] = ".lorebase",
    save_as: Annotated[
        str,
        typer.Option(
            "--save-as",
            metavar="NAME",
            help="Also keep its configuration as a block, secrets hidden.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Register block types, result storage, work pool and automation with the server of PREFECT_API_URL.

    Run again, it changes nothing. Blocks can be seen and edited in the Prefect UI.
    """
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import what they need when they run)

    made = registered(workspace, save_as, os.environ)
    if as_json:
        print_json(made)
        return
    for name, value in made.items():
        console().print(f"{name.replace('_', ' ')}: {value}", markup=False)


def registered(workspace: str, save_as: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Run the set-up flow against the server that the variables name, and say what is there now.

    Args:
        workspace: Folder, or block:NAME.
        save_as: Name of the block that keeps the workspace's configuration; empty saves none.
        variables: The environment.

    Raises:
        ConfigurationError: PREFECT_API_URL is not set, or the workspace file has faults.
        NotFoundError: There is no such block.
        UnavailableError: The server does not answer.
    """
    _require_answer(variables)
    # Imported late: Prefect takes seconds to import.
    from flows.local_server import with_prefect  # noqa: PLC0415 (as above)
    from flows.setup import save_workspace, set_up_lorebase  # noqa: PLC0415 (as above)

    async def run() -> dict[str, Any]:
        made = dict(await set_up_lorebase(workspace))
        if save_as:
            made["workspace"] = await save_workspace(workspace, save_as)
        return made

    return asyncio.run(with_prefect(variables["PREFECT_API_URL"], run, log_level="CRITICAL"))


def _require_answer(variables: Mapping[str, str]) -> None:
    """Make sure of the server first: Prefect's client would only say that it failed."""
    import httpx  # noqa: PLC0415 (as above)

    from apps.cli.triggering import PrefectApi  # noqa: PLC0415 (as above)
    from lorebase.errors import UnavailableError  # noqa: PLC0415 (as above)

    api = PrefectApi.of(variables)
    try:
        httpx.get(f"{api.url}/health", headers=dict(api.headers), timeout=_ANSWER_SECONDS).raise_for_status()
    except httpx.HTTPError as error:
        raise UnavailableError(
            f"Prefect's API at {api.url} does not answer: {type(error).__name__}.",
            remedy="Check PREFECT_API_URL, which ends in /api, and that the server runs.",
        ) from error
