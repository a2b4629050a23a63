"""What differs between two states of an artifact: which rows came, which left, and what that means for documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS, ArtifactKind
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore

RowT = TypeVar("RowT")


class DocumentChanges(BaseModel):
    """How the documents of the sources differ from an earlier scan. A renamed document counts as that alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0

    def __str__(self) -> str:
        counts = [(name, getattr(self, name)) for name in type(self).model_fields if getattr(self, name)]
        words = [f"{count} {name}" for name, count in counts]
        if not words:
            return "no document changed"
        first = counts[0][1]
        number, _, name = words[0].partition(" ")
        return ", ".join([f"{number} {'document' if first == 1 else 'documents'} {name}", *words[1:]])


def changed_rows(
    store: ObjectStore,
    layout: BaseLayout,
    kind: ArtifactKind[RowT],
    value: Callable[[RowT], tuple[str, Any]],
    before: Manifest | None,
    after: Manifest | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of the partitions that differ; those that are the same are not read. Blocking.

    Args:
        store: Where the artifacts are.
        layout: Keys of the knowledge base.
        kind: Their kind.
        value: The identity of a row, and what else of it counts.
        before: The earlier state; None where there was none.
        after: The later one.

    Returns:
        Identity to value of the rows before, and of those after.

    Raises:
        CorruptObjectError: An object is missing or damaged.
    """
    old = {entry.index: entry for entry in before.partitions} if before else {}
    new = {entry.index: entry for entry in after.partitions} if after else {}
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for index in sorted({*old, *new}):
        pair: tuple[PartitionEntry | None, PartitionEntry | None] = (old.get(index), new.get(index))
        if pair[0] is not None and pair[1] is not None and pair[0].sha256 == pair[1].sha256:
            continue
        for side, entry in zip(sides, pair, strict=True):
            if entry is not None:
                side.update(value(row) for row in read_partition(store, layout, kind, entry))
    return sides


def document_changes(
    store: ObjectStore, layout: BaseLayout, before: Manifest | None, after: Manifest
) -> DocumentChanges:
    """How the documents of two scans differ; a document whose sidecar changed has changed. Blocking.

    Raises:
        CorruptObjectError: An object is missing or damaged.
    """
    old, new = changed_rows(
        store, layout, SOURCE_DOCUMENTS, lambda row: (row.document_id, row.sha256 + row.sidecar_sha256), before, after
    )
    came = Counter(digest for key, digest in new.items() if key not in old)
    left = Counter(digest for key, digest in old.items() if key not in new)
    renamed = (came & left).total()
    return DocumentChanges(
        added=came.total() - renamed,
        changed=sum(1 for key, digest in new.items() if key in old and old[key] != digest),
        renamed=renamed,
        removed=left.total() - renamed,
    )
