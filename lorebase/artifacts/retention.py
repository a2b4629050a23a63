"""Retention: which snapshots stay, and what of the store their manifests reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.manifest import ArtifactReference, Manifest, read_manifest
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import ObjectEntry, ObjectStore
from lorebase.errors import CorruptObjectError


class Freed(BaseModel):
    """How much of one kind was removed, or would be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    count: int
    size_bytes: int

    @classmethod
    def of(cls, kind: str, entries: Sequence[ObjectEntry]) -> Freed:
        """Objects of a kind, added up."""
        return cls(kind=kind, count=len(entries), size_bytes=sum(entry.size_bytes for entry in entries))


def kept_snapshots(snapshots: Sequence[Snapshot], live_id: str | None, *, keep: int) -> list[Snapshot]:
    """The snapshots that stay: the live one and the last `keep`, in the order given.

    Args:
        snapshots: All of them, oldest first.
        live_id: Which of them is live.
        keep: How many of the last stay, 0 or more.
    """
    last = {snapshot.snapshot_id for snapshot in snapshots[max(len(snapshots) - keep, 0) :]}
    return [snapshot for snapshot in snapshots if snapshot.snapshot_id in last or snapshot.snapshot_id == live_id]


@dataclass
class Reachable:
    """What must stay because something that stays refers to it.

    Attributes:
        manifests: By their keys.
        objects: Digests of objects.
    """

    manifests: dict[str, Manifest] = field(default_factory=dict)
    objects: set[str] = field(default_factory=set)

    def add(self, store: ObjectStore, references: Iterable[ArtifactReference], *, required: bool) -> None:
        """Take in manifests with their objects. Blocking.

        Args:
            store: Where they lie.
            references: What refers to them.
            required: Whether a missing manifest is an error, as for a snapshot, or passed over, as for an old run.

        Raises:
            CorruptObjectError: A required manifest is missing or unreadable.
        """
        for reference in references:
            if reference.manifest_key in self.manifests:
                continue
            try:
                manifest = read_manifest(store, reference)
            except CorruptObjectError:
                if required:
                    raise
                continue
            self.manifests[reference.manifest_key] = manifest
            self.objects |= {entry.sha256 for entry in manifest.partitions}
