"""Rollback: an earlier snapshot made live again, from stored artifacts alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.kinds import (
    CARD_INDEX,
    CHUNKS,
    EMBEDDINGS,
    FAQ_INDEX,
    FULL_TEXT_INDEX,
    VECTOR_INDEX,
    ArtifactKind,
)
from lorebase.artifacts.lease import Lease
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot, SnapshotPointer, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import CorruptObjectError, NotFoundError
from lorebase.index.entries import EntryIndex, entry_kind_of
from lorebase.index.ports import EntityIndex, LexicalIndex, VectorIndex
from lorebase.runs.activation import Activation, Restage, StagedAsset
from lorebase.runs.derived import stage_tables
from lorebase.runs.exclusive import MaintainedWorkspace, exclusive
from lorebase.runs.records import Issue
from lorebase.runs.staging import (
    TEXT_COLLECTION,
    Staging,
    index_of_collection,
    labels_of_rows,
    stage_entries,
    stage_texts,
    stage_vectors,
)

_RowT = TypeVar("_RowT")
_KNOWN_SHOWN = 20


class RollbackResult(BaseModel):
    """How a rollback went.

    Attributes:
        from_snapshot_id: What was live before.
        to_snapshot_id: What is live now.
        moved: Whether the pointer was moved; not where the target was live already.
        staged: Entities written into indexes again, over all indexes.
        repaired: Indexes that had to be brought in line.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    from_snapshot_id: str
    to_snapshot_id: str
    moved: bool
    documents: int
    chunks: int
    queries: tuple[str, ...]
    staged: int
    repaired: tuple[Issue, ...] = ()


async def roll_back(workspace: MaintainedWorkspace, layout: BaseLayout, target_id: str) -> RollbackResult:
    """Make an earlier snapshot live. Readers see the one or the other; a kill at any instant leaves one of them live.

    Args:
        workspace: Where the base is.
        layout: The base.
        target_id: Id of the snapshot, or of the run that made it.

    Raises:
        NotFoundError: There is no such snapshot; names those that there are.
        ConflictError: A build or another operation goes on.
        CorruptObjectError: The target is not whole; the live snapshot is as before.
    """
    snapshots = SnapshotStore(workspace.object_store, layout)
    await asyncio.to_thread(find_snapshot, snapshots, layout, target_id)
    async with exclusive(workspace, layout, "rollback") as lease:
        known = await asyncio.to_thread(snapshots.all)
        target = await asyncio.to_thread(find_snapshot, snapshots, layout, target_id)
        pointer = await asyncio.to_thread(snapshots.pointer)
        live = await asyncio.to_thread(snapshots.require_live)
        return await _Rollback(workspace, layout, lease).run(known, target, live, pointer)


def find_snapshot(snapshots: SnapshotStore, layout: BaseLayout, wanted: str) -> Snapshot:
    """The snapshot of that id, else the newest that the run of that id made.

    Raises:
        NotFoundError: There is none; names those that there are.
    """
    snapshots.require_live()
    known = snapshots.all()
    fitting = [one for one in known if wanted in {one.snapshot_id, one.run_id}]
    if fitting:
        return next((one for one in fitting if one.snapshot_id == wanted), fitting[-1])
    listed = ", ".join(one.snapshot_id for one in reversed(known[-_KNOWN_SHOWN:]))
    raise NotFoundError(
        f"{layout.base_name!r} keeps no snapshot {wanted!r}.",
        remedy=f"Kept, newest first: {listed}. A build that changed nothing makes no snapshot.",
        known=[one.snapshot_id for one in known],
    )


class _Rollback:
    def __init__(self, workspace: MaintainedWorkspace, layout: BaseLayout, lease: Lease) -> None:
        self._workspace = workspace
        self._layout = layout
        self._lease = lease
        self._staged = 0

    async def run(
        self, known: Sequence[Snapshot], target: Snapshot, live: Snapshot, pointer: SnapshotPointer | None
    ) -> RollbackResult:
        manifests = await asyncio.to_thread(self._whole, target)
        before = await asyncio.to_thread(self._manifests, live)
        assets = [
            *self._wanted_assets(target, manifests, live, before),
            *self._unwanted_assets(known, target, live, before),
        ]
        for asset in assets:
            await self._stage_lacking(asset)
        tables = self._workspace.derived_tables
        self._staged += await stage_tables(self._workspace.object_store, self._layout, tables, target.artifacts)
        activation = Activation(self._workspace.object_store, self._layout, assets)
        repaired = await activation.enable()
        moves = target.snapshot_id != live.snapshot_id
        if moves:
            await asyncio.to_thread(self._move, target, pointer)
        await activation.retire()
        return RollbackResult(
            name=self._layout.base_name,
            from_snapshot_id=live.snapshot_id,
            to_snapshot_id=target.snapshot_id,
            moved=moves,
            documents=target.documents,
            chunks=target.chunks,
            queries=target.queries,
            staged=self._staged,
            repaired=tuple(repaired),
        )

    def _move(self, target: Snapshot, pointer: SnapshotPointer | None) -> None:
        self._lease.require_held()
        snapshots = SnapshotStore(self._workspace.object_store, self._layout)
        now = self._workspace.clock.now()
        snapshots.move(target.snapshot_id, expected=pointer, now=now, cause="rollback")

    def _manifests(self, snapshot: Snapshot) -> dict[str, Manifest]:
        store = self._workspace.object_store
        return {name: read_manifest(store, reference) for name, reference in snapshot.artifacts.items()}

    def _whole(self, target: Snapshot) -> dict[str, Manifest]:
        """The manifests of the target, once it is sure that every object of them is there."""
        manifests = self._manifests(target)
        there = set(self._workspace.object_store.list(self._layout.objects))
        for name, manifest in manifests.items():
            for entry in manifest.partitions:
                key = self._layout.object(entry.sha256)
                if key not in there:
                    raise CorruptObjectError(
                        f"The snapshot {target.snapshot_id} is not whole: {key} of {name} is missing.",
                        remedy="Restore the object, or roll back to another snapshot.",
                        key=key,
                    )
        return manifests

    def _wanted_assets(
        self, target: Snapshot, manifests: dict[str, Manifest], live: Snapshot, before: dict[str, Manifest]
    ) -> list[StagedAsset]:
        """The indexes that the target is searched in."""
        assets = []
        for artifact, collection in target.collections.items():
            if artifact not in manifests:
                continue
            index = self._index(collection, target.embedding_dimensions)
            same = live.collections.get(artifact) == collection
            assets.append(
                StagedAsset(
                    step_name=artifact,
                    index=index,
                    kind=_kind(collection),
                    staged=manifests[artifact],
                    live=before.get(artifact) if same else None,
                    restage=self._restager(index, collection, manifests),
                )
            )
        return assets

    def _unwanted_assets(
        self, known: Sequence[Snapshot], target: Snapshot, live: Snapshot, before: dict[str, Manifest]
    ) -> list[StagedAsset]:
        """The indexes of other embedding profiles: nothing of them stays searchable after the pointer has moved."""
        artifact_of = {
            collection: (artifact, snapshot.embedding_dimensions)
            for snapshot in known
            for artifact, collection in snapshot.collections.items()
            if collection not in target.collections.values()
        }
        return [
            StagedAsset(
                step_name=artifact,
                index=self._index(collection, dimensions),
                kind=_kind(collection),
                staged=Manifest(artifact=artifact, step_fingerprint="", partition_count=1, partitions=()),
                live=before.get(artifact) if live.collections.get(artifact) == collection else None,
                restage=_nothing,
            )
            for collection, (artifact, dimensions) in artifact_of.items()
        ]

    def _index(self, collection: str, dimensions: int) -> EntityIndex:
        store, name = self._workspace.index_store, self._layout.base_name
        return index_of_collection(store, name, collection, dimensions=dimensions)

    async def _stage_lacking(self, asset: StagedAsset) -> None:
        """Write what the index lacks of partitions that the live snapshot does not have in the same form."""
        shared = {entry.sha256 for entry in asset.live.partitions} if asset.live else set()
        await asset.restage([entry.index for entry in asset.staged.partitions if entry.sha256 not in shared])

    def _restager(self, index: EntityIndex, collection: str, manifests: dict[str, Manifest]) -> Restage:
        kind = _kind(collection)

        async def restage(indexes: Sequence[int], *, relabels: bool = False) -> None:
            for number in indexes:
                if isinstance(index, EntryIndex):
                    entries = await self._rows(kind, manifests[kind.name].entry(number))
                    self._staged += len(await stage_entries(index, entries, self._layout.base_name))
                    continue
                chunks = await self._rows(CHUNKS, manifests[CHUNKS.name].entry(number))
                labels = labels_of_rows(await self._rows(kind, manifests[kind.name].entry(number)))
                staging = Staging(self._layout.base_name, labels, relabels=relabels)
                if collection == TEXT_COLLECTION:
                    written = await stage_texts(cast("LexicalIndex", index), chunks, staging)
                else:
                    embedded = await self._rows(EMBEDDINGS, manifests[EMBEDDINGS.name].entry(number))
                    vectors = {row.chunk_id: row.vector for row in embedded}
                    written = await stage_vectors(cast("VectorIndex", index), chunks, vectors, staging)
                self._staged += len(written)

        return restage

    async def _rows(self, kind: ArtifactKind[_RowT], entry: PartitionEntry | None) -> list[_RowT]:
        if entry is None:
            return []
        return await asyncio.to_thread(read_partition, self._workspace.object_store, self._layout, kind, entry)


def _kind(collection: str) -> ArtifactKind[Any]:
    entry_kind = entry_kind_of(collection)
    if entry_kind is not None:
        return CARD_INDEX if entry_kind == "cards" else FAQ_INDEX
    return FULL_TEXT_INDEX if collection == TEXT_COLLECTION else VECTOR_INDEX


async def _nothing(indexes: Sequence[int], *, relabels: bool = False) -> None:
    del indexes, relabels
