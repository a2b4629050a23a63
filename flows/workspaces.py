"""From the name that a flow is given to the opened workspace."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from blocks import LorebaseWorkspace
from lorebase.errors import NotFoundError
from lorebase.workspace import Workspace

BLOCK_PREFIX = "block:"


@asynccontextmanager
async def opened_workspace(where: str) -> AsyncIterator[Workspace]:
    """The workspace for as long as the context is open; its connections are given back at the end.

    Raises:
        NotFoundError: As `open_workspace`.
        ConfigurationError: As `open_workspace`.
    """
    workspace = await open_workspace(where)
    try:
        yield workspace
    finally:
        await workspace.close()


async def open_workspace(where: str) -> Workspace:
    """The workspace in a folder, or the one that a saved block describes (`block:NAME`).

    A workspace file's `${NAME}` is filled from the environment: a flow run is a process of its own, started by a
    worker, and its job's environment is how that process gets its secrets.

    Raises:
        NotFoundError: There is no such block.
        ConfigurationError: The workspace file has faults or names a variable that is not set.
    """
    if not where.startswith(BLOCK_PREFIX):
        return Workspace.load(Path(where), os.environ)
    name = where.removeprefix(BLOCK_PREFIX)
    try:
        block = cast("LorebaseWorkspace", await LorebaseWorkspace.aload(name))
    except ValueError as error:
        raise NotFoundError(
            f"There is no LorebaseWorkspace block named {name!r}.",
            remedy="Save one in the Prefect UI, or name the folder of a workspace.",
        ) from error
    return block.get_workspace()
