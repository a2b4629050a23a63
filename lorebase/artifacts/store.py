"""The object store as builds use it: a small port over named byte strings, and where each of them lies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class VersionedObject:
    """An object with the token that a conditional write needs.

    Attributes:
        content: Its bytes.
        version: Opaque; changes with every write.
    """

    content: bytes
    version: str


class ObjectStore(Protocol):
    """Named byte strings. Blocking: callers on an event loop call it in threads; one store serves many threads.

    Keys are relative, `/`-separated, without empty, `.` or `..` parts.
    """

    def get(self, key: str) -> bytes:
        """The whole object.

        Raises:
            NotFoundError: There is no such object.
            UnavailableError: The store does not answer.
        """
        ...

    def put(self, key: str, content: bytes) -> None:
        """Write the object whole or not at all; readers see the old bytes or the new ones, never a mix."""
        ...

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        ...

    def list(self, prefix: str) -> list[str]:
        """Keys of the objects below the folder `prefix`, at any depth, sorted."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; one that is not there is no error."""
        ...

    def get_versioned(self, key: str) -> VersionedObject | None:
        """The object with its version, or None where there is none."""
        ...

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        """Write only if the object still has `version` (None: only if it does not exist).

        Returns:
            Whether it was written. Of several writers with the same expectation exactly one gets True.
        """
        ...


class BaseLayout:
    """Keys of everything that belongs to one knowledge base; all of it lies below one prefix."""

    def __init__(self, base_name: str) -> None:
        self.base_name = base_name
        self.prefix = f"knowledge_bases/{base_name}"

    @property
    def latest_run(self) -> str:
        """Pointer to the run that was started last."""
        return f"{self.prefix}/latest_run.json"

    @property
    def snapshot_pointer(self) -> str:
        """Pointer to the snapshot that is live."""
        return f"{self.prefix}/snapshot.json"

    @property
    def lease(self) -> str:
        """Who builds now."""
        return f"{self.prefix}/lease.json"

    @property
    def runs(self) -> str:
        """Folder of all runs."""
        return f"{self.prefix}/runs"

    def run_state(self, run_id: str) -> str:
        """The state of a run while it goes on, and as it ended."""
        return f"{self.runs}/{run_id}/state.json"

    def run_record(self, run_id: str) -> str:
        """The record of a run that has ended."""
        return f"{self.runs}/{run_id}/record.json"

    def snapshot(self, snapshot_id: str) -> str:
        """One snapshot."""
        return f"{self.prefix}/snapshots/{snapshot_id}.json"

    def manifest(self, artifact: str, digest: str) -> str:
        """One manifest of an artifact, named by the digest of its bytes."""
        return f"{self.prefix}/manifests/{artifact}/{digest}.json"

    def object(self, sha256: str) -> str:
        """One content-addressed object."""
        return f"{self.prefix}/objects/{sha256[:2]}/{sha256}.parquet"

    def group_records(self, step_fingerprint: str) -> str:
        """Folder of what task runs of a step have finished."""
        return f"{self.prefix}/finished/{step_fingerprint}"

    def group_record(self, step_fingerprint: str, group_key: str) -> str:
        """What one task run has finished."""
        return f"{self.group_records(step_fingerprint)}/{group_key}.json"

    def ledger(self, step_fingerprint: str) -> str:
        """Folder of a step's ledger."""
        return f"{self.prefix}/ledger/{step_fingerprint}"
