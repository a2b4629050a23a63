"""Stores that kill their own process, or fail, at the n-th write: what makes every write of a build a place to die."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.store import VersionedObject
from lorebase.index.ports import EntityKind
from lorebase.workspace import Workspace

T = TypeVar("T")
Moment = Literal["before", "half", "after"]


class WritePoint:
    """Counts writes, and kills this process at one of them.

    Args:
        log: File that gets one line a write; the last one of a killed process names where it died.
        at: Number of the write to die at, from 1; 0 never does.
        moment: Before the write, in the middle of it, or after it.
        with_index_server: Whether the embedded Milvus dies with the process, as it does when a machine stops.
        signal_number: What to send to this process: SIGKILL, or SIGSTOP, after which it goes on when it is continued.
        disk_error: Instead of a signal: the error number of every write to the folder from that one on.
        only_index_server: The embedded Milvus alone dies, and this process goes on.
    """

    def __init__(
        self,
        log: Path,
        *,
        at: int = 0,
        moment: Moment = "before",
        with_index_server: bool = False,
        signal_number: int = signal.SIGKILL,
        disk_error: int = 0,
        only_index_server: bool = False,
    ) -> None:
        self._log = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._at = at
        self._moment = moment
        self._with_index_server = with_index_server
        self._signal = signal_number
        self._disk_error = disk_error
        self._only_index_server = only_index_server
        self._count = 0
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self.index_servers: Callable[[], Iterable[int]] = tuple

    def write(self, what: str, act: Callable[[], T], half: Callable[[], object]) -> T:
        """A blocking write."""
        mine = self._is_mine(what)
        if mine and self._moment != "after":
            if self._moment == "half":
                half()
            self._die()
        with self._renewing if _is_renewal() else nullcontext():
            result = act()
        if mine and self._moment == "after":
            self._die()
        return result

    async def write_async(self, what: str, act: Callable[[], Awaitable[T]], half: Callable[[], Awaitable[object]]) -> T:
        """A write of an index."""
        mine = self._is_mine(what)
        if mine and self._moment != "after":
            if self._moment == "half":
                await half()
            self._die()
        result = await act()
        if mine and self._moment == "after":
            self._die()
        return result

    def _is_mine(self, what: str) -> bool:
        if _is_renewal():
            return False  # renewals come by the clock: counting them would move every other number
        with self._lock:
            self._count += 1
            os.write(self._log, f"{self._count} {what}\n".encode())
            return self._count == self._at and not self._disk_error

    def refuse_on_a_full_disk(self) -> None:
        """Raise what the operating system would, once the disk is full."""
        if self._disk_error and self._count >= self._at:
            raise OSError(self._disk_error, os.strerror(self._disk_error))

    def _die(self) -> None:
        if self._with_index_server or self._only_index_server:
            for pid in self.index_servers():
                os.kill(pid, signal.SIGKILL)
                if self._only_index_server:
                    os.write(self._log, b"the index server was killed\n")
        if self._only_index_server:
            return
        with self._renewing:  # a process that is stopped in the middle of a renewal keeps the lock of the lease's file
            os.kill(os.getpid(), self._signal)


def _is_renewal() -> bool:
    return threading.current_thread().name.startswith("lease ")


class CrashingStore:
    """An object store whose writes pass a write point."""

    def __init__(self, base: Any, point: WritePoint) -> None:
        self._base = base
        self._point = point

    def close(self) -> None:
        self._base.close()

    def get(self, key: str) -> bytes:
        return self._base.get(key)

    def exists(self, key: str) -> bool:
        return self._base.exists(key)

    def list(self, prefix: str) -> list[str]:
        return self._base.list(prefix)

    def get_versioned(self, key: str) -> VersionedObject | None:
        return self._base.get_versioned(key)

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        self._point.write(
            f"put {key}", lambda: self._base.put(key, content, durable=durable), lambda: self._half_put(key, content)
        )

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        def half() -> None:
            self._half_put(key, content)

        return self._point.write(f"put_if {key}", lambda: self._base.put_if(key, content, version), half)

    def delete(self, keys: Iterable[str]) -> None:
        wanted = list(keys)
        if not wanted:
            return
        half = wanted[: len(wanted) // 2]
        self._point.write(f"delete {wanted[0]}", lambda: self._base.delete(wanted), lambda: self._base.delete(half))

    def _half_put(self, key: str, content: bytes) -> None:
        """What a kill in the middle leaves: half a temporary file in a folder; on S3 a request under way."""
        if isinstance(self._base, LocalObjectStore):
            path = self._base._root / f"{key}.writing-{uuid.uuid4().hex}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content[: len(content) // 2])
            return
        threading.Thread(target=self._base.put, args=(key, content), daemon=True).start()
        time.sleep(len(content) % 5 / 1000)


class _FullFolder(LocalObjectStore):
    """A folder whose disk takes no more bytes from a write on; deleting still works."""

    def __init__(self, root: Path, point: WritePoint) -> None:
        super().__init__(root)
        self._point = point

    def _temporary(self, path: Path, content: bytes, **options: Any) -> Any:
        self._point.refuse_on_a_full_disk()
        return super()._temporary(path, content, **options)


class _CrashingIndex:
    """An index whose writes pass a write point; everything else goes through."""

    def __init__(self, base: Any, point: WritePoint, name: str) -> None:
        self._base = base
        self._point = point
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    async def upsert(self, entities: Sequence[Any]) -> None:
        if not entities:
            return
        half = entities[: len(entities) // 2]
        await self._point.write_async(
            f"upsert {self._name}", lambda: self._base.upsert(entities), lambda: self._base.upsert(half)
        )

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        half = chunk_ids[: len(chunk_ids) // 2]
        return await self._point.write_async(
            f"set_searchable={searchable} {self._name}",
            lambda: self._base.set_searchable(chunk_ids, searchable=searchable),
            lambda: self._base.set_searchable(half, searchable=searchable),
        )


class CrashingIndexes:
    """An index store whose indexes pass a write point."""

    def __init__(self, base: Any, point: WritePoint) -> None:
        self._base = base
        self._point = point
        point.index_servers = self._servers

    def vectors(
        self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks"
    ) -> _CrashingIndex:
        index = self._base.vectors(base_name, profile_id, dimensions, kind=kind)
        return _CrashingIndex(index, self._point, "vectors")

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> _CrashingIndex:
        return _CrashingIndex(self._base.lexical(base_name, kind=kind), self._point, "text")

    async def close(self) -> None:
        await self._base.close()

    def _servers(self) -> list[int]:
        processes = [connection._server._process for connection in self._base._connections.values()]
        return [process.pid for process in processes if process is not None]


class CrashingWorkspace(Workspace):
    """A workspace whose writes pass a write point."""

    point: WritePoint

    @cached_property
    def object_store(self) -> CrashingStore:
        base = super().object_store
        if isinstance(base, LocalObjectStore):
            base = _FullFolder(base._root, self.point)
        return CrashingStore(base, self.point)

    @cached_property
    def index_store(self) -> CrashingIndexes:
        return CrashingIndexes(super().index_store, self.point)
