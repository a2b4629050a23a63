"""Cleaning up: removing what no kept snapshot and no unfinished run needs, in an order that leaves nothing dangling."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.lease import Lease
from lorebase.artifacts.retention import Freed
from lorebase.artifacts.store import BaseLayout, ObjectEntry
from lorebase.index.entries import parts_of
from lorebase.index.ports import AnyOf, EntityIndex
from lorebase.runs.activation import IDS_IN_ONE_CALL
from lorebase.runs.derived import DerivedTables, unneeded_tables, used_tables
from lorebase.runs.exclusive import MaintainedWorkspace, exclusive
from lorebase.runs.reachability import CollectionUse, Marks, collection_uses, mark
from lorebase.runs.staging import index_of_collection

DEFAULT_KEEP = 5
LEFTOVER_AGE = timedelta(hours=1)
"""What writers have begun may be under way for so long."""

_KEYS_IN_ONE_CALL = 500
_SWEEP_ORDER = (
    "snapshots",
    "run_records",
    "run_states",
    "group_records",
    "manifests",
    "prefect_results",
    "ledger_keys",
    "ledger_segments",
    "model_replies",
    "objects",
    "temporary_files",
)
"""What refers to a thing goes before the thing. A run's record goes before its state, by which the run is listed."""


class FreedEntities(BaseModel):
    """Index entities that were removed from a collection, or would be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    collection: str
    entities: int
    dropped: bool


class CleaningReport(BaseModel):
    """What was freed, or would be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    applied: bool
    kept_snapshots: tuple[str, ...]
    removed_snapshots: tuple[str, ...]
    removed_runs: int
    freed: tuple[Freed, ...]
    freed_count: int
    freed_bytes: int
    index: tuple[FreedEntities, ...]


async def clean_up(
    workspace: MaintainedWorkspace,
    layout: BaseLayout,
    *,
    keep: int = DEFAULT_KEEP,
    apply: bool = False,
    leftover_age: timedelta = LEFTOVER_AGE,
) -> CleaningReport:
    """Remove what the live snapshot, the last `keep` snapshots and the latest runs do not need.

    A kill at any instant leaves every kept snapshot whole, and the next call removes the rest.

    Args:
        workspace: Where the base is.
        layout: The base.
        keep: How many of the last snapshots stay, besides the live one.
        apply: Whether to remove; otherwise it only says what it would remove.
        leftover_age: How old, by the store's clock, half-written files and uncompleted uploads must be to go.

    Raises:
        NotFoundError: The workspace does not know the base.
        ConflictError: A build or another operation goes on.
        CorruptObjectError: A kept snapshot is not whole; nothing was removed.
    """
    store = workspace.object_store
    async with exclusive(workspace, layout, "gc") as lease:
        marks = await asyncio.to_thread(mark, store, layout, keep=keep)
        uses = await asyncio.to_thread(collection_uses, store, layout, marks)
        doomed = await asyncio.to_thread(_doomed, workspace, layout, marks, leftover_age)
        # The index first: a snapshot that is still there can be staged again, one that is gone names no collection.
        index = [
            found for use in uses if (found := await _clean_index(workspace, layout, use, apply=apply)) is not None
        ]
        for tables in await asyncio.to_thread(used_tables, store, layout, workspace.derived_tables):
            index += await _clean_tables(tables, layout, marks, apply=apply)
        if apply:
            await asyncio.to_thread(_sweep, workspace, marks, doomed, lease)
    freed = tuple(Freed.of(kind, doomed[kind]) for kind in _SWEEP_ORDER)
    return CleaningReport(
        name=layout.base_name,
        applied=apply,
        kept_snapshots=tuple(snapshot.snapshot_id for snapshot in marks.snapshots),
        removed_snapshots=tuple(snapshot.snapshot_id for snapshot in marks.removed_snapshots),
        removed_runs=len(doomed["run_states"]),
        freed=freed,
        freed_count=sum(one.count for one in freed),
        freed_bytes=sum(one.size_bytes for one in freed),
        index=tuple(index),
    )


async def _clean_index(
    workspace: MaintainedWorkspace, layout: BaseLayout, use: CollectionUse, *, apply: bool
) -> FreedEntities | None:
    """Remove entities that nothing kept knows, or the whole collection; None where there is nothing to do."""
    index = index_of_collection(workspace.index_store, layout.base_name, use.name, dimensions=use.dimensions)
    if use.chunk_ids is None:
        entities = max([await part.count(()) for part in parts_of(index)])
        if apply:
            await index.drop()
    else:
        held = {fields.chunk_id for part in parts_of(index) for fields in await part.fields(())}
        unknown = sorted(held - use.chunk_ids)
        entities = len(unknown)
        if apply:
            await _delete_entities(index, unknown)
    return FreedEntities(collection=use.name, entities=entities, dropped=use.chunk_ids is None) if entities else None


async def _clean_tables(tables: DerivedTables, layout: BaseLayout, marks: Marks, *, apply: bool) -> list[FreedEntities]:
    """Remove tables that nothing kept names; none of them can be asked for any more."""
    needed = [*(one.artifacts for one in marks.snapshots), *(run.artifacts for run in marks.runs.needed)]
    unneeded = await unneeded_tables(tables, layout.base_name, needed)
    rows = await tables.rows(layout.base_name, unneeded)
    if apply:
        await tables.remove(layout.base_name, unneeded)
    return [FreedEntities(collection=tables.kind.name, entities=rows, dropped=False)] if unneeded else []


async def _delete_entities(index: EntityIndex, chunk_ids: Sequence[str]) -> None:
    for first in range(0, len(chunk_ids), IDS_IN_ONE_CALL):
        await index.delete((AnyOf("chunk_id", tuple(chunk_ids[first : first + IDS_IN_ONE_CALL])),))


def _doomed(
    workspace: MaintainedWorkspace, layout: BaseLayout, marks: Marks, leftover_age: timedelta
) -> dict[str, list[ObjectEntry]]:
    """What goes, by kind."""
    store = workspace.object_store
    doomed: dict[str, list[ObjectEntry]] = defaultdict(list)
    judge = _Judge(layout, marks)
    ours = store.entries(layout.prefix)
    # Ages are told by the store's clock alone: the latest run's pointer was written when it began, our lease just now.
    began = next((entry.modified_at for entry in ours if entry.key == layout.latest_run), None)
    since = began if marks.runs.is_latest_unended else None
    for entry in (*ours, *store.entries(layout.prefect_results)):
        kind = judge.doom(entry.key)
        if kind and (since is None or entry.modified_at < since):
            doomed[kind].append(entry)
    oldest = max(entry.modified_at for entry in ours) - leftover_age
    leftovers = (*store.leftovers(layout.prefix), *store.leftovers(layout.prefect_results))
    doomed["temporary_files"] = [entry for entry in leftovers if entry.modified_at < oldest]
    return doomed


class _Judge:
    """Says of a key whether it goes, and as what kind."""

    def __init__(self, layout: BaseLayout, marks: Marks) -> None:
        self._layout = layout
        self._marks = marks
        self._removed_snapshots = {layout.snapshot(snapshot.snapshot_id) for snapshot in marks.removed_snapshots}
        self._group_keys = {record.group_key for record in marks.records.values()}
        self._by_folder = (
            (layout.snapshots, self._snapshot),
            (layout.runs, self._run),
            (layout.finished, self._group_record),
            (layout.manifests, self._manifest),
            (layout.ledgers, self._ledger),
            (layout.objects, self._object),
            (layout.calls, self._reply),
            (layout.prefect_results, self._prefect_result),
        )

    def doom(self, key: str) -> str:
        """The kind under which the key goes; empty where it stays."""
        return next((judge(key) for folder, judge in self._by_folder if key.startswith(f"{folder}/")), "")

    def _snapshot(self, key: str) -> str:
        return "snapshots" if key in self._removed_snapshots else ""

    def _run(self, key: str) -> str:
        run_id = key.removeprefix(f"{self._layout.runs}/").partition("/")[0]
        if run_id in self._marks.run_ids:
            return ""
        return "run_states" if key == self._layout.run_state(run_id) else "run_records"

    def _group_record(self, key: str) -> str:
        return "" if key in self._marks.records else "group_records"

    def _manifest(self, key: str) -> str:
        return "" if key in self._marks.reachable.manifests else "manifests"

    def _ledger(self, key: str) -> str:
        step_fingerprint, _, rest = key.removeprefix(f"{self._layout.ledgers}/").partition("/")
        if rest.startswith("open/"):
            return "" if step_fingerprint in self._marks.step_fingerprints else "ledger_segments"
        return "" if rest.removeprefix("keys/") in self._marks.reachable.objects else "ledger_keys"

    def _object(self, key: str) -> str:
        digest = key.rpartition("/")[2].removesuffix(".parquet")
        return "" if digest in self._marks.reachable.objects else "objects"

    def _reply(self, key: str) -> str:
        del key
        return "model_replies"  # only an unfinished build needs them, and what is younger than one stays anyway

    def _prefect_result(self, key: str) -> str:
        return "" if key.rpartition("/")[2].partition(".")[0] in self._group_keys else "prefect_results"


def _sweep(workspace: MaintainedWorkspace, marks: Marks, doomed: dict[str, list[ObjectEntry]], lease: Lease) -> None:
    """Remove what goes, kind by kind, while the lease is held."""
    store = workspace.object_store
    for kind in _SWEEP_ORDER:
        if kind == "group_records":
            lease.require_held()
            for key in sorted(marks.changed_records & marks.records.keys()):
                store.put(key, marks.records[key].model_dump_json(exclude_defaults=True).encode())
        for keys in _batches([entry.key for entry in doomed[kind]]):
            lease.require_held()
            store.delete(keys)


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(keys), _KEYS_IN_ONE_CALL):
        yield keys[first : first + _KEYS_IN_ONE_CALL]
