"""An object store that reads from another one and keeps what is written to itself, for as long as a plan is made."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from lorebase.artifacts.store import ObjectStore, VersionedObject
from lorebase.errors import NotFoundError, UsageError

MEMORY_BYTES = 64 * 1024 * 1024


class ScratchStore:
    """Object store over another one that it never changes. Use it as a context: at its end what was written is gone.

    What is written stays in memory up to a limit, and lies in a temporary folder of the machine above it, so that
    planning a large build needs no more memory than the build.

    Args:
        base: The store that is read.
        memory_bytes: Most bytes kept in memory.
    """

    def __init__(self, base: ObjectStore, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._base = base
        self._room = memory_bytes
        self._written: dict[str, bytes | Path] = {}
        self._deleted: set[str] = set()
        self._folder: TemporaryDirectory[str] | None = None
        self._files = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes:
        """The object as written here, otherwise the base's."""
        with self._lock:
            found = self._written.get(key)
            if key in self._deleted:
                raise NotFoundError(f"There is no object {key}.")
        if found is None:
            return self._base.get(key)
        return found.read_bytes() if isinstance(found, Path) else found

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Keep the object here."""
        del durable
        with self._lock:
            self._deleted.discard(key)
            before = self._written.get(key)
            self._room += len(before) if isinstance(before, bytes) else 0
            if len(content) <= self._room:
                self._written[key] = content
                self._room -= len(content)
            else:
                self._written[key] = self._write_file(content)

    def exists(self, key: str) -> bool:
        """Whether it was written here or is in the base."""
        with self._lock:
            if key in self._written or key in self._deleted:
                return key in self._written
        return self._base.exists(key)

    def list(self, prefix: str) -> list[str]:
        """Keys of both, without those deleted here."""
        below = f"{prefix.rstrip('/')}/"
        known = set(self._base.list(prefix))
        with self._lock:
            return sorted((known | {key for key in self._written if key.startswith(below)}) - self._deleted)

    def delete(self, keys: Iterable[str]) -> None:
        """Hide the objects; the base keeps them."""
        with self._lock:
            for key in keys:
                self._written.pop(key, None)
                self._deleted.add(key)

    def get_versioned(self, key: str) -> VersionedObject | None:
        """The base's object: pointers are only read."""
        return self._base.get_versioned(key)

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        """Refuse: a plan moves no pointer and takes no lease."""
        del content, version
        raise UsageError(f"A plan does not write {key}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._written.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _write_file(self, content: bytes) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="lorebase-plan-")
        self._files += 1
        path = Path(self._folder.name) / str(self._files)
        path.write_bytes(content)
        return path
