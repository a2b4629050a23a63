"""Snapshots: what one successful build made, as a whole, and the pointer that says which of them is live."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lorebase.artifacts.manifest import ArtifactReference
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import ConflictError, CorruptObjectError, NotFoundError


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Snapshot(_Frozen):
    """Everything that readers need of one build."""

    schema_version: int = 1
    snapshot_id: str
    base_name: str
    run_id: str
    created_at: datetime
    recipe: dict[str, Any] = Field(description="The recipe as it was built, without the place of its file.")
    recipe_fingerprint: str
    artifacts: dict[str, ArtifactReference]
    collections: dict[str, str] = Field(default_factory=dict, description="Which collection an index artifact fills.")
    queries: tuple[str, ...]
    search_assets: tuple[str, ...]
    documents: int
    chunks: int
    embedding_profile_id: str = ""
    embedding_dimensions: int = 0


MoveCause = Literal["build", "rollback", "forget"]


class SnapshotPointer(_Frozen):
    """Which snapshot is live."""

    snapshot_id: str
    moved_at: datetime
    sequence: int = Field(ge=1, description="Number of this move; each one is one higher than the one before.")
    cause: MoveCause = Field("build", description="What moved it here.")


class SnapshotStore:
    """Snapshots and the pointer of one knowledge base. Blocking."""

    def __init__(self, store: ObjectStore, layout: BaseLayout) -> None:
        self._store = store
        self._layout = layout

    def write(self, snapshot: Snapshot) -> None:
        """Write a snapshot, after everything it refers to."""
        self._store.put(self._layout.snapshot(snapshot.snapshot_id), snapshot.model_dump_json(indent=1).encode())

    def read(self, snapshot_id: str) -> Snapshot:
        """One snapshot.

        Raises:
            NotFoundError: There is none of that id.
            CorruptObjectError: It cannot be read.
        """
        key = self._layout.snapshot(snapshot_id)
        try:
            return Snapshot.model_validate_json(self._store.get(key))
        except ValidationError as error:
            raise CorruptObjectError(
                f"The snapshot {key} is unreadable.", remedy="Restore it or build again."
            ) from error

    def ids(self) -> list[str]:
        """Ids of all snapshots, oldest first."""
        cut = len(self._layout.snapshots) + 1
        return [key[cut:].removesuffix(".json") for key in self._store.list(self._layout.snapshots)]

    def all(self) -> list[Snapshot]:
        """All snapshots, oldest first; those that were live in the order of that, whatever clocks said.

        Raises:
            CorruptObjectError: One cannot be read.
        """
        found = {snapshot_id: self.read(snapshot_id) for snapshot_id in self.ids()}
        moment_of = {snapshot_id: snapshot.created_at for snapshot_id, snapshot in found.items()}
        place_of: dict[str, int] = {}
        latest: datetime | None = None
        for move in self.moves():
            if move.snapshot_id in found and move.snapshot_id not in place_of:
                place_of[move.snapshot_id] = move.sequence
                created_at = moment_of[move.snapshot_id]
                latest = created_at if latest is None else max(latest, created_at)
                moment_of[move.snapshot_id] = latest

        def order(snapshot: Snapshot) -> tuple[datetime, int, str]:
            return moment_of[snapshot.snapshot_id], place_of.get(snapshot.snapshot_id, 0), snapshot.snapshot_id

        return sorted(found.values(), key=order)

    def delete(self, snapshot_ids: Iterable[str]) -> None:
        """Remove snapshots; what they refer to stays."""
        self._store.delete([self._layout.snapshot(snapshot_id) for snapshot_id in snapshot_ids])

    def moves(self) -> list[SnapshotPointer]:
        """Where the pointer has stood, oldest first; the last one is where it stands."""
        keys = self._store.list(self._layout.pointer_moves)
        found = {move.sequence: move for move in map(self._archived, keys)}
        current = self.pointer()
        if current is not None:
            found[current.sequence] = current
        return [found[sequence] for sequence in sorted(found)]

    def pointer(self) -> SnapshotPointer | None:
        """Where the pointer stands, None before the first successful build."""
        return self._versioned_pointer()[0]

    def live(self) -> Snapshot | None:
        """The live snapshot, None before the first successful build."""
        pointer = self.pointer()
        return self.read(pointer.snapshot_id) if pointer else None

    def require_live(self) -> Snapshot:
        """The live snapshot.

        Raises:
            NotFoundError: Nothing was built yet.
        """
        snapshot = self.live()
        if snapshot is None:
            name = self._layout.base_name
            raise NotFoundError(
                f"The knowledge base {name!r} has no snapshot in this workspace.",
                remedy="Build it first with `lorebase build RECIPE`, or name the right --workspace.",
            )
        return snapshot

    def move(
        self, snapshot_id: str, *, expected: SnapshotPointer | None, now: datetime, cause: MoveCause = "build"
    ) -> SnapshotPointer:
        """Make a snapshot live, if the pointer still stands where the caller saw it.

        Where it stood is written down first, so that no kill loses a move from the history.

        Raises:
            ConflictError: Somebody else moved it meanwhile; nothing was changed.
        """
        current, version = self._versioned_pointer()
        moved = SnapshotPointer(
            snapshot_id=snapshot_id, moved_at=now, sequence=current.sequence + 1 if current else 1, cause=cause
        )
        if current is not None:
            self._store.put(self._layout.pointer_move(current.sequence), current.model_dump_json(indent=1).encode())
        content = moved.model_dump_json(indent=1).encode()
        if current != expected or not self._store.put_if(self._layout.snapshot_pointer, content, version):
            raise ConflictError(
                f"The live snapshot of {self._layout.base_name!r} was moved by somebody else meanwhile.",
                remedy="Look at `lorebase status`, then start again.",
            )
        return moved

    def _archived(self, key: str) -> SnapshotPointer:
        try:
            return SnapshotPointer.model_validate_json(self._store.get(key))
        except ValidationError as error:
            raise CorruptObjectError(f"The pointer move {key} is unreadable.", remedy="Remove it.") from error

    def _versioned_pointer(self) -> tuple[SnapshotPointer | None, str | None]:
        found = self._store.get_versioned(self._layout.snapshot_pointer)
        if found is None:
            return None, None
        try:
            return SnapshotPointer.model_validate_json(found.content), found.version
        except ValidationError as error:
            key = self._layout.snapshot_pointer
            raise CorruptObjectError(
                f"The pointer {key} is unreadable.", remedy="Restore it or build again."
            ) from error
