"""The history of a knowledge base: its snapshots with what each of them changed, and the moves of the pointer."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from lorebase.artifacts.kinds import CHUNKS, SOURCE_DOCUMENTS, ArtifactKind
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_manifest, read_partition
from lorebase.artifacts.snapshots import MoveCause, Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import NotFoundError

RowT = TypeVar("RowT")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SnapshotChanges(_Frozen):
    """What differs from the snapshot before. A changed document has the same place and other bytes."""

    documents_added: int
    documents_removed: int
    documents_changed: int
    chunks_added: int
    chunks_removed: int


class SnapshotLine(_Frozen):
    """One snapshot in the history."""

    snapshot_id: str
    run_id: str
    built_at: datetime
    documents: int
    chunks: int
    queries: tuple[str, ...]
    live: bool
    changes: SnapshotChanges | None = Field(description="None for the oldest that is kept.")


class PointerMove(_Frozen):
    """One move of the pointer to the live snapshot."""

    sequence: int
    snapshot_id: str
    moved_at: datetime
    cause: MoveCause


class BaseHistory(_Frozen):
    """Snapshots and moves, newest first."""

    name: str
    live: str | None
    snapshots: tuple[SnapshotLine, ...]
    moves: tuple[PointerMove, ...]


def base_history(store: ObjectStore, layout: BaseLayout) -> BaseHistory:
    """The history of a base; only partitions that differ between neighbours are read. Blocking.

    Raises:
        NotFoundError: It has no snapshot.
        CorruptObjectError: A snapshot, a manifest or an object cannot be read.
    """
    snapshots = SnapshotStore(store, layout)
    found = snapshots.all()
    if not found:
        snapshots.require_live()
        raise NotFoundError(f"{layout.base_name!r} has no snapshot.")
    pointer = snapshots.pointer()
    live = pointer.snapshot_id if pointer else None
    lines = [
        _line(after, changes_between(store, layout, before, after) if before else None, live)
        for before, after in zip([None, *found[:-1]], found, strict=True)
    ]
    moves = [
        PointerMove(sequence=move.sequence, snapshot_id=move.snapshot_id, moved_at=move.moved_at, cause=move.cause)
        for move in snapshots.moves()
    ]
    return BaseHistory(name=layout.base_name, live=live, snapshots=tuple(reversed(lines)), moves=tuple(reversed(moves)))


def changes_between(store: ObjectStore, layout: BaseLayout, before: Snapshot, after: Snapshot) -> SnapshotChanges:
    """What differs between two snapshots. Blocking."""
    left, right = _differing(store, layout, SOURCE_DOCUMENTS, before, after)
    old = {document.document_id: document.sha256 for document in left}
    new = {document.document_id: document.sha256 for document in right}
    left_chunks, right_chunks = _differing(store, layout, CHUNKS, before, after)
    old_chunks = {chunk.chunk_id for chunk in left_chunks}
    new_chunks = {chunk.chunk_id for chunk in right_chunks}
    return SnapshotChanges(
        documents_added=len(new.keys() - old.keys()),
        documents_removed=len(old.keys() - new.keys()),
        documents_changed=sum(old[key] != new[key] for key in old.keys() & new.keys()),
        chunks_added=len(new_chunks - old_chunks),
        chunks_removed=len(old_chunks - new_chunks),
    )


def _differing(
    store: ObjectStore, layout: BaseLayout, kind: ArtifactKind[RowT], before: Snapshot, after: Snapshot
) -> tuple[list[RowT], list[RowT]]:
    """Rows of the objects that only one of the two snapshots has, for each of them.

    Objects are compared wherever they stand, so that another number of partitions is no special case.
    """
    old, new = _entries(store, kind.name, before), _entries(store, kind.name, after)
    return (
        [row for digest in sorted(old.keys() - new.keys()) for row in read_partition(store, layout, kind, old[digest])],
        [row for digest in sorted(new.keys() - old.keys()) for row in read_partition(store, layout, kind, new[digest])],
    )


def _entries(store: ObjectStore, artifact: str, snapshot: Snapshot) -> dict[str, PartitionEntry]:
    reference = snapshot.artifacts.get(artifact)
    manifest: Manifest | None = read_manifest(store, reference) if reference else None
    return {entry.sha256: entry for entry in manifest.partitions} if manifest else {}


def _line(snapshot: Snapshot, changes: SnapshotChanges | None, live: str | None) -> SnapshotLine:
    return SnapshotLine(
        snapshot_id=snapshot.snapshot_id,
        run_id=snapshot.run_id,
        built_at=snapshot.created_at,
        documents=snapshot.documents,
        chunks=snapshot.chunks,
        queries=snapshot.queries,
        live=snapshot.snapshot_id == live,
        changes=changes,
    )
