"""Derived tables: rows of an artifact written into a database for queries, under the digest of what they were made of.

The artifact is the truth. Tables of one content are written once, whole or not at all, and never changed, so a snapshot
that names the artifact has its tables, whichever snapshot is live; what is missing is made again from the artifact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.artifacts.manifest import ArtifactReference, read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore


class DerivedTables(Protocol):
    """Tables made of artifacts of one kind."""

    @property
    def kind(self) -> ArtifactKind[Any]:
        """What they are made of."""
        ...

    async def holds(self, base_name: str, content_key: str) -> bool:
        """Whether the tables of that content are there, whole."""
        ...

    async def write(self, base_name: str, content_key: str, rows: Sequence[Any]) -> None:
        """Make the tables of a content, whole or not at all; where they are there, nothing is changed.

        Raises:
            UnavailableError: The database does not answer.
        """
        ...

    async def content_keys(self, base_name: str) -> list[str]:
        """Contents that have tables, sorted."""
        ...

    async def content_keys_of_document(self, base_name: str, document_id: str) -> dict[str, int]:
        """Contents whose tables say something of a document, with how many rows do."""
        ...

    async def remove(self, base_name: str, content_keys: Iterable[str]) -> int:
        """Remove the tables of contents. Returns how many rows went."""
        ...

    async def rows(self, base_name: str, content_keys: Iterable[str]) -> int:
        """How many rows the tables of contents have together."""
        ...

    async def close(self) -> None:
        """Give the connections back; they can be used again afterwards and then open anew."""
        ...


async def stage_tables(
    store: ObjectStore, layout: BaseLayout, tables: Iterable[DerivedTables], artifacts: Mapping[str, ArtifactReference]
) -> int:
    """Make the tables that a snapshot with these artifacts needs, where they are missing.

    Returns:
        How many rows of artifacts were written into tables.
    """
    written = 0
    for one in tables:
        reference = artifacts.get(one.kind.name)
        if reference is None or await one.holds(layout.base_name, reference.fingerprint):
            continue
        rows = await asyncio.to_thread(_rows, store, layout, one.kind, reference)
        await one.write(layout.base_name, reference.fingerprint, rows)
        written += len(rows)
    return written


def used_tables(store: ObjectStore, layout: BaseLayout, tables: Iterable[DerivedTables]) -> list[DerivedTables]:
    """Those whose artifact the base has made: the others are not asked, because to open a database makes it."""
    return [one for one in tables if store.list(f"{layout.manifests}/{one.kind.name}")]


def _rows(store: ObjectStore, layout: BaseLayout, kind: ArtifactKind[Any], reference: ArtifactReference) -> list[Any]:
    manifest = read_manifest(store, reference)
    return [row for entry in manifest.partitions for row in read_partition(store, layout, kind, entry)]


async def unneeded_tables(
    tables: DerivedTables, base_name: str, needed: Iterable[Mapping[str, ArtifactReference]]
) -> list[str]:
    """Contents with tables that no artifact map names."""
    named = {artifacts[tables.kind.name].fingerprint for artifacts in needed if tables.kind.name in artifacts}
    return [key for key in await tables.content_keys(base_name) if key not in named]


async def forget_in_tables(tables: Iterable[DerivedTables], base_name: str, document_id: str) -> dict[str, int]:
    """Remove every table that says something of a document. Returns how many rows said it, by artifact."""
    counts = {}
    for one in tables:
        found = await one.content_keys_of_document(base_name, document_id)
        await one.remove(base_name, found)
        if found:
            counts[one.kind.name] = sum(found.values())
    return counts


async def traces_in_tables(tables: Iterable[DerivedTables], base_name: str, document_id: str) -> list[str]:
    """Where tables still say something of a document."""
    return [
        f"database: {one.kind.name} {key}"
        for one in tables
        for key in await one.content_keys_of_document(base_name, document_id)
    ]
