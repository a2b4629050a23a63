"""Migrations that fail, or are broken off, at one kind of change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.registry.migration.trees import OLD_TREE, moved

NEW_TREE = moved(OLD_TREE)
MODES = pytest.mark.parametrize("renames", [True, False])


class FailingAt:
    """An observer that lets the migration fail after one kind of change, as a disk would."""

    def __init__(self, change: str, number: int) -> None:
        self._change = change
        self._number = number

    def __call__(self, change: str) -> None:
        if change.startswith(self._change):
            raise OSError(self._number, os.strerror(self._number), "somewhere")


def rename_or_copy(renames: bool) -> Callable[[Path, Path], bool]:
    return lambda _old, _new: renames


def interrupted_at(wanted: str) -> Callable[[str], None]:
    def observer(change: str) -> None:
        if change == wanted:
            raise KeyboardInterrupt

    return observer
