"""Migrations in a process of their own that is killed right after its n-th change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from lorebase.registry.migration.objects import migrate_tree_objects


class DyingMigrations:
    """A process that has imported everything and forks one off for each migration, so that a kill costs no start."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.registry.migration.dying"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def exit_code(self, what: str, source: Path, agent_root: Path, *, changes: int, renames: bool = True) -> int:
        """-9 where the migration was killed after that many changes; 0 where it made fewer and came to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, str(source), str(agent_root), changes, renames]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


class _Killer:
    def __init__(self, changes: int) -> None:
        self._left = changes

    def __call__(self, change: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    for line in sys.stdin:
        what, source, agent_root, changes, renames = json.loads(line)
        child = os.fork()
        if child == 0:
            status = _migrate(what, source, Path(agent_root), _Killer(changes), renames)
            os._exit(0 if status == "moved" else 1)
        _, code = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(code), flush=True)


def _migrate(what: str, source: str, agent_root: Path, killer: _Killer, renames: bool) -> str:
    if what == "objects":
        return migrate_tree_objects(LocalObjectStore(agent_root), source, "demo", observer=killer).status
    migrate = migrate_tree if what == "tree" else migrate_memory
    return migrate(Path(source), agent_root, "demo", same_device=lambda *_: renames, observer=killer).status


if __name__ == "__main__":
    main()
