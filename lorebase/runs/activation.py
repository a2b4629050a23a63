"""Making a build live: check what was staged in each index, enable it, move the pointer, disable what it replaces.

Whatever instant a process is killed at, readers see the snapshot before or the one after: they check every candidate
against the pointer's snapshot. What is left half switched is found by the counts and repaired by the next build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from lorebase.artifacts.kinds import ArtifactKind, IndexedChunk
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import BuildFailedError
from lorebase.index.ports import AnyOf, Equals, LexicalIndex, VectorIndex
from lorebase.runs.records import Issue, Subject

IDS_IN_ONE_CALL = 500

Restage = Callable[[Sequence[int]], Awaitable[None]]


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
    index: VectorIndex | LexicalIndex
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
            fresh, retired = await self._differences(asset)
            self._retired.append((asset, retired))
            if not asset.is_staged_searchable:
                await _switch(asset, fresh, searchable=True)
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
        return {name: (len(fresh), len(retired)) for name, (fresh, retired) in found}

    async def _differences(self, asset: StagedAsset) -> tuple[list[str], list[str]]:
        """Ids that only the new build has, and ids that only the live one has; unchanged partitions are not read."""
        new = {entry.index: entry for entry in asset.staged.partitions}
        old = {entry.index: entry for entry in asset.live.partitions} if asset.live else {}
        fresh: list[str] = []
        retired: list[str] = []
        for index in sorted({*new, *old}):
            before, after = old.get(index), new.get(index)
            if before is not None and after is not None and before.sha256 == after.sha256:
                continue
            ids_before = await self._ids(asset, before)
            ids_after = await self._ids(asset, after)
            fresh += sorted(ids_after - ids_before)
            retired += sorted(ids_before - ids_after)
        # A chunk can move between partitions when their number changes; it is then neither fresh nor retired.
        moved = set(fresh) & set(retired)
        return [key for key in fresh if key not in moved], [key for key in retired if key not in moved]

    async def _ids(self, asset: StagedAsset, entry: PartitionEntry | None) -> set[str]:
        if entry is None:
            return set()
        rows = await asyncio.to_thread(read_partition, self._store, self._layout, asset.kind, entry)
        return {row.chunk_id for row in rows}

    async def _repair(self, asset: StagedAsset, retired: Sequence[str], *, found: int, expected: int) -> Issue:
        """Compare the whole index with the manifest, write what is missing, and hide what nobody knows."""
        wanted: set[str] = set()
        lacking: list[int] = []
        present = {fields.chunk_id: fields.searchable for fields in await asset.index.fields(())}
        for entry in asset.staged.partitions:
            ids = await self._ids(asset, entry)
            wanted |= ids
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


async def missing_ids(index: VectorIndex | LexicalIndex, chunk_ids: Sequence[str]) -> set[str]:
    """Those of the ids that the index does not hold."""
    missing = set(chunk_ids)
    for batch in _batches(chunk_ids):
        missing -= {fields.chunk_id for fields in await index.fields((AnyOf("chunk_id", tuple(batch)),))}
    return missing


def _batches(chunk_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(chunk_ids), IDS_IN_ONE_CALL):
        yield chunk_ids[first : first + IDS_IN_ONE_CALL]
