"""The reconcile command: whatever a killed process left, the index becomes what release rows and manifests say.

It may run at any time beside every other command, and again: a second run finds nothing to do.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from lorebase.errors import (
    IndexMismatchError,
    InvalidStateError,
    NotFoundError,
    RevisionInUseError,
    VersionConflictError,
)
from lorebase.governance.bases import GovernedBase, GovernedBases
from lorebase.governance.chunk_manifest import ManifestEntry, entry_of
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import Revision, RowId
from lorebase.governance.processing import Processing
from lorebase.governance.releases import Releases
from lorebase.governance.revision_index import StoredRevisionIndex, difference_of, fields_of
from lorebase.governance.states import IndexStatus
from lorebase.governance.store import Store, item_of
from lorebase.governance.tables import chunks, items, revisions
from lorebase.governance.visibility import Visibility
from lorebase.index.ports import EntityFields, EntityIndex, Equals, Filter

COMMAND = "RECONCILE_INDEX"
_WITHOUT_ENTITIES = frozenset({IndexStatus.NOT_INDEXED, IndexStatus.INDEX_DELETED})
_IDS_IN_ONE_QUERY = 500

_Held = Mapping[str, EntityFields]


class RepairKind(StrEnum):
    """What was done about a revision."""

    SWITCHED = "SWITCHED"
    """Its entities were enabled or closed, as it is live or not."""

    RESTORED = "RESTORED"
    """Its entities were written again from its manifest, and others removed."""

    REMOVED = "REMOVED"
    """Its entities were removed: it has no index, or there is no such revision."""

    NEEDS_REINDEX = "NEEDS_REINDEX"
    """Nothing: only another run over its original can mend it."""

    REINDEX_REQUESTED = "REINDEX_REQUESTED"
    """A task was made that runs over its original again."""

    @property
    def is_mended(self) -> bool:
        """Whether the revision is in line now."""
        return self not in {RepairKind.NEEDS_REINDEX, RepairKind.REINDEX_REQUESTED}


class Repair(BaseModel):
    """One thing that was out of line."""

    model_config = ConfigDict(frozen=True)

    revision_id: RowId
    kind: RepairKind


class ReconcileReport(BaseModel):
    """What a reconcile command found.

    Attributes:
        revisions: How many revisions it looked at.
        repairs: What was out of line, by revision.
    """

    model_config = ConfigDict(frozen=True)

    base_id: str
    revisions: int
    repairs: tuple[Repair, ...] = ()
    is_clean: bool = Field(description="Whether everything is in line now: nothing needs another run.")


@dataclass(frozen=True, slots=True)
class _Truth:
    """What rows say of the revisions in question."""

    revisions: Mapping[str, Revision]
    entries: Mapping[str, Sequence[ManifestEntry]]
    live: frozenset[int]


class Reconciling:
    """Compares indexes with rows and repairs them.

    Args:
        store: The relational truth.
        releases: Says what is live.
        bases: Opens bases.
        index: Repairs the entities of a revision.
        processing: Makes the tasks that index a revision again.
    """

    def __init__(
        self,
        store: Store,
        releases: Releases,
        bases: GovernedBases,
        index: StoredRevisionIndex,
        processing: Processing,
    ) -> None:
        self._store = store
        self._processing = processing
        self._releases = releases
        self._bases = bases
        self._index = index
        self._visibility = Visibility(releases, index)

    async def reconcile_item(
        self, context: PrincipalContext, item_id: int, *, reason: str = "", reindex: bool = False
    ) -> ReconcileReport:
        """Bring the entities of one item in line.

        Args:
            context: Who asks.
            item_id: The item.
            reason: Why, for the history.
            reindex: Whether tasks are made for revisions that need another run over their original.

        Raises:
            ForbiddenError: The caller may not publish, or not process where tasks are to be made.
            NotFoundError: The organisation has no such item.
            DependencyError: Index, model or database do not answer; what was repaired stays so.
        """
        _require(context, reindex=reindex)
        base_id = await asyncio.to_thread(self._base_of, context, item_id)
        return await self._reconcile(context, base_id, item_id, reason, reindex=reindex)

    async def reconcile_base(
        self, context: PrincipalContext, base_id: str, *, reason: str = "", reindex: bool = False
    ) -> ReconcileReport:
        """Bring all entities of the caller's organisation in a base in line, those of unknown revisions too.

        After a backup was restored this makes the index fit it: rows and originals are what recovery stands on. After
        the recipe was given another embedding model, `reindex` makes the tasks that embed everything again.

        Args:
            context: Who asks.
            base_id: The base.
            reason: As `reconcile_item`.
            reindex: As `reconcile_item`.

        Raises:
            ForbiddenError: As `reconcile_item`.
            DependencyError: As `reconcile_item`.
        """
        _require(context, reindex=reindex)
        return await self._reconcile(context, base_id, None, reason, reindex=reindex)

    async def _reconcile(
        self, context: PrincipalContext, base_id: str, item_id: int | None, reason: str, *, reindex: bool
    ) -> ReconcileReport:
        base = await self._bases.open(base_id)
        where: Filter = (Equals("organ_id", context.organ_id),)
        if item_id is not None:
            where = (*where, Equals("document_id", str(item_id)))
        indexes: list[EntityIndex] = [index for index in (base.vectors(), base.lexical()) if index is not None]
        # The index first, rows second: an entity that is seen has its manifest committed before it.
        held = [_by_revision(await index.fields(where)) for index in indexes]
        truth = await asyncio.to_thread(self._truth, context, base_id, item_id)
        repairs: list[Repair] = []
        for revision_id in sorted({*truth.revisions, *(key for one in held for key in one)}):
            entities = [one.get(revision_id, {}) for one in held]
            if revision_id not in truth.revisions:
                repairs += await _remove_unknown(indexes, where, revision_id, entities)
                continue
            repairs += await self._mend(base, truth, truth.revisions[revision_id], entities)
        if reindex:
            ask = partial(self._with_task, context, truth, reason)
            repairs = [await asyncio.to_thread(ask, repair) for repair in repairs]
        report = ReconcileReport(
            base_id=base_id,
            revisions=len(truth.revisions),
            repairs=tuple(repairs),
            is_clean=all(repair.kind.is_mended for repair in repairs),
        )
        await asyncio.to_thread(self._record, context, item_id, report, reason)
        return report

    async def _mend(
        self, base: GovernedBase, truth: _Truth, revision: Revision, entities: Sequence[_Held]
    ) -> list[Repair]:
        """What a revision needs. One that is being indexed is only closed: its worker does the rest."""
        if revision.index_status in _WITHOUT_ENTITIES:
            if any(entities):
                await self._index.delete(revision)
                return [Repair(revision_id=revision.id, kind=RepairKind.REMOVED)]
            return []
        repairs = []
        if revision.index_status is IndexStatus.INDEXED:
            entries = truth.entries.get(str(revision.id), ())
            wanted = {entry.chunk.chunk_id: fields_of(base.base_id, revision, entry) for entry in entries}
            is_elsewhere = any(entry.embedding_profile != base.profile_id for entry in entries)
            if not wanted or is_elsewhere or any(difference_of(wanted, found) for found in entities):
                kind = await self._restored(revision)
                repairs.append(Repair(revision_id=revision.id, kind=kind))
                if not kind.is_mended:
                    return repairs
        is_live = revision.id in truth.live
        if revision.index_status is not IndexStatus.INDEXED and is_live:
            return repairs  # a live revision that is indexed again shows what it has
        shown = [fields.searchable for found in entities for fields in found.values()]
        if repairs or any(one != is_live for one in shown):
            changed = await self._visibility.settle([revision])
            repairs += [Repair(revision_id=revision.id, kind=RepairKind.SWITCHED)] if changed else []
        return repairs

    async def _restored(self, revision: Revision) -> RepairKind:
        try:
            await self._index.restore(revision)
        except IndexMismatchError:
            return RepairKind.NEEDS_REINDEX
        return RepairKind.RESTORED

    def _with_task(self, context: PrincipalContext, truth: _Truth, reason: str, repair: Repair) -> Repair:
        if repair.kind is not RepairKind.NEEDS_REINDEX:
            return repair
        revision = truth.revisions[str(repair.revision_id)]
        key = f"reconcile-{revision.id}-{revision.version}"
        try:
            self._processing.reindex(context, revision.id, version=revision.version, idempotency_key=key, reason=reason)
        except (InvalidStateError, NotFoundError, RevisionInUseError, VersionConflictError):
            return repair  # somebody is at it, or deleted it
        return Repair(revision_id=revision.id, kind=RepairKind.REINDEX_REQUESTED)

    def _base_of(self, context: PrincipalContext, item_id: int) -> str:
        with self._store.database.reading() as connection:
            return item_of(connection, context, item_id, also_deleted=True).base_id

    def _truth(self, context: PrincipalContext, base_id: str, item_id: int | None) -> _Truth:
        query = (
            select(revisions)
            .join(items, items.c.id == revisions.c.item_id)
            .where(items.c.organ_id == context.organ_id, items.c.base_id == base_id)
        )
        if item_id is not None:
            query = query.where(items.c.id == item_id)
        with self._store.database.reading() as connection:
            found = {str(row.id): Revision.from_row(row) for row in connection.execute(query)}
            entries: dict[str, list[ManifestEntry]] = defaultdict(list)
            ids = [revision.id for revision in found.values()]
            for first in range(0, len(ids), _IDS_IN_ONE_QUERY):
                rows = select(chunks).where(
                    chunks.c.organ_id == context.organ_id,
                    chunks.c.revision_id.in_(ids[first : first + _IDS_IN_ONE_QUERY]),
                    chunks.c.delete_flag == 0,
                )
                for row in connection.execute(rows.order_by(chunks.c.position)):
                    entries[str(row.revision_id)].append(entry_of(row))
        item_ids = sorted({revision.item_id for revision in found.values()})
        live: set[int] = set()
        for first in range(0, len(item_ids), _IDS_IN_ONE_QUERY):
            some = item_ids[first : first + _IDS_IN_ONE_QUERY]
            live |= set(self._releases.active_revision_ids(context.organ_id, some).values())
        return _Truth(found, entries, frozenset(live))

    def _record(self, context: PrincipalContext, item_id: int | None, report: ReconcileReport, reason: str) -> None:
        counts = {str(kind): sum(repair.kind is kind for repair in report.repairs) for kind in RepairKind}
        with self._store.database.transaction() as connection:
            self._store.record(
                connection, context, COMMAND, reason=reason, item_id=item_id,
                facts_json={"base_id": report.base_id, "revisions": report.revisions, "repairs": counts},
            )  # fmt: skip


def _by_revision(fields: Sequence[EntityFields]) -> dict[str, dict[str, EntityFields]]:
    found: dict[str, dict[str, EntityFields]] = defaultdict(dict)
    for one in fields:
        found[one.revision_id][one.chunk_id] = one
    return found


def _require(context: PrincipalContext, *, reindex: bool) -> None:
    context.require(Capability.PUBLISH)
    if reindex:
        context.require(Capability.PROCESS)


async def _remove_unknown(
    indexes: Sequence[EntityIndex], where: Filter, revision_id: str, entities: Sequence[_Held]
) -> list[Repair]:
    if not any(entities):
        return []
    for index in indexes:
        await index.delete((*where, Equals("revision_id", revision_id)))
    return [Repair(revision_id=int(revision_id) if revision_id.isdecimal() else 0, kind=RepairKind.REMOVED)]
