"""Taking governed knowledge over in a process of its own, which can be killed."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

from pydantic import SecretStr

from lorebase.governance_import import import_governance
from lorebase.workspace import Workspace
from lorebase.workspace_config import DatabaseConfig, WorkspaceConfig


def workspace_with(folder: Path, url: str) -> Workspace:
    """A workspace that has a database."""
    return Workspace(folder, WorkspaceConfig(database=DatabaseConfig(url=SecretStr(url))))


def import_and_die(folder: Path, url: str, seconds: float) -> None:
    """Begin the import, and kill its process after so many seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ours, theirs = context.Pipe()
    process = context.Process(target=_import, args=(folder, url, theirs))
    process.start()
    theirs.close()
    ours.recv()
    process.join(seconds)
    process.kill()
    process.join()
    process.close()
    ours.close()


def _import(folder: Path, url: str, begins: Connection) -> None:
    workspace = workspace_with(folder, url)
    begins.send(True)
    import_governance(workspace)
