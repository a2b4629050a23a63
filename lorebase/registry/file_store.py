"""The registry as one JSON file: replaced as a whole, with a backup beside it, under a lock between processes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import tenacity
from filelock import FileLock, Timeout

from lorebase.errors import ConflictError, CorruptObjectError, NewerFormatError, UnavailableError
from lorebase.registry.layout import is_base_id
from lorebase.registry.reading import JsonObject, first_given, object_of
from lorebase.registry.stores import FORMAT, Change, StoredBases

REGISTRY_FILE: Final = "knowledge-bases.json"
LOCK_SECONDS: Final = 60.0
_LONGEST_POLL_SECONDS: Final = 0.25
"""Waits grow up to this: 200 processes that look every 10 ms leave two cores no time for the work itself."""

Result = TypeVar("Result")


@dataclass(slots=True)
class _Document:
    """The file as it was read.

    Attributes:
        bases: Usable entries by id, in stored order.
        unusable: Entries without a usable id; they are written back as they are.
        warnings: What could not be used.
        from_backup: Whether the file itself could not be read.
    """

    bases: dict[str, JsonObject]
    unusable: list[object]
    warnings: list[str]
    from_backup: bool = False


class FileRegistryStore:
    """Records in one file; see `RegistryStore`.

    Readers take no lock: they see the file before a change or after it. A writer replaces the file in one step, and
    keeps the one before it as `<name>.bak`. A file that cannot be read is put aside as `<name>.unreadable` when the
    backup takes its place.

    Args:
        path: The file; its folder is made when something is first written. A link is followed, not replaced.
        lock_seconds: Longest time to wait for another writer.
    """

    def __init__(self, path: Path, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self.path = path.resolve()
        self._lock_seconds = lock_seconds

    @property
    def backup(self) -> Path:
        """The file before the last change."""
        return self.path.with_name(f"{self.path.name}.bak")

    def read_all(self) -> StoredBases:
        """Every base; see `RegistryStore`."""
        document = self._read()
        return StoredBases(dict(sorted(document.bases.items())), tuple(document.warnings))

    def read_one(self, base_id: str) -> StoredBases:
        """One base; see `RegistryStore`."""
        document = self._read()
        found = {base_id: document.bases[base_id]} if base_id in document.bases else {}
        return StoredBases(found, tuple(document.warnings))

    def insert(self, base_id: str, data: JsonObject) -> bool:
        """Add a base; see `RegistryStore`."""
        with self._locked():
            document = self._read()
            if base_id in document.bases:
                return False
            document.bases[base_id] = data
            self._write(document)
            return True

    def change(self, base_id: str, revise: Callable[[JsonObject], Change[Result]]) -> Result | None:
        """Revise a base; see `RegistryStore`. `revise` is called while other writers wait: it must not block."""
        with self._locked():
            document = self._read()
            if base_id not in document.bases:
                return None
            change = revise(document.bases[base_id])
            if change.data is not None:
                document.bases[base_id] = change.data
                self._write(document)
            return change.result

    def delete(self, base_id: str) -> bool:
        """Remove a base; see `RegistryStore`."""
        with self._locked():
            document = self._read()
            if document.bases.pop(base_id, None) is None:
                return False
            self._write(document)
            return True

    def put_aside(self) -> Path:
        """Rename the file, and the backup with it, so that this registry is empty; gives the new name of the file."""
        with self._locked():
            aside = free_name_aside(self.path)
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                self.path.replace(aside)
            with contextlib.suppress(FileNotFoundError):
                self.backup.replace(aside.with_name(f"{aside.name}.bak"))
            return aside

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(self.path, error) from error
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Timeout),
            stop=tenacity.stop_after_delay(self._lock_seconds),
            wait=tenacity.wait_random_exponential(multiplier=0.004, max=_LONGEST_POLL_SECONDS),
            reraise=True,
        )
        try:
            attempts(lock.acquire, blocking=False)
        except Timeout as error:
            raise ConflictError(
                f"Other processes have held the registry {self.path} for {self._lock_seconds:g} seconds.",
                remedy="Try again; if nothing works on it, look for a process that hangs.",
                path=str(self.path),
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _read(self) -> _Document:
        try:
            return _parsed(self.path.read_bytes(), self.path)
        except FileNotFoundError:
            if not self.backup.exists():
                return _Document({}, [], [])
            fault = "is missing"
        except ValueError as error:
            fault = f"cannot be read ({error})"
        except OSError as error:
            raise _unusable(self.path, error) from error
        return self._from_backup(fault)

    def _from_backup(self, fault: str) -> _Document:
        try:
            document = _parsed(self.backup.read_bytes(), self.backup)
        except (OSError, ValueError) as error:
            raise CorruptObjectError(
                f"The registry {self.path} {fault}, and there is no backup that can be read.",
                remedy=f"Put a good copy at {self.path}; nothing was overwritten.",
                path=str(self.path),
            ) from error
        document.warnings.insert(0, f"REGISTRY_FROM_BACKUP: {self.path} {fault}; {self.backup.name} was read instead.")
        document.from_backup = True
        return document

    def _write(self, document: _Document) -> None:
        entries = [json.dumps(entry, ensure_ascii=False) for entry in (*document.bases.values(), *document.unusable)]
        lines = (f'{{"format": {FORMAT}, "bases": [', ",\n".join(entries), "]}", "")
        text = "\n".join(lines)
        try:
            self._put(text.encode("utf-8", "replace"), from_backup=document.from_backup)
        except OSError as error:
            raise _unusable(self.path, error) from error

    def _put(self, content: bytes, *, from_backup: bool) -> None:
        fresh = self.path.with_name(f".{self.path.name}.new")
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._keep_former(from_backup=from_backup)
        fresh.replace(self.path)
        _sync_folder(self.path.parent)

    def _keep_former(self, *, from_backup: bool) -> None:
        """Make the present file the backup; one that cannot be read never takes the place of a good backup."""
        if not self.path.exists():
            return
        if from_backup:
            self.path.replace(self.path.with_name(f"{self.path.name}.unreadable"))
            return
        former = self.path.with_name(f".{self.path.name}.former")
        former.unlink(missing_ok=True)
        try:
            os.link(self.path, former)
        except OSError:  # a file system without hard links
            shutil.copyfile(self.path, former)
        former.replace(self.backup)


def _parsed(content: bytes, path: Path) -> _Document:
    """The document of a file.

    Raises:
        ValueError: It is no registry.
        NewerFormatError: A newer program wrote it.
    """
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    members = {"bases": data} if isinstance(data, list) else object_of(data)
    written = first_given(members, "format", "version")
    if isinstance(written, int) and written > FORMAT:
        raise NewerFormatError(
            f"The registry {path} has format {written}; this program knows formats up to {FORMAT}.",
            remedy="Use the newer version of Lorebase that wrote it; nothing was changed.",
            path=str(path),
        )
    match first_given(members, "bases", "knowledge_bases", "knowledgeBases"):
        case list() as entries:
            return _sorted_out(entries)
        case _:
            raise ValueError("it holds no list of bases")


def _sorted_out(entries: list[object]) -> _Document:
    document = _Document({}, [], [])
    for entry in entries:
        data = object_of(entry)
        base_id = data.get("id")
        if not isinstance(base_id, str) or not is_base_id(base_id):
            document.unusable.append(entry)
            document.warnings.append(f"INVALID_BASE_ID: {str(base_id)[:80]!r} is no id of a base; it is passed over.")
        elif base_id in document.bases:
            document.unusable.append(entry)
            document.warnings.append(f"DUPLICATE_BASE_ID: {base_id!r} stands there twice; the first one counts.")
        else:
            document.bases[base_id] = data
    return document


def _unusable(path: Path, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"The registry {path} cannot be used: {error.strerror or error}.",
        remedy="Look at its permissions and at the space on its disk; it is as it was before.",
        dependency="registry file",
    )


def _sync_folder(folder: Path) -> None:
    """Make a rename durable where the file system offers it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def free_name_aside(path: Path) -> Path:
    """The name that a file gets once everything of it was taken over: `NAME.imported`, numbered where that is taken."""
    name = f"{path.name}.imported"
    free = (f"{name}-{number}" if number else name for number in itertools.count())
    return next(aside for aside in map(path.with_name, free) if not aside.exists())
