"""The object store as builds use it: a small port over named byte strings, and where each of them lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class VersionedObject:
    """An object with the token that a conditional write needs.

    Attributes:
        content: Its bytes.
        version: Opaque; changes with every write.
        age: How long ago it was written, at least; both moments are by the store's own clock.
    """

    content: bytes
    version: str
    age: timedelta


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

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Write the object whole or not at all; readers see the old bytes or the new ones, never a mix.

        Args:
            key: The object.
            content: Its bytes.
            durable: Whether it must survive a loss of power right afterwards. What is not durable may then be gone or
                damaged; it survives a killed process all the same.
        """
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


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """An object as a listing shows it: its key, its length, and when it was last written (aware UTC)."""

    key: str
    size_bytes: int
    modified_at: datetime


class ObjectInventory(ObjectStore, Protocol):
    """An object store that also tells sizes and ages: what cleaning up needs."""

    def entries(self, prefix: str) -> Sequence[ObjectEntry]:
        """The objects below the folder `prefix`, at any depth, sorted by key."""
        ...

    def leftovers(self, prefix: str) -> Sequence[ObjectEntry]:
        """What writers that were killed, or are writing now, have there besides objects; `delete` removes it."""
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

    @property
    def snapshots(self) -> str:
        """Folder of all snapshots."""
        return f"{self.prefix}/snapshots"

    def snapshot(self, snapshot_id: str) -> str:
        """One snapshot."""
        return f"{self.snapshots}/{snapshot_id}.json"

    @property
    def pointer_moves(self) -> str:
        """Folder of the places where the snapshot pointer stood before."""
        return f"{self.prefix}/pointer_moves"

    def pointer_move(self, sequence: int) -> str:
        """The snapshot pointer as it stood after one move."""
        return f"{self.pointer_moves}/{sequence:08d}.json"

    @property
    def manifests(self) -> str:
        """Folder of all manifests."""
        return f"{self.prefix}/manifests"

    def manifest(self, artifact: str, digest: str) -> str:
        """One manifest of an artifact, named by the digest of its bytes."""
        return f"{self.manifests}/{artifact}/{digest}.json"

    @property
    def objects(self) -> str:
        """Folder of all content-addressed objects."""
        return f"{self.prefix}/objects"

    def object(self, sha256: str) -> str:
        """One content-addressed object."""
        return f"{self.objects}/{sha256[:2]}/{sha256}.parquet"

    @property
    def finished(self) -> str:
        """Folder of what the task runs of all steps have finished."""
        return f"{self.prefix}/finished"

    def group_records(self, step_fingerprint: str) -> str:
        """Folder of what task runs of a step have finished."""
        return f"{self.finished}/{step_fingerprint}"

    def group_record(self, step_fingerprint: str, group_key: str) -> str:
        """What one task run has finished."""
        return f"{self.group_records(step_fingerprint)}/{group_key}.json"

    @property
    def ledgers(self) -> str:
        """Folder of the ledgers of all steps."""
        return f"{self.prefix}/ledger"

    def ledger(self, step_fingerprint: str) -> str:
        """Folder of a step's ledger."""
        return f"{self.ledgers}/{step_fingerprint}"

    def ledger_keys(self, step_fingerprint: str, sha256: str) -> str:
        """The item keys of one object, in row order."""
        return f"{self.ledger(step_fingerprint)}/keys/{sha256}"

    @property
    def calls(self) -> str:
        """Folder of replies of chat models."""
        return f"{self.prefix}/calls"

    @property
    def forgotten(self) -> str:
        """Folder of the records of forgotten documents."""
        return f"{self.prefix}/forgotten"

    def forgotten_document(self, document_id: str) -> str:
        """What is known of the forgetting of one document."""
        return f"{self.forgotten}/{document_id}.json"

    @property
    def prefect_results(self) -> str:
        """Folder of the references that Prefect keeps of this base's task runs."""
        return f"prefect-results/{self.base_name}"
