"""What of a base must stay: snapshots, runs, and everything that they and the next build need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from lorebase.artifacts.kinds import CHUNKS, ENTRY_INDEXES, FULL_TEXT_INDEX, VECTOR_INDEX, ArtifactKind
from lorebase.artifacts.manifest import read_partition
from lorebase.artifacts.retention import Reachable, kept_snapshots
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import NotFoundError
from lorebase.runs.groups import GroupRecord
from lorebase.runs.journal import RunJournal
from lorebase.runs.records import RecipeRunRecord
from lorebase.runs.staging import TEXT_COLLECTION

_INDEX_KINDS: tuple[ArtifactKind[Any], ...] = (VECTOR_INDEX, FULL_TEXT_INDEX, *ENTRY_INDEXES)


@dataclass(frozen=True)
class KnownRuns:
    """The runs of a base.

    Attributes:
        all: Every run with a readable state, oldest first, and the latest one last whatever its clock said.
        latest: The one that was started last; None where there was none.
        unfinished: Those after the last one that succeeded: the next build goes on from their work.
    """

    all: tuple[RecipeRunRecord, ...]
    latest: RecipeRunRecord | None
    unfinished: tuple[RecipeRunRecord, ...]

    @property
    def needed(self) -> tuple[RecipeRunRecord, ...]:
        """Runs that the next build goes on from."""
        return tuple({run.run_id: run for run in (*self.unfinished, *([self.latest] if self.latest else []))}.values())

    @property
    def is_latest_unended(self) -> bool:
        """Whether the latest run never ended: what was written since it began may be its work."""
        return self.latest is not None and self.latest.status == "running"


def known_runs(store: ObjectStore, layout: BaseLayout) -> KnownRuns:
    """Read the states of all runs. Blocking."""
    journal = RunJournal(store, layout)
    found: list[RecipeRunRecord] = []
    for run_id in journal.run_ids():
        try:
            found.append(journal.read(run_id))
        except NotFoundError:  # a kill left the record of a run whose state is gone
            continue
    latest_id = journal.latest_run_id()
    latest = next((run for run in found if run.run_id == latest_id), found[-1] if found else None)
    found.sort(key=lambda run: run is latest)  # ids sort by the clocks of builders, which need not agree
    succeeded = [place for place, run in enumerate(found) if run.status == "succeeded"]
    return KnownRuns(tuple(found), latest, tuple(found[succeeded[-1] + 1 if succeeded else 0 :]))


@dataclass(frozen=True)
class Marks:
    """What stays.

    Attributes:
        snapshots: Those that stay, oldest first.
        removed_snapshots: Those that do not.
        runs: Every run, and which of them the next build needs.
        run_ids: Runs that stay.
        reachable: Manifests and objects that stay.
        records: Group records that stay, by key, with the partitions that stay of them.
        changed_records: Those of all group records that lose partitions, or all of them.
        step_fingerprints: Steps whose unfinished work stays.
    """

    snapshots: tuple[Snapshot, ...]
    removed_snapshots: tuple[Snapshot, ...]
    runs: KnownRuns
    run_ids: frozenset[str]
    reachable: Reachable
    records: dict[str, GroupRecord]
    changed_records: frozenset[str]
    step_fingerprints: frozenset[str]


def mark(store: ObjectStore, layout: BaseLayout, *, keep: int) -> Marks:
    """Find out what stays when the live snapshot and the last `keep` are kept. Blocking.

    Raises:
        NotFoundError: The base has neither a snapshot nor a run.
        CorruptObjectError: A kept snapshot is not whole: without it nobody can say what it needs.
    """
    snapshots = SnapshotStore(store, layout)
    every = snapshots.all()
    runs = known_runs(store, layout)
    if not every and not runs.all:
        snapshots.require_live()
    pointer = snapshots.pointer()
    kept = kept_snapshots(every, pointer.snapshot_id if pointer else None, keep=keep)
    kept_ids = {snapshot.snapshot_id for snapshot in kept}
    reachable = Reachable()
    for snapshot in kept:
        reachable.add(store, snapshot.artifacts.values(), required=True)
    for run in runs.needed:
        reachable.add(store, run.artifacts.values(), required=False)
        for step in run.step_records:
            reachable.add(store, (*step.input_artifacts, *step.output_artifacts), required=False)
    unfinished = frozenset(step.step_fingerprint for run in runs.unfinished for step in run.step_records) - {""}
    found = _group_records(store, layout)
    for record in found.values():
        if record.step_fingerprint in unfinished:
            reachable.objects |= {result.entry.sha256 for result in record.partitions}
    trimmed = {key: trimmed_record(record, reachable.objects) for key, record in found.items()}
    last = [run.run_id for run in runs.all[max(len(runs.all) - keep, 0) :]]
    return Marks(
        snapshots=tuple(kept),
        removed_snapshots=tuple(snapshot for snapshot in every if snapshot.snapshot_id not in kept_ids),
        runs=runs,
        run_ids=frozenset([*last, *(one.run_id for one in kept), *(run.run_id for run in runs.needed)]),
        reachable=reachable,
        records={key: record for key, record in trimmed.items() if record.partitions},
        changed_records=frozenset(key for key, record in trimmed.items() if record != found[key]),
        step_fingerprints=unfinished,
    )


def trimmed_record(record: GroupRecord, objects: set[str]) -> GroupRecord:
    """A group record without the partitions whose objects do not stay: the others stay finished."""
    partitions = tuple(result for result in record.partitions if result.entry.sha256 in objects)
    return record.model_copy(update={"partitions": partitions})


def _group_records(store: ObjectStore, layout: BaseLayout) -> dict[str, GroupRecord]:
    """All readable group records; the next build does again what an unreadable one stood for."""
    found = {}
    for key in store.list(layout.finished):
        try:
            found[key] = GroupRecord.model_validate_json(store.get(key))
        except (NotFoundError, ValidationError):
            continue
    return found


@dataclass(frozen=True)
class CollectionUse:
    """A collection of the index.

    Attributes:
        name: As in snapshots.
        dimensions: Width of its vectors, 0 where nothing says it.
        chunk_ids: Entities that stay; None where nothing that stays uses the collection.
    """

    name: str
    dimensions: int
    chunk_ids: frozenset[str] | None


def collection_uses(store: ObjectStore, layout: BaseLayout, marks: Marks) -> list[CollectionUse]:
    """Every collection that a snapshot or a run has named, and which of its entities stay. Blocking."""
    dimensions = known_collections((*marks.removed_snapshots, *marks.snapshots), marks.runs.all)
    used = {TEXT_COLLECTION, *(name for run in marks.runs.needed for name in _collections_of(run))}
    staged: set[str] = set()
    for run in marks.runs.needed:
        kinds = _INDEX_KINDS if run.status == "succeeded" else (*_INDEX_KINDS, CHUNKS)
        for kind in kinds:
            reference = run.artifacts.get(kind.name)
            staged |= _chunk_ids(store, layout, marks, kind, reference.manifest_key if reference else "")
    uses = []
    for name, width in dimensions.items():
        ids = set(staged)
        users = [snapshot for snapshot in marks.snapshots if name in snapshot.collections.values()]
        for snapshot in users:
            for kind in _INDEX_KINDS:
                if snapshot.collections.get(kind.name) == name and kind.name in snapshot.artifacts:
                    ids |= _chunk_ids(store, layout, marks, kind, snapshot.artifacts[kind.name].manifest_key)
        uses.append(CollectionUse(name, width, frozenset(ids) if users or name in used else None))
    return uses


def known_collections(snapshots: Iterable[Snapshot], runs: Iterable[RecipeRunRecord]) -> dict[str, int]:
    """Every collection that a snapshot or a run has named, with the width of its vectors, 0 where nothing says it."""
    dimensions = {TEXT_COLLECTION: 0}
    for run in runs:
        dimensions |= dict.fromkeys(_collections_of(run), 0)
    for snapshot in snapshots:
        dimensions |= dict.fromkeys(snapshot.collections.values(), snapshot.embedding_dimensions)
    return dimensions


def _collections_of(run: RecipeRunRecord) -> Sequence[str]:
    return [step.identity["collection"] for step in run.step_records if step.identity.get("collection")]


def _chunk_ids(
    store: ObjectStore,
    layout: BaseLayout,
    marks: Marks,
    kind: ArtifactKind[Any],
    manifest_key: str,
) -> set[str]:
    manifest = marks.reachable.manifests.get(manifest_key)
    return {
        row.chunk_id
        for entry in (manifest.partitions if manifest else ())
        for row in read_partition(store, layout, kind, entry)
    }
