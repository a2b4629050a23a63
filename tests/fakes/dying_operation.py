"""An operation on a base in a process of its own that is killed right before its n-th change of the object store."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.store import BaseLayout
from lorebase.recipes.step_types import step_types
from lorebase.runs.cleaning import clean_up
from lorebase.runs.forgetting import forget_document
from lorebase.runs.rollback import roll_back
from tests.fakes.workspace import FakeWorkspace


class DyingStore(LocalObjectStore):
    """A local store whose process is killed before one of its changes; a deletion of many is many changes.

    The lease that the process leaves looks as if it had been killed two hours ago, so that it has run out.
    """

    def __init__(self, root: Path, last: int) -> None:
        super().__init__(root)
        self._left = last

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        self._count(key)
        super().put(key, content, durable=durable)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._count(key)
            super().delete([key])

    def _count(self, key: str) -> None:
        if key.endswith("lease.json"):
            return
        self._left -= 1
        if self._left < 0:
            let_leases_run_out(self._root)
            os.kill(os.getpid(), signal.SIGKILL)


def let_leases_run_out(folder: Path) -> None:
    """Make the leases in a folder look as if they had last been renewed two hours ago."""
    hours_ago = time.time() - 7200
    for lease in folder.rglob("lease.json"):
        os.utime(lease, (hours_ago, hours_ago))


class DyingOperations:
    """A process that has imported everything and forks one off for each operation, so that a kill costs no start."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.fakes.dying_operation"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def exit_code(self, folder: Path, operation: str, argument: str, *, changes: int) -> int:
        """Start an operation and let it make that many changes; -9 where it was killed, 0 where it had no more to make.

        Args:
            folder: The workspace.
            operation: "gc", "rollback" or "forget".
            argument: How many snapshots are kept; the target; the document.
            changes: How many writes and deletions it may do.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), operation, argument, changes]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def main() -> None:
    # What an operation would import is imported before the first fork: pyarrow loads its data sets with the first read.
    step_types()
    importlib.import_module("pyarrow.dataset")
    for line in sys.stdin:
        folder, *order = json.loads(line)
        child = os.fork()
        if child == 0:
            asyncio.run(_operate(Path(folder), *order))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


async def _operate(folder: Path, operation: str, argument: str, changes: int) -> None:
    workspace = FakeWorkspace(folder)
    workspace.object_store = DyingStore(folder / "objects", changes)  # type: ignore[misc]  # a cached property
    layout = BaseLayout("demo")
    if operation == "gc":
        await clean_up(workspace, layout, keep=int(argument), apply=True)
    elif operation == "rollback":
        await roll_back(workspace, layout, argument)
    else:
        await forget_document(workspace, layout, argument)


if __name__ == "__main__":
    main()
