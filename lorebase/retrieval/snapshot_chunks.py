"""The authority of a base that nothing governs: the chunks of its live snapshot."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence

from lorebase.artifacts.kinds import CHUNKS, partition_of
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.model import Chunk
from lorebase.index.ports import Candidate

CACHED_CHUNKS = 50_000
"""Chunks kept in memory, about 2 KB each."""


class ChunkCache:
    """Chunks of partitions that were read last, shared by all queries. Content-addressed, so never stale."""

    def __init__(self, store: ObjectStore, layout: BaseLayout, max_chunks: int = CACHED_CHUNKS) -> None:
        self._store = store
        self._layout = layout
        self._max_chunks = max_chunks
        self._partitions: OrderedDict[str, dict[str, Chunk]] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def read(self, entry: PartitionEntry) -> dict[str, Chunk]:
        """The chunks of a partition by id. Blocking."""
        with self._lock:
            if entry.sha256 in self._partitions:
                self._partitions.move_to_end(entry.sha256)
                return self._partitions[entry.sha256]
        chunks = {chunk.chunk_id: chunk for chunk in read_partition(self._store, self._layout, CHUNKS, entry)}
        with self._lock:
            if entry.sha256 not in self._partitions:
                self._held += len(chunks)
            self._partitions[entry.sha256] = chunks
            while self._held > self._max_chunks and len(self._partitions) > 1:
                _, dropped = self._partitions.popitem(last=False)
                self._held -= len(dropped)
        return chunks


class SnapshotChunks:
    """Resolves candidates against one snapshot, so that a query sees one state of the base from end to end."""

    def __init__(self, store: ObjectStore, snapshot: Snapshot, cache: ChunkCache) -> None:
        self._store = store
        self._snapshot = snapshot
        self._cache = cache
        self._manifest: Manifest | None = None

    async def resolve(self, candidates: Sequence[Candidate]) -> dict[str, Chunk]:
        """The chunks of those candidates that the snapshot holds, by chunk id."""
        return await asyncio.to_thread(self._resolve, candidates)

    def _resolve(self, candidates: Sequence[Candidate]) -> dict[str, Chunk]:
        reference = self._snapshot.artifacts.get(CHUNKS.name)
        if reference is None:
            return {}
        if self._manifest is None:
            self._manifest = read_manifest(self._store, reference)
        entries = {entry.index: entry for entry in self._manifest.partitions}
        found: dict[str, Chunk] = {}
        for candidate in candidates:
            entry = entries.get(partition_of(candidate.document_id, self._manifest.partition_count))
            chunk = self._cache.read(entry).get(candidate.chunk_id) if entry else None
            if chunk is not None:
                found[candidate.chunk_id] = chunk
        return found
