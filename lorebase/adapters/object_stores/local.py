"""A local folder as an object store."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import tenacity

from lorebase.adapters.object_stores.keys import checked_key
from lorebase.artifacts.store import ObjectEntry, VersionedObject
from lorebase.errors import NotFoundError, UnavailableError

_TEMPORARY_MARK = ".writing-"
_SWAP_LOCK_SECONDS = 10.0
"""A swap takes milliseconds: who holds its lock longer is a process that stands still."""


class LocalObjectStore:
    """A folder. Writes go to a temporary name in the same folder, are flushed to the disk, and are renamed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._swap_lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._root,))

    def close(self) -> None:
        """Nothing: files are closed after every call."""

    def get(self, key: str) -> bytes:
        """The whole object."""
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise NotFoundError(f"There is no object {key!r} in {self._root}.", key=key) from error
        except OSError as error:
            raise self._unavailable(key, error) from error

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Write the object whole or not at all."""
        path = self._path(key)
        with self._translated(key), self._temporary(path, content, durable=durable) as temporary:
            temporary.replace(path)

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        return self._path(key).is_file()

    def list(self, prefix: str) -> list[str]:
        """Keys below the folder, sorted."""
        return sorted(key for key, name in self._walk(prefix) if not _is_internal(name))

    def entries(self, prefix: str) -> Sequence[ObjectEntry]:
        """Objects below the folder with size and time, sorted by key."""
        return self._described([key for key, name in self._walk(prefix) if not _is_internal(name)])

    def leftovers(self, prefix: str) -> Sequence[ObjectEntry]:
        """Temporary files of writers."""
        return self._described([key for key, name in self._walk(prefix) if _TEMPORARY_MARK in name])

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects."""
        for key in keys:
            with self._translated(key):
                self._path(key).unlink(missing_ok=True)

    def get_versioned(self, key: str) -> VersionedObject | None:
        """The object with its version."""
        try:
            with self._path(key).open("rb") as stream:
                content = stream.read()
                written = os.fstat(stream.fileno()).st_mtime
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise self._unavailable(key, error) from error
        age = timedelta(seconds=max(0.0, time.time() - written))  # the machine's clock wrote the file's time as well
        return VersionedObject(content, hashlib.sha256(content).hexdigest(), age)

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        """Write only if the object still has `version`.

        A new object is made by an exclusive hard link. A swap of an existing one is serialised by a lock file that is
        locked through the operating system, so that a killed process leaves nothing locked.
        """
        path = self._path(key)
        with self._translated(key):
            if version is None:
                with self._temporary(path, content) as temporary:
                    try:
                        os.link(temporary, path)
                    except FileExistsError:
                        return False
                    return True
            with self._swap_lock, _locked(path.with_name(f".{path.name}.lock")):
                current = self.get_versioned(key)
                if current is None or current.version != version:
                    return False
                self.put(key, content)
                return True

    def _path(self, key: str) -> Path:
        return self._root / checked_key(key)

    def _walk(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Key and name of every file below a folder, internal ones too."""
        with self._translated(prefix):
            for folder, _, names in os.walk(self._path(prefix)):
                relative = Path(folder).relative_to(self._root).as_posix()
                yield from ((f"{relative}/{name}", name) for name in names)

    def _described(self, keys: Iterable[str]) -> Sequence[ObjectEntry]:
        found = []
        for key in sorted(keys):
            with self._translated(key), suppress(FileNotFoundError):  # removed since it was listed
                facts = self._path(key).stat()
                found.append(ObjectEntry(key, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC)))
        return found

    @contextmanager
    def _temporary(self, path: Path, content: bytes, *, durable: bool = True) -> Iterator[Path]:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}{_TEMPORARY_MARK}{uuid.uuid4().hex}")
        try:
            with temporary.open("wb") as stream:
                stream.write(content)
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unavailable(key, error) from error

    def _unavailable(self, key: str, error: OSError) -> UnavailableError:
        return UnavailableError(
            f"The object store folder {self._root} failed at {key!r}: {error.strerror or error}.",
            remedy="Check that the folder is writable and that its disk has space left, then start again.",
            dependency="object store",
            key=key,
        )


def _is_internal(name: str) -> bool:
    return _TEMPORARY_MARK in name or (name.startswith(".") and name.endswith(".lock"))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl  # noqa: PLC0415 (POSIX only; the local store's compare-and-set is its one use)

    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(BlockingIOError),
        stop=tenacity.stop_after_delay(_SWAP_LOCK_SECONDS),
        wait=tenacity.wait_random_exponential(multiplier=0.001, max=0.1),
        reraise=True,
    )
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        attempts(fcntl.flock, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
