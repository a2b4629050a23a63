"""Making a build live: check what was staged in each index, enable it, move the pointer, disable what it replaces.

Whatever instant a process is killed at, readers see the snapshot before or the one after: they check every candidate
against the pointer's snapshot. What is left half switched is found by the counts and repaired by the next build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from lorebase.artifacts.kinds import ArtifactKind, IndexedChunk
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import BuildFailedError
from lorebase.index.ports import AnyOf, EntityFields, EntityIndex, Equals
from lorebase.runs.records import Issue, Subject

IDS_IN_ONE_CALL = 500

_Labels: TypeAlias = tuple[str, tuple[str, ...]]


class Restage(Protocol):
    """Writes the entities of some partitions into an index again."""

    async def __call__(self, indexes: Sequence[int], *, relabels: bool = False) -> None:
        """Write what the index lacks of these partitions.

        Args:
            indexes: Numbers of the partitions.
            relabels: Whether type and tags of entities that searches return are brought in line too.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Differences:
    """How the new build's entities differ from the live ones.

    Attributes:
        fresh: Ids that only the new build has.
        retired: Ids that only the live snapshot has.
        relabelled: Partitions of the new build with entities that both have, with another type or other tags.
    """

    fresh: list[str]
    retired: list[str]
    relabelled: list[int]


@dataclass(frozen=True)
class StagedAsset:
    """An index with what the new build has staged in it.

    Attributes:
        step_name: The step that staged it.
        index: The index.
        kind: Kind of the artifact that lists its entities.
        staged: Manifest of what the new build wants searchable.
        live: Manifest of what the live snapshot has searchable in the same collection; None where there is none.
        restage: Writes the entities of some partitions again.
        is_staged_searchable: Whether staged entities are searchable from the start, as in the first build of a base.
    """

    step_name: str
    index: EntityIndex
    kind: ArtifactKind[IndexedChunk]
    staged: Manifest
    live: Manifest | None
    restage: Restage
    is_staged_searchable: bool = False


class Activation:
    """The switch from one snapshot to the next for all indexes of a base."""

    def __init__(self, store: ObjectStore, layout: BaseLayout, assets: Sequence[StagedAsset]) -> None:
        self._store = store
        self._layout = layout
        self._assets = assets
        self._retired: list[tuple[StagedAsset, list[str]]] = []

    async def enable(self) -> list[Issue]:
        """Make everything of the new build searchable, beside what is live.

        Returns:
            An issue for each index that had to be repaired.

        Raises:
            BuildFailedError: An index does not hold what was staged, and staging it again did not help.
        """
        issues = []
        for asset in self._assets:
            differences = await self._differences(asset)
            retired = differences.retired
            self._retired.append((asset, retired))
            if differences.relabelled:
                await asset.restage(differences.relabelled, relabels=True)
            if not asset.is_staged_searchable:
                await _switch(asset, differences.fresh, searchable=True)
            expected = asset.staged.rows + len(retired)
            found = await asset.index.count((Equals("searchable", value=True),))
            if found != expected:
                issues.append(await self._repair(asset, retired, found=found, expected=expected))
        return issues

    async def retire(self) -> None:
        """Take what the pointer no longer names out of the searches."""
        for asset, retired in self._retired:
            await _switch(asset, retired, searchable=False)

    async def differences(self) -> dict[str, tuple[int, int]]:
        """How many chunks would become searchable and how many would cease to be, by step; nothing is changed."""
        found = [(asset.step_name, await self._differences(asset)) for asset in self._assets]
        return {name: (len(one.fresh), len(one.retired)) for name, one in found}

    async def _differences(self, asset: StagedAsset) -> _Differences:
        """What has to be switched; unchanged partitions are not read."""
        new = {entry.index: entry for entry in asset.staged.partitions}
        old = {entry.index: entry for entry in asset.live.partitions} if asset.live else {}
        before_by_id: dict[str, _Labels] = {}
        after_by_id: dict[str, _Labels] = {}
        place: dict[str, int] = {}
        for index in sorted({*new, *old}):
            before, after = old.get(index), new.get(index)
            if before is not None and after is not None and before.sha256 == after.sha256:
                continue
            before_by_id |= await self._labels(asset, before)
            labels = await self._labels(asset, after)
            after_by_id |= labels
            place |= dict.fromkeys(labels, index)
        # A chunk can move between partitions when their number changes; it is then neither fresh nor retired.
        both = after_by_id.keys() & before_by_id.keys()
        return _Differences(
            fresh=[key for key in after_by_id if key not in both],
            retired=[key for key in before_by_id if key not in both],
            relabelled=sorted({place[key] for key in both if after_by_id[key] != before_by_id[key]}),
        )

    async def _labels(self, asset: StagedAsset, entry: PartitionEntry | None) -> dict[str, _Labels]:
        """Type and tags of the entities of a partition, by rising chunk id."""
        if entry is None:
            return {}
        rows = await asyncio.to_thread(read_partition, self._store, self._layout, asset.kind, entry)
        return {row.chunk_id: (row.source_type, row.tags) for row in sorted(rows, key=lambda row: row.chunk_id)}

    async def _repair(self, asset: StagedAsset, retired: Sequence[str], *, found: int, expected: int) -> Issue:
        """Compare the whole index with the manifest, write what is missing, and hide what nobody knows."""
        wanted: set[str] = set()
        lacking: list[int] = []
        present = {fields.chunk_id: fields.searchable for fields in await asset.index.fields(())}
        for entry in asset.staged.partitions:
            ids = await self._labels(asset, entry)
            wanted |= ids.keys()
            if any(key not in present for key in ids):
                lacking.append(entry.index)
        if lacking:
            await asset.restage(lacking)
        allowed = wanted | set(retired)
        await _switch(asset, sorted(key for key, on in present.items() if on and key not in allowed), searchable=False)
        await _switch(asset, sorted(key for key in wanted if not present.get(key, False)), searchable=True)
        after = await asset.index.count((Equals("searchable", value=True),))
        kept = sum(1 for key in retired if present.get(key, False))
        if after != len(wanted) + kept:
            raise BuildFailedError(
                f"The index of {asset.step_name} has {after} searchable chunks where {len(wanted) + kept} were staged.",
                remedy="Build again; if it stays, delete the index and build again: it is made from stored artifacts.",
                code="INDEX_MISMATCH",
            )
        return Issue(
            code="INDEX_REPAIRED",
            severity="info",
            subject=Subject(kind="index", id=asset.kind.name),
            message=f"The index held {found} searchable chunks where {expected} were expected; it was brought in line.",
            step=asset.step_name,
            details={"found": found, "expected": expected, "partitions_written_again": len(lacking)},
        )


async def _switch(asset: StagedAsset, chunk_ids: Sequence[str], *, searchable: bool) -> None:
    for batch in _batches(chunk_ids):
        await asset.index.set_searchable(batch, searchable=searchable)


async def fields_by_id(index: EntityIndex, chunk_ids: Sequence[str]) -> dict[str, EntityFields]:
    """The fields of those of the ids that the index holds."""
    found: dict[str, EntityFields] = {}
    for batch in _batches(chunk_ids):
        found |= {fields.chunk_id: fields for fields in await index.fields((AnyOf("chunk_id", tuple(batch)),))}
    return found


def _batches(chunk_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(chunk_ids), IDS_IN_ONE_CALL):
        yield chunk_ids[first : first + IDS_IN_ONE_CALL]
