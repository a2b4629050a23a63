"""The journal of a migration: what it set out to do and how far it is, so that a killed one can go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.errors import ConflictError
from lorebase.registry.migration.outcome import Mode, What

Phase = Literal["begun", "staged"]


class JournalRecord(BaseModel):
    """What is to be moved where, and what is done.

    Attributes:
        version: Of this format.
        phase: `begun`: folders are on their way; `staged`: all of them are complete beside the target, or in its place.
        what: Tree or memory.
        base_id: The base.
        source: The old place: an absolute path, or a prefix.
        target: The new place.
        mode: How folders travel.
        moves: Names in the source and in the target.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    phase: Phase
    what: What
    base_id: str
    source: str
    target: str
    mode: Mode
    moves: tuple[tuple[str, str], ...]


class LocalJournal:
    """A journal as a file: one record a line, each flushed to the disk before the next change is made."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @property
    def record(self) -> JournalRecord | None:
        """The last whole record; a line that a kill cut off does not count."""
        return read_journal(self._path)

    def write(self, record: JournalRecord) -> None:
        """Add a record and flush it; what a kill left of a line before is closed by a line end."""
        content = f"\n{record.model_dump_json()}\n".encode()
        os.lseek(self._descriptor, 0, os.SEEK_END)
        while content:
            content = content[os.write(self._descriptor, content) :]
        os.fsync(self._descriptor)

    def remove(self) -> None:
        """The migration has ended."""
        self._path.unlink(missing_ok=True)
        sync_folder(self._path.parent)


def read_journal(path: Path) -> JournalRecord | None:
    """The last whole record of a journal file; None without file or record.

    A kill while a record is written leaves half a line, which counts for nothing.
    """
    if not path.exists():
        return None
    for line in reversed(path.read_bytes().split(b"\n")[:-1]):
        with suppress(ValidationError):
            return JournalRecord.model_validate_json(line)
    return None


@contextmanager
def locked_journal(path: Path) -> Iterator[LocalJournal]:
    """Open a journal, or make it, for this process alone. One without a record is removed at the end.

    The file is locked through the operating system, so that a killed process leaves nothing locked.

    Raises:
        ConflictError: Another process migrates to the same place.
        OSError: It cannot be made there.
    """
    import fcntl  # noqa: PLC0415 (POSIX only, as the local object store's lock)

    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_current = path.stat().st_ino == os.fstat(descriptor).st_ino
        except (BlockingIOError, FileNotFoundError):
            is_current = False
        if not is_current:
            raise ConflictError(
                f"Another process is migrating to {path.parent}.", remedy="Wait for it to end, then migrate again."
            )
        try:
            yield LocalJournal(path, descriptor)
        finally:
            if read_journal(path) is None:
                path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, where its file system can do that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems know no fsync of folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
