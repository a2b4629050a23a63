"""Manifests: what an artifact consists of, and the reading and writing of its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import CorruptObjectError, NotFoundError
from lorebase.fingerprint import fingerprint, sha256_of

RowT = TypeVar("RowT")
SCHEMA_VERSION = 1


class PartitionEntry(BaseModel):
    """One partition of an artifact: a content-addressed object.

    Attributes:
        index: Number of the partition, from 0.
        sha256: Digest of the object's bytes; the object's key follows from it.
        rows: Rows in it.
        size_bytes: Length of the object.
        key: Fingerprint of the work that made it: the step's and its inputs'. Empty for the scan of the sources.
        failed_items: Items of the partition that failed and are tried again by the next build.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    sha256: str
    rows: int
    size_bytes: int
    key: str = ""
    failed_items: int = 0


class ArtifactReference(BaseModel):
    """What passes from step to step and into records: an artifact's name and where its manifest is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    artifact: str
    fingerprint: str
    manifest_key: str
    rows: int
    partitions: int


class Manifest(BaseModel):
    """Table of contents of an artifact. Its fingerprint covers what it holds, not how it came about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    artifact: str
    step_fingerprint: str
    partition_count: int
    partitions: tuple[PartitionEntry, ...]

    @property
    def fingerprint(self) -> str:
        """Digest of the artifact's content: equal content, equal fingerprint, whoever made it."""
        return fingerprint(
            "artifact",
            self.artifact,
            self.partition_count,
            [[entry.index, entry.sha256] for entry in self.partitions],
        )

    @property
    def rows(self) -> int:
        """Rows of all partitions."""
        return sum(entry.rows for entry in self.partitions)

    def entry(self, index: int) -> PartitionEntry | None:
        """The partition with that number; None where it holds nothing."""
        return next((entry for entry in self.partitions if entry.index == index), None)


def write_partition(
    store: ObjectStore,
    layout: BaseLayout,
    kind: ArtifactKind[RowT],
    index: int,
    rows: Sequence[RowT],
    *,
    key: str = "",
    failed_items: int = 0,
) -> PartitionEntry:
    """Write the rows of one partition as a content-addressed object; nothing is written that is there already."""
    content = kind.encode(rows)
    digest = sha256_of(content)
    object_key = layout.object(digest)
    if not store.exists(object_key):
        store.put(object_key, content)
    return PartitionEntry(
        index=index, sha256=digest, rows=len(rows), size_bytes=len(content), key=key, failed_items=failed_items
    )


def read_partition(
    store: ObjectStore, layout: BaseLayout, kind: ArtifactKind[RowT], entry: PartitionEntry
) -> list[RowT]:
    """Rows of one partition.

    Raises:
        CorruptObjectError: The object is missing, or its bytes are not what the manifest says.
    """
    object_key = layout.object(entry.sha256)
    try:
        content = store.get(object_key)
    except NotFoundError as error:
        raise CorruptObjectError(
            f"The object {object_key} of {kind.name}, partition {entry.index}, is missing from the store.",
            remedy="Build again with --rebuild, or restore the object.",
            key=object_key,
        ) from error
    if sha256_of(content) != entry.sha256:
        raise CorruptObjectError(
            f"The object {object_key} of {kind.name} does not have the digest that its name promises.",
            remedy="Delete it and build again, or restore it.",
            key=object_key,
        )
    return kind.decode(content)


def write_manifest(store: ObjectStore, layout: BaseLayout, manifest: Manifest) -> ArtifactReference:
    """Write a manifest under the digest of its bytes, after its objects; nothing is ever overwritten."""
    content = manifest.model_dump_json(indent=1).encode()
    key = layout.manifest(manifest.artifact, sha256_of(content))
    if not store.exists(key):
        store.put(key, content)
    return ArtifactReference(
        artifact=manifest.artifact,
        fingerprint=manifest.fingerprint,
        manifest_key=key,
        rows=manifest.rows,
        partitions=len(manifest.partitions),
    )


def read_manifest(store: ObjectStore, reference: ArtifactReference) -> Manifest:
    """The manifest behind a reference.

    Raises:
        CorruptObjectError: It is missing, unreadable, or of a newer schema than this program knows.
    """
    try:
        manifest = Manifest.model_validate_json(store.get(reference.manifest_key))
    except (NotFoundError, ValidationError) as error:
        raise CorruptObjectError(
            f"The manifest {reference.manifest_key} of {reference.artifact} is missing or unreadable.",
            remedy="Build again with --rebuild, or restore it.",
            key=reference.manifest_key,
        ) from error
    if manifest.schema_version > SCHEMA_VERSION:
        raise CorruptObjectError(
            f"The manifest {reference.manifest_key} has schema version {manifest.schema_version}; "
            f"this program reads up to {SCHEMA_VERSION}.",
            remedy="Upgrade Lorebase.",
        )
    return manifest


def by_index(entries: Iterable[PartitionEntry]) -> tuple[PartitionEntry, ...]:
    """Partitions in the order of their numbers."""
    return tuple(sorted(entries, key=lambda entry: entry.index))
