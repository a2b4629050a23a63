"""Moving on one file system: each folder is renamed, nothing is copied."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lorebase.registry.migration.journal import sync_folder
from lorebase.registry.migration.plan import MovePlan, Places
from lorebase.registry.migration.reasons import refusal

Observer = Callable[[str], None]
"""Told after every change that a migration makes to the disk; what it raises, the migration treats as its own error."""


def unobserved(_change: str) -> None:
    """Nobody is told."""


def gather_by_renaming(plan: MovePlan, observer: Observer) -> None:
    """Rename each folder into the staging place; what is there already stays.

    Raises:
        MigrationError: SOURCE_CHANGED, a folder is in both places or in none.
        OSError: A renaming failed; those before it are done.
    """
    _make_staging(plan)
    for old, new in plan.pairs():
        is_here, is_gathered = os.path.lexists(old), os.path.lexists(new)
        if is_here == is_gathered:
            raise refusal("SOURCE_CHANGED", f"{old.name} is {'in both places' if is_here else 'gone'}")
        if is_here:
            _rename(old, new)
            observer(f"renamed {old.name}")


def put_back(plan: MovePlan, observer: Observer) -> None:
    """Undo `gather_by_renaming`, whatever of it was done.

    Raises:
        MigrationError: RESTORE_INCOMPLETE, a folder has come back in its old place meanwhile.
        OSError: A renaming failed.
    """
    for old, new in reversed(plan.pairs()):
        if not os.path.lexists(new):
            continue
        if os.path.lexists(old):
            raise refusal("RESTORE_INCOMPLETE", f"both {old} and {new} exist")
        _rename(new, old)
        observer(f"put back {old.name}")
    if plan.places.staging.is_dir():
        plan.places.staging.rmdir()


def publish(places: Places, observer: Observer) -> None:
    """Let what was gathered appear at the target, at once. An empty shell that stands there is replaced.

    Raises:
        OSError: The renaming failed, or the shell is not empty any more.
    """
    for folder, _, _ in os.walk(places.target, topdown=False):
        if Path(folder) != places.target:
            Path(folder).rmdir()
    _rename(places.staging, places.target)
    observer("published")


def _make_staging(plan: MovePlan) -> None:
    if all(new for _, new in plan.moves):
        plan.places.staging.mkdir(exist_ok=True)


def _rename(old: Path, new: Path) -> None:
    old.rename(new)
    sync_folder(new.parent)
    sync_folder(old.parent)
