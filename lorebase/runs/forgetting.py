"""Forgetting: one document taken out of every store and every kept snapshot, with the counts that prove it.

What is new is written before the pointer moves to it, and what is old is removed after everything that refers to it, so
that a kill at any instant leaves a whole snapshot live; the next call finds what is left and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.artifacts.erasure import (
    Holding,
    digest_of,
    find_holdings,
    read_manifests,
    rewrite_manifests,
    rewrite_segments,
    write_replacements,
)
from lorebase.artifacts.kinds import CHUNKS, ENTRY_INDEXES, SOURCE_DOCUMENTS, ArtifactKind
from lorebase.artifacts.lease import Lease
from lorebase.artifacts.manifest import ArtifactReference
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import NotFoundError
from lorebase.index.entries import entry_kind_of
from lorebase.index.ports import AnyOf, EntityIndex, Equals
from lorebase.recipes.step_types import step_types
from lorebase.runs.activation import IDS_IN_ONE_CALL
from lorebase.runs.card_decisions import CardDecisionStore
from lorebase.runs.derived import DerivedTables, forget_in_tables, stage_tables, traces_in_tables, used_tables
from lorebase.runs.documents import find_document
from lorebase.runs.exclusive import MaintainedWorkspace, exclusive
from lorebase.runs.forgotten_runs import forget_in_groups, forget_in_runs
from lorebase.runs.reachability import known_collections, known_runs
from lorebase.runs.staging import index_of_collection
from lorebase.runs.traces import find_traces


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ForgottenDocument(_Frozen):
    """That a document was forgotten. Neither its name nor anything it said is in it once it is finished."""

    document_id: str
    started_at: datetime
    finished_at: datetime | None = None
    text_digests: tuple[str, ...] = ()


class RewrittenSnapshot(_Frozen):
    """A snapshot that held the document, and the one that took its place."""

    before: str
    after: str


class ForgetResult(_Frozen):
    """What was removed, and what a search of all that remains has found."""

    name: str
    document_id: str
    document_name: str
    source: str
    rows_removed: dict[str, int]
    entities_removed: dict[str, int]
    snapshots_rewritten: tuple[RewrittenSnapshot, ...]
    objects_deleted: int
    manifests_deleted: int
    ledger_entries_deleted: int
    group_records_changed: int
    run_records_changed: int
    traces: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing of the document remains."""
        return not self.traces


async def forget_document(workspace: MaintainedWorkspace, layout: BaseLayout, wanted: str) -> ForgetResult:
    """Remove one document from every store.

    Other documents keep their chunks, ids, vectors and finished work: the next build calls no model for them.

    Args:
        workspace: Where the base is.
        layout: The base.
        wanted: The document's id, or its name in its source.

    Raises:
        NotFoundError: The base keeps no such document.
        UsageError: Several documents have that name.
        ConflictError: A build or another operation goes on.
        ConfigurationError: Rows of it are of a kind that no installed step reads; nothing was removed.
    """
    async with exclusive(workspace, layout, "forget") as lease:
        document_id, scanned = await asyncio.to_thread(find_document, workspace.object_store, layout, wanted)
        forgetting = _Forgetting(workspace, layout, document_id, lease)
        return await forgetting.run(scanned.name if scanned else "", scanned.source if scanned else "")


class _Forgetting:
    """One call."""

    def __init__(self, workspace: MaintainedWorkspace, layout: BaseLayout, document_id: str, lease: Lease) -> None:
        self._store = workspace.object_store
        self._workspace = workspace
        self._layout = layout
        self._document_id = document_id
        self._lease = lease
        self._snapshots = SnapshotStore(workspace.object_store, layout)
        self._tables: list[DerivedTables] = []

    async def run(self, document_name: str, source: str) -> ForgetResult:
        self._tables = await asyncio.to_thread(used_tables, self._store, self._layout, self._workspace.derived_tables)
        objects, segments = await asyncio.to_thread(self._holdings)
        note = await asyncio.to_thread(self._begin, [*objects, *segments])
        rows = await asyncio.to_thread(self._rows_by_artifact, objects)
        replaced = await asyncio.to_thread(write_replacements, self._store, self._layout, objects)
        references = await asyncio.to_thread(rewrite_manifests, self._store, self._layout, replaced)
        # Before the pointer moves, so that no query has to wait for them.
        await self._stage_tables(references)
        rewritten = await asyncio.to_thread(self._rewrite_snapshots, references)
        chunk_ids = await asyncio.to_thread(self._chunk_ids, objects)
        entry_ids = await asyncio.to_thread(self._entry_ids, objects)
        runs = await asyncio.to_thread(
            forget_in_runs,
            self._store,
            self._layout,
            references=references,
            snapshots={one.before: one.after for one in rewritten},
            subjects={self._document_id, *chunk_ids},
            joined={kind.name for kind in _kinds() if kind.document_ids is not None},
        )
        await asyncio.to_thread(self._snapshots.delete, [one.before for one in rewritten])
        entities = await self._forget_in_indexes(entry_ids)
        entities |= await forget_in_tables(self._tables, self._layout.base_name, self._document_id)
        decisions = CardDecisionStore(self._store, self._layout)
        if forgotten := await asyncio.to_thread(decisions.forget, self._document_id):
            entities["card_decisions"] = forgotten
        groups = await asyncio.to_thread(
            forget_in_groups, self._store, self._layout, objects=set(replaced), subjects={self._document_id, *chunk_ids}
        )
        ledger = await asyncio.to_thread(self._delete_old, objects, segments, references)
        digests = frozenset(note.text_digests)
        traces = await asyncio.to_thread(find_traces, self._store, self._layout, self._document_id, digests)
        traces += await traces_in_tables(self._tables, self._layout.base_name, self._document_id)
        if not traces:
            await asyncio.to_thread(self._finish, note)
        return ForgetResult(
            name=self._layout.base_name,
            document_id=self._document_id,
            document_name=document_name,
            source=source,
            rows_removed=rows,
            entities_removed=entities,
            snapshots_rewritten=tuple(rewritten),
            objects_deleted=len(objects),
            manifests_deleted=len(references),
            ledger_entries_deleted=ledger,
            group_records_changed=groups,
            run_records_changed=runs,
            traces=tuple(traces),
        )

    def _holdings(self) -> tuple[list[Holding], list[Holding]]:
        """Objects and open ledger segments that hold rows of the document."""
        kinds = _kinds()
        segments = [key for key in self._store.list(self._layout.ledgers) if key.endswith(".parquet")]
        return (
            find_holdings(self._store, self._store.list(self._layout.objects), kinds, self._document_id),
            find_holdings(self._store, segments, kinds, self._document_id),
        )

    def _begin(self, holdings: Sequence[Holding]) -> ForgottenDocument:
        """Note what is about to go, so that a call after a kill knows of it: digests, never texts."""
        key = self._layout.forgotten_document(self._document_id)
        found = {digest for holding in holdings for digest in holding.text_digests}
        note = ForgottenDocument(document_id=self._document_id, started_at=self._workspace.clock.now())
        try:
            before = ForgottenDocument.model_validate_json(self._store.get(key))
        except (NotFoundError, ValidationError):
            before = note
        if before.finished_at is None:
            note = before
        note = note.model_copy(update={"text_digests": tuple(sorted(found | set(note.text_digests)))})
        self._store.put(key, note.model_dump_json(indent=1).encode())
        return note

    def _finish(self, note: ForgottenDocument) -> None:
        ended = note.model_copy(update={"finished_at": self._workspace.clock.now(), "text_digests": ()})
        self._store.put(self._layout.forgotten_document(self._document_id), ended.model_dump_json(indent=1).encode())

    def _rows_by_artifact(self, objects: Sequence[Holding]) -> dict[str, int]:
        """Rows of the document by artifact; an object that two artifacts share counts for both."""
        by_digest = {holding.sha256: holding for holding in objects}
        named: dict[str, set[str]] = {}
        for manifest in read_manifests(self._store, self._layout).values():
            digests = {entry.sha256 for entry in manifest.partitions} & by_digest.keys()
            named.setdefault(manifest.artifact, set()).update(digests)
        for digest in by_digest.keys() - {digest for digests in named.values() for digest in digests}:
            named.setdefault(by_digest[digest].kind.name, set()).add(digest)
        counts = {artifact: sum(by_digest[digest].removed for digest in digests) for artifact, digests in named.items()}
        return {artifact: counts[artifact] for artifact in sorted(counts) if counts[artifact]}

    def _chunk_ids(self, objects: Sequence[Holding]) -> set[str]:
        """Ids of the document's chunks, which issues name."""
        found: set[str] = set()
        for holding in objects:
            if holding.kind.name == CHUNKS.name:
                rows = CHUNKS.decode(self._store.get(holding.key))
                found |= {chunk.chunk_id for chunk in rows if chunk.document_id == self._document_id}
        return found

    def _entry_ids(self, objects: Sequence[Holding]) -> set[str]:
        """Keys in the index of everything that was made of the document and of others."""
        found: set[str] = set()
        for holding in objects:
            if holding.kind in ENTRY_INDEXES:
                rows = holding.kind.decode(self._store.get(holding.key))
                found |= {row.chunk_id for row in rows if holding.kind.is_about(row, self._document_id)}
        return found

    def _rewrite_snapshots(self, references: dict[str, ArtifactReference]) -> list[RewrittenSnapshot]:
        """Write a new snapshot for each that held the document; readers follow the pointer to the live one."""
        rewritten = []
        for snapshot in self._snapshots.all():
            if not any(reference.manifest_key in references for reference in snapshot.artifacts.values()):
                continue
            new = _rewritten(snapshot, references)
            self._snapshots.write(new)
            pointer = self._snapshots.pointer()
            if pointer is not None and pointer.snapshot_id == snapshot.snapshot_id:
                self._lease.require_held()
                now = self._workspace.clock.now()
                self._snapshots.move(new.snapshot_id, expected=pointer, now=now, cause="forget")
            rewritten.append(RewrittenSnapshot(before=snapshot.snapshot_id, after=new.snapshot_id))
        return rewritten

    async def _forget_in_indexes(self, entry_ids: set[str]) -> dict[str, int]:
        """Delete the document's entities, searchable or not, from every index that the base has filled."""
        runs = await asyncio.to_thread(known_runs, self._store, self._layout)
        snapshots = await asyncio.to_thread(self._snapshots.all)
        counts = {}
        for name, dimensions in known_collections(snapshots, runs.all).items():
            index = index_of_collection(
                self._workspace.index_store, self._layout.base_name, name, dimensions=dimensions
            )
            counts[name] = await index.delete((Equals("document_id", self._document_id),))
            if entry_kind_of(name) is not None:
                counts[name] += await _delete_entries(index, sorted(entry_ids))
        return counts

    async def _stage_tables(self, references: dict[str, ArtifactReference]) -> None:
        """Make the tables of the rewritten artifacts that the live snapshot will name."""
        live = await asyncio.to_thread(self._snapshots.live)
        old = live.artifacts if live else {}
        artifacts = {name: references.get(reference.manifest_key, reference) for name, reference in old.items()}
        await stage_tables(self._store, self._layout, self._tables, artifacts)

    def _delete_old(
        self, objects: Sequence[Holding], segments: Sequence[Holding], references: dict[str, ArtifactReference]
    ) -> int:
        """Delete old manifests, then ledger entries, then old objects. Returns how many ledger entries went.

        Replies of chat models do not say what they were about, so all of them go: what they were paid for is in the
        ledgers of the steps.
        """
        self._lease.require_held()
        self._store.delete(self._store.list(self._layout.calls))
        self._store.delete(references)
        rewrite_segments(self._store, segments)
        old = {holding.sha256 for holding in objects}
        keys = [key for key in self._store.list(self._layout.ledgers) if digest_of(key) in old]
        self._store.delete(keys)
        self._store.delete([holding.key for holding in objects])
        in_ledgers = {digest_of(key) for key in keys}
        sealed = sum(holding.removed for holding in objects if holding.sha256 in in_ledgers)
        return sealed + sum(segment.removed for segment in segments)


async def _delete_entries(index: EntityIndex, entry_ids: Sequence[str]) -> int:
    batches = range(0, len(entry_ids), IDS_IN_ONE_CALL)
    ids = [tuple(entry_ids[first : first + IDS_IN_ONE_CALL]) for first in batches]
    return sum([await index.delete((AnyOf("chunk_id", batch),)) for batch in ids])


def _kinds() -> list[ArtifactKind[Any]]:
    """Every kind of artifact that an installed step reads or makes."""
    kinds: dict[str, ArtifactKind[Any]] = {SOURCE_DOCUMENTS.name: SOURCE_DOCUMENTS}
    for step in step_types().values():
        kinds |= {kind.name: kind for kind in (*step.reads(), step.produces)}
    return list(kinds.values())


def _rewritten(snapshot: Snapshot, references: dict[str, ArtifactReference]) -> Snapshot:
    """The snapshot without the document: `RUN` becomes `RUN.1`, `RUN.1` becomes `RUN.2`."""
    artifacts = {name: references.get(old.manifest_key, old) for name, old in snapshot.artifacts.items()}
    run_id, _, number = snapshot.snapshot_id.partition(".")
    documents, chunks = artifacts.get(SOURCE_DOCUMENTS.name), artifacts.get(CHUNKS.name)
    return snapshot.model_copy(
        update={
            "snapshot_id": f"{run_id}.{int(number or 0) + 1}",
            "artifacts": artifacts,
            "documents": documents.rows if documents else 0,
            "chunks": chunks.rows if chunks else 0,
        }
    )
