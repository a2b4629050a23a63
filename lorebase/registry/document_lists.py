"""The documents of a base: what is live with source type and versions, and the history of one document."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS, ArtifactKind, partition_of
from lorebase.artifacts.manifest import Manifest, read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.model import SourceDocument
from lorebase.registry.document_classes import DOCUMENT_CLASSES, DocumentClass
from lorebase.runs.documents import find_document

RowT = TypeVar("RowT")
VersionChange = Literal["added", "changed", "described_anew", "removed"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DocumentLine(_Frozen):
    """A document of the live snapshot."""

    document_id: str
    name: str = Field(description="Path in its source.")
    source: str
    source_type: str = Field("", description="Empty where nothing classifies.")
    tags: tuple[str, ...] = ()
    revision_id: str = Field(description="Digest of its bytes.")
    size_bytes: int
    versions: int = Field(description="How many contents of it the kept snapshots hold.")


class DocumentVersion(_Frozen):
    """A snapshot that made a document another one than it was before."""

    snapshot_id: str
    built_at: datetime
    change: VersionChange
    revision_id: str = Field("", description="Digest of its bytes; empty where it was removed.")
    size_bytes: int = 0
    source_type: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, str | int | float | bool] = Field(default_factory=dict)
    live: bool = Field(default=False, description="Whether it is what the live snapshot holds.")


class DocumentDetail(_Frozen):
    """One document, live or gone."""

    document_id: str
    name: str
    source: str
    live: bool = Field(description="Whether the live snapshot holds it.")
    source_type: str = ""
    method: str = Field("", description="How its type was found: rules, model or fallback.")
    reason: str = Field("", description="Why it has its type.")
    score: float = 0.0
    tags: tuple[str, ...] = ()
    metadata: dict[str, str | int | float | bool] = Field(default_factory=dict)
    history: tuple[DocumentVersion, ...] = Field((), description="Newest first.")


def documents_of(store: ObjectStore, layout: BaseLayout) -> tuple[DocumentLine, ...]:
    """The documents of the live snapshot by source and name. Blocking.

    Raises:
        NotFoundError: Nothing was built yet.
        CorruptObjectError: A snapshot, a manifest or an object cannot be read.
    """
    snapshots = SnapshotStore(store, layout)
    live = snapshots.require_live()
    reader = _Reader(store, layout)
    revisions: dict[str, set[str]] = {}
    for snapshot in snapshots.all():
        for document in reader.rows(snapshot, SOURCE_DOCUMENTS):
            revisions.setdefault(document.document_id, set()).add(document.sha256)
    classes = {row.document_id: row for row in reader.rows(live, DOCUMENT_CLASSES)}
    lines = [
        _line(document, classes.get(document.document_id), len(revisions.get(document.document_id, ())))
        for document in reader.rows(live, SOURCE_DOCUMENTS)
    ]
    return tuple(sorted(lines, key=lambda line: (line.source, line.name)))


def document_of(store: ObjectStore, layout: BaseLayout, wanted: str) -> DocumentDetail:
    """A document that a kept snapshot holds, with its history over them. Blocking.

    Args:
        store: The object store.
        layout: The base.
        wanted: Its id, or its name in its source.

    Raises:
        NotFoundError: There is no such document, or nothing was built yet.
        UsageError: Several documents have that name.
        CorruptObjectError: A snapshot, a manifest or an object cannot be read.
    """
    snapshots = SnapshotStore(store, layout)
    live = snapshots.require_live()
    document_id, known = find_document(store, layout, wanted)
    reader = _Reader(store, layout)
    history = _history(reader, snapshots.all(), document_id, live.snapshot_id)
    found, described = reader.document(live, document_id), reader.described(live, document_id)
    return DocumentDetail(
        document_id=document_id,
        name=known.name if known else "",
        source=known.source if known else "",
        live=found is not None,
        history=tuple(reversed(history)),
        **_said_of(described),
        method=described.method if described else "",
        reason=described.reason if described else "",
        score=described.score if described else 0.0,
    )


def _history(reader: _Reader, snapshots: Sequence[Snapshot], document_id: str, live_id: str) -> list[DocumentVersion]:
    """The versions of a document, oldest first; a snapshot that left it as it was is none."""
    versions: list[DocumentVersion] = []
    for snapshot in snapshots:
        document, described = reader.document(snapshot, document_id), reader.described(snapshot, document_id)
        change = _change(versions[-1] if versions else None, document, described)
        if change is not None:
            versions.append(
                DocumentVersion(
                    snapshot_id=snapshot.snapshot_id,
                    built_at=snapshot.created_at,
                    change=change,
                    revision_id=document.sha256 if document else "",
                    size_bytes=document.size_bytes if document else 0,
                    **_said_of(described),
                )
            )
        if versions and snapshot.snapshot_id == live_id and document is not None:
            versions = [version.model_copy(update={"live": False}) for version in versions]
            versions[-1] = versions[-1].model_copy(update={"live": True})
    return versions


def _change(
    before: DocumentVersion | None, document: SourceDocument | None, described: DocumentClass | None
) -> VersionChange | None:
    was_there = before is not None and before.change != "removed"
    if document is None:
        return "removed" if was_there else None
    if before is None or not was_there:
        return "added"
    if before.revision_id != document.sha256:
        return "changed"
    said = _said_of(described)
    same = all(getattr(before, name) == value for name, value in said.items())
    return None if same else "described_anew"


def _line(document: SourceDocument, described: DocumentClass | None, versions: int) -> DocumentLine:
    return DocumentLine(
        document_id=document.document_id,
        name=document.name,
        source=document.source,
        source_type=described.source_type if described else "",
        tags=described.tags if described else (),
        revision_id=document.sha256,
        size_bytes=document.size_bytes,
        versions=versions,
    )


def _said_of(described: DocumentClass | None) -> dict[str, Any]:
    """What versions and details say alike of a document."""
    if described is None:
        return {"source_type": "", "tags": (), "metadata": {}}
    return {"source_type": described.source_type, "tags": described.tags, "metadata": dict(described.metadata)}


class _Reader:
    """Reads rows of snapshots; what two snapshots share is read once."""

    def __init__(self, store: ObjectStore, layout: BaseLayout) -> None:
        self._store = store
        self._layout = layout
        self._rows: dict[str, list[Any]] = {}
        self._manifests: dict[str, Manifest] = {}

    def rows(self, snapshot: Snapshot, kind: ArtifactKind[RowT]) -> list[RowT]:
        """All rows of an artifact; none where the snapshot lacks it."""
        manifest = self._manifest(snapshot, kind)
        numbers = [entry.index for entry in manifest.partitions] if manifest else []
        return [row for number in numbers for row in self._partition(manifest, kind, number)]

    def document(self, snapshot: Snapshot, document_id: str) -> SourceDocument | None:
        """The document as the snapshot's scan found it."""
        rows = self._near(snapshot, SOURCE_DOCUMENTS, document_id)
        return next((row for row in rows if row.document_id == document_id), None)

    def described(self, snapshot: Snapshot, document_id: str) -> DocumentClass | None:
        """What the snapshot says of the document."""
        rows = self._near(snapshot, DOCUMENT_CLASSES, document_id)
        return next((row for row in rows if row.document_id == document_id), None)

    def _near(self, snapshot: Snapshot, kind: ArtifactKind[RowT], document_id: str) -> list[RowT]:
        """Rows of the partition that a document belongs to."""
        manifest = self._manifest(snapshot, kind)
        number = partition_of(document_id, manifest.partition_count) if manifest else 0
        return self._partition(manifest, kind, number)

    def _partition(self, manifest: Manifest | None, kind: ArtifactKind[RowT], number: int) -> list[RowT]:
        entry = manifest.entry(number) if manifest else None
        if entry is None:
            return []
        if entry.sha256 not in self._rows:
            self._rows[entry.sha256] = read_partition(self._store, self._layout, kind, entry)
        return self._rows[entry.sha256]

    def _manifest(self, snapshot: Snapshot, kind: ArtifactKind[Any]) -> Manifest | None:
        reference = snapshot.artifacts.get(kind.name)
        if reference is None:
            return None
        if reference.manifest_key not in self._manifests:
            self._manifests[reference.manifest_key] = read_manifest(self._store, reference)
        return self._manifests[reference.manifest_key]
