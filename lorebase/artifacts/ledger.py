"""The ledger: which items of work are already paid for, and where their results are.

An item is a document to parse, a chunk to embed, a chunk to extract from. Its key covers its content and its step, not
its place, so a renamed document finds its old results. Results lie in the objects of sealed partitions, beside each of
which a small file holds the item keys in row order; while a partition is unfinished they lie in open segments.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lorebase.artifacts.claims import Claims
from lorebase.artifacts.kinds import ArtifactKind
from lorebase.artifacts.manifest import PartitionEntry
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import CorruptObjectError, NotFoundError, UsageError

RowT = TypeVar("RowT")
_KEY = np.dtype("S16")
_READERS = 16
_CACHED_OBJECTS = 4


class Ledger(Generic[RowT]):
    """Finished items of one step's fingerprint. Blocking, safe to use from several threads of one process.

    What a task run of this process has recorded is found by the others at once.

    Attributes:
        claims: Items that task runs of this process work on.

    Args:
        store: The object store.
        layout: Keys of the knowledge base.
        kind: Kind of artifact whose rows are the results; it must say how an item key is read off a row.
        step_fingerprint: Identity of the step without its inputs.
        segment_items: Results after which an open segment is written.
        segment_seconds: Seconds after which it is written although it has fewer.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        store: ObjectStore,
        layout: BaseLayout,
        kind: ArtifactKind[RowT],
        step_fingerprint: str,
        *,
        segment_items: int = 256,
        segment_seconds: float = 5.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if kind.item_key is None:
            raise UsageError(f"The rows of {kind.name} have no item key, so no ledger can keep them.")
        self._item_key = kind.item_key
        self._store = store
        self._layout = layout
        self._kind = kind
        self._folder = layout.ledger(step_fingerprint)
        self._segment_items = segment_items
        self._segment_seconds = segment_seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._sealed: list[tuple[str, NDArray[np.bytes_], NDArray[np.intp]]] | None = None
        self._open: dict[str, RowT] = {}
        self.claims = Claims()
        self._rows_of = lru_cache(maxsize=_CACHED_OBJECTS)(self._read_object)

    @property
    def kind(self) -> ArtifactKind[RowT]:
        """Kind of artifact whose rows it keeps."""
        return self._kind

    def lookup(self, keys: Iterable[str]) -> dict[str, RowT]:
        """Results of those items that are finished. A result whose object is gone counts as not finished."""
        wanted = list(dict.fromkeys(keys))
        with self._lock:
            sealed = self._load()
            found = {key: self._open[key] for key in wanted if key in self._open}
        missing = [key for key in wanted if key not in found]
        for digest, sorted_keys, order in reversed(sealed):
            if not missing:
                break
            probes = np.array([bytes.fromhex(key) for key in missing], dtype=_KEY)
            places = np.searchsorted(sorted_keys, probes)
            inside = places < len(sorted_keys)
            hits = np.flatnonzero(inside & (sorted_keys[np.minimum(places, len(sorted_keys) - 1)] == probes))
            if not len(hits):
                continue
            try:
                rows = self._rows_of(digest)
            except (NotFoundError, CorruptObjectError):
                continue
            for hit in hits:
                found[missing[hit]] = rows[order[places[hit]]]
            missing = [key for key in missing if key not in found]
        return found

    def writer(self, group_key: str) -> LedgerWriter[RowT]:
        """A writer of open segments for one task run."""
        return LedgerWriter(self, group_key)

    def seal(self, entry: PartitionEntry, rows: Sequence[RowT]) -> None:
        """Note the item keys of a partition's object, in row order."""
        keys = np.frombuffer(item_keys(self._kind, rows), dtype=_KEY)
        # Not durable, as the segments: what a loss of power takes of the ledger is paid for again, nothing else.
        self._store.put(f"{self._folder}/keys/{entry.sha256}", keys.tobytes(), durable=False)
        if len(keys):
            with self._lock:
                self._load().append(_sorted(entry.sha256, keys))
                for row in rows:
                    self._open.pop(self._item_key(row), None)

    def drop_segments(self, group_key: str) -> None:
        """Remove the open segments of a task run whose record is written."""
        self._store.delete(self._store.list(f"{self._folder}/open/{group_key}"))

    def _note(self, rows: Sequence[RowT]) -> None:
        with self._lock:
            self._load()  # what it finds on the store must not take the place of these
            self._open.update((self._item_key(row), row) for row in rows)

    def _write_segment(self, group_key: str, rows: Sequence[RowT]) -> None:
        name = f"{self._folder}/open/{group_key}/{uuid.uuid4().hex}.parquet"
        self._store.put(name, self._kind.encode(rows), durable=False)

    def _load(self) -> list[tuple[str, NDArray[np.bytes_], NDArray[np.intp]]]:
        if self._sealed is None:
            names = self._store.list(f"{self._folder}/keys")
            segments = self._store.list(f"{self._folder}/open")
            with ThreadPoolExecutor(_READERS) as readers:
                contents = list(readers.map(self._read_if_there, names))
                for content in readers.map(self._read_if_there, segments):
                    for row in self._decode_segment(content):
                        self._open[self._item_key(row)] = row
            self._sealed = [
                _sorted(name.rpartition("/")[2], np.frombuffer(content, dtype=_KEY))
                for name, content in zip(names, contents, strict=True)
                if content and len(content) % _KEY.itemsize == 0
            ]
        return self._sealed

    def _decode_segment(self, content: bytes | None) -> list[RowT]:
        try:
            return self._kind.decode(content) if content else []
        except CorruptObjectError:
            return []

    def _read_if_there(self, key: str) -> bytes | None:
        try:
            return self._store.get(key)
        except NotFoundError:
            return None

    def _read_object(self, digest: str) -> list[RowT]:
        return self._kind.decode(self._store.get(self._layout.object(digest)))


class LedgerWriter(Generic[RowT]):
    """Keeps the results of one task run until there are enough for a segment."""

    def __init__(self, ledger: Ledger[RowT], group_key: str) -> None:
        self._ledger = ledger
        self._group_key = group_key
        self._pending: list[RowT] = []
        self._lock = threading.Lock()
        self._since = ledger._monotonic()  # noqa: SLF001 (the two classes are one thing)

    def record(self, rows: Sequence[RowT]) -> None:
        """Keep results; they are on the store once enough of them, or enough time, have come together."""
        self._ledger._note(rows)  # noqa: SLF001 (the two classes are one thing)
        with self._lock:
            self._pending.extend(rows)
            age = self._ledger._monotonic() - self._since  # noqa: SLF001 (as above)
            if len(self._pending) < self._ledger._segment_items and age < self._ledger._segment_seconds:  # noqa: SLF001 (as above)
                return
        self.flush()

    def flush(self) -> None:
        """Write what is kept as a segment now; several threads may write their segments side by side."""
        with self._lock:
            rows, self._pending = self._pending, []
            self._since = self._ledger._monotonic()  # noqa: SLF001 (as above)
        if rows:
            self._ledger._write_segment(self._group_key, rows)  # noqa: SLF001 (as above)


def item_keys(kind: ArtifactKind[RowT], rows: Sequence[RowT]) -> bytes:
    """The item keys of rows, in row order, as the file beside a sealed partition's object holds them.

    Raises:
        UsageError: Rows of that kind have none.
    """
    if kind.item_key is None:
        raise UsageError(f"The rows of {kind.name} have no item key, so no ledger can keep them.")
    return np.array([bytes.fromhex(kind.item_key(row)) for row in rows], dtype=_KEY).tobytes()


def _sorted(digest: str, keys: NDArray[np.bytes_]) -> tuple[str, NDArray[np.bytes_], NDArray[np.intp]]:
    order = np.argsort(keys, kind="stable")
    return digest, keys[order], order
