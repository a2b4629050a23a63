"""Moving across file systems: copy, verify count and digests, publish, and only then delete what was verified."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from lorebase.errors import MigrationError
from lorebase.registry.migration.journal import sync_folder
from lorebase.registry.migration.moving import Observer
from lorebase.registry.migration.plan import MovePlan
from lorebase.registry.migration.reasons import listed, refusal, shown_name
from lorebase.registry.migration.survey import Entry, Survey, differences, digest_of, survey

_BLOCK_BYTES = 1 << 20
_OWNER_MAY_ALL = stat.S_IRWXU


def gather_by_copying(plan: MovePlan, observer: Observer) -> None:
    """Copy each folder into the staging place and verify it there.

    What an interrupted run copied is kept where it is equal; what the source has no more is removed from the staging.

    Raises:
        MigrationError: UNREADABLE; VERIFICATION_FAILED; SOURCE_CHANGED while it was copied.
        OSError: The disk is full, or fails.
    """
    if all(new for _, new in plan.moves):
        plan.places.staging.mkdir(exist_ok=True)
    for old, new in plan.pairs():
        if not os.path.lexists(old):
            raise refusal("SOURCE_CHANGED", f"{old.name} is gone")
        _copy_folder(old, new, observer)
    if plan.places.staging.is_dir():
        sync_folder(plan.places.staging)


def throw_copies_away(plan: MovePlan, observer: Observer) -> None:
    """Undo `gather_by_copying`: the source is whole, so its copies are removed.

    Raises:
        MigrationError: RESTORE_INCOMPLETE, a folder of the source is gone: its copy is not removed then.
        OSError: A removal failed.
    """
    gone = [str(old) for old, new in plan.pairs() if os.path.lexists(new) and not os.path.lexists(old)]
    if gone:
        raise refusal("RESTORE_INCOMPLETE", f"{listed(gone)} gone, their copies are kept in {plan.places.staging}")
    staging = plan.places.staging
    if os.path.lexists(staging):
        _remove_copy(staging, survey(staging))
    observer("copies removed")


def delete_originals(plan: MovePlan, observer: Observer) -> list[str]:
    """Delete from the source what the target holds with the same bytes, and folders that are empty then.

    Both sides are read again: nothing is taken from memory.

    Returns:
        What could not be deleted, or is not the same any more; paths relative to the source, in order.

    Raises:
        OSError: The target cannot be read.
    """
    remaining: list[str] = []
    for old, new in plan.published():
        if os.path.lexists(old):
            remaining += [f"{old.name}/{path}".rstrip("/") for path in _delete_same(old, new, observer)]
    return remaining


def _copy_folder(old: Path, new: Path, observer: Observer) -> None:
    before = survey(old, digests=True)
    _make_writable(new)
    there = survey(new, digests=True) if os.path.lexists(new) else {}
    _remove_copy(new, {path: entry for path, entry in there.items() if not entry.is_same(before.get(path))})
    for path, entry in before.items():
        if not entry.is_same(there.get(path)):
            _copy_entry(old / path, new / path, entry)
            observer(f"copied {shown_name(path)}")
    copied = survey(new, digests=True)
    if wrong := differences(before, copied):
        _explain_difference(old, before, wrong)
    _copy_folder_facts(old, new, before)
    observer(f"verified {old.name}")


def _explain_difference(old: Path, before: Survey, wrong: list[str]) -> None:
    changed = differences(before, survey(old, digests=True))
    if changed:
        raise refusal("SOURCE_CHANGED", listed(changed))
    raise refusal("VERIFICATION_FAILED", listed(wrong))


def _copy_entry(old: Path, new: Path, entry: Entry) -> None:
    if entry.kind == "folder":
        new.mkdir()
    elif entry.kind == "link":
        new.symlink_to(entry.content)
    elif entry.kind == "file":
        _copy_file(old, new)
    else:
        raise refusal("UNSUPPORTED_FILE", shown_name(str(old)))


def _copy_file(old: Path, new: Path) -> None:
    try:
        source = old.open("rb")
    except PermissionError as error:
        raise refusal("UNREADABLE", shown_name(str(old))) from error
    with source, new.open("xb") as copy:
        shutil.copyfileobj(source, copy, _BLOCK_BYTES)
        copy.flush()
        os.fsync(copy.fileno())
    shutil.copystat(old, new)


def _copy_folder_facts(old: Path, new: Path, entries: Survey) -> None:
    """Rights and times of folders, children first: making an entry would change the time of its folder."""
    for path, entry in reversed(entries.items()):
        if entry.kind == "folder":
            sync_folder(new / path)
            shutil.copystat(old / path, new / path)


def _make_writable(folder: Path) -> None:
    """Give back the rights on copied folders that an earlier run has already narrowed to the source's."""
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if path.is_dir() and not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) | _OWNER_MAY_ALL)
            waiting += path.iterdir()


def _remove_copy(folder: Path, entries: Survey) -> None:
    """Remove entries of a copy, children first; a folder that still holds others stays."""
    _make_writable(folder)
    for path, entry in reversed(entries.items()):
        if entry.kind == "folder":
            (folder / path).rmdir()
        else:
            (folder / path).unlink()


def _delete_same(old: Path, new: Path, observer: Observer) -> list[str]:
    kept = survey(new)
    remaining: list[str] = []
    for path, entry in reversed(survey(old).items()):
        try:
            is_same = _is_same(old / path, entry, new / path, kept.get(path))
            if is_same:
                _delete(old / path, entry)
        except (OSError, MigrationError):
            is_same = False
        if is_same:
            observer(f"deleted {shown_name(path)}")
        elif entry.kind != "folder" or not any(name.startswith(f"{path}/" if path else "") for name in remaining):
            remaining.append(path)
    return remaining[::-1]


def _is_same(old: Path, entry: Entry, new: Path, copy: Entry | None) -> bool:
    if copy is None or not entry.is_same(copy):
        return False
    return entry.kind != "file" or digest_of(old) == digest_of(new)


def _delete(path: Path, entry: Entry) -> None:
    if entry.kind == "folder":
        path.rmdir()
    else:
        with suppress(FileNotFoundError):
            path.unlink()
