"""The lease on a knowledge base: one build at a time, free again by itself after its holder was killed."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.artifacts.store import ObjectStore
from lorebase.errors import ConfigurationError, ConflictError, LorebaseError
from lorebase.ids import RUN_ID_PATTERN

DEFAULT_LEASE_SECONDS = 30.0
_VERSION_OF_NOTHING = '"00000000000000000000000000000000"'


class LeaseRecord(BaseModel):
    """Who holds a lease. A free one stays in the store, expired at its start, so that `epoch` never goes back.

    Its moments are by the holder's clock and tell people; nobody judges the lease by them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    holder: str
    epoch: int
    acquired_at: datetime
    expires_at: datetime
    note: str = ""
    seconds: float = DEFAULT_LEASE_SECONDS

    def is_free(self, age: timedelta) -> bool:
        """Whether it was given back, or was written longer ago than a holder that lives would leave it.

        Half a lease is added for a renewal that is under way.

        Args:
            age: How long ago it was written, by the store's clock.
        """
        return self.expires_at <= self.acquired_at or age > timedelta(seconds=self.seconds * 1.5)


class Lease:
    """A held lease: renewed from a thread of its own, so that no busy step can starve it.

    Others judge it by how long ago it was written, by the store's clock: no clock of a builder, an hour fast or slow,
    takes a lease from somebody who lives, or keeps one for somebody who is dead.
    """

    def __init__(
        self,
        store: ObjectStore,
        key: str,
        record: LeaseRecord,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._key = key
        self._record = record
        self._seconds = record.seconds
        self._now = now
        self._renewed_at = time.monotonic()  # as the thread waits: a clock that is set meanwhile loses no lease
        self._lost: str = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease {key}", daemon=True)

    @property
    def epoch(self) -> int:
        """Number of this holding; a later holder has a higher one."""
        return self._record.epoch

    @property
    def is_lost(self) -> bool:
        """Whether somebody else took it over, or it could not be renewed in time."""
        return bool(self._lost)

    def require_held(self) -> None:
        """Make sure of the lease before a step that must not be done twice.

        Raises:
            ConflictError: It was lost.
        """
        while not self._lost and not self._renew():
            pass  # somebody wrote it since it was read: our own beat, or who took it over
        if self._lost:
            raise ConflictError(f"This build lost its lease: {self._lost}", remedy="Start the build again.")

    def release(self) -> None:
        """Give it back; a lease that was lost is left alone."""
        self._stop.set()
        self._thread.join(timeout=self._seconds)
        found = self._store.get_versioned(self._key)
        if found is None:
            return
        current = LeaseRecord.model_validate_json(found.content)
        if (current.holder, current.epoch) == (self._record.holder, self._record.epoch):
            freed = current.model_copy(update={"expires_at": current.acquired_at})
            self._store.put_if(self._key, freed.model_dump_json().encode(), found.version)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _beat(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            try:
                self._renew()
            except LorebaseError as error:
                if time.monotonic() - self._renewed_at > self._seconds:
                    self._lost = f"it could not be renewed ({error.message})"
            if self._lost:
                return

    def _renew(self) -> bool:
        """Whether it was written; it is not where it is lost, or where somebody wrote it at the same moment."""
        found = self._store.get_versioned(self._key)
        current = LeaseRecord.model_validate_json(found.content) if found else None
        if found is None or current is None or (current.holder, current.epoch) != (self._record.holder, self.epoch):
            taker = (
                f"{current.holder} holds it since {current.acquired_at:%Y-%m-%d %H:%M:%S} UTC"
                if current
                else "it is gone"
            )
            self._lost = f"{taker}."
            return False
        began = time.monotonic()
        # A clock that was set back must not make it look as if it had been given back.
        expires_at = max(self._now(), current.acquired_at) + timedelta(seconds=self._seconds)
        renewed = current.model_copy(update={"expires_at": expires_at})
        if not self._store.put_if(self._key, renewed.model_dump_json().encode(), found.version):
            return False
        self._record, self._renewed_at = renewed, began
        return True


def acquire_lease(
    store: ObjectStore,
    key: str,
    *,
    holder: str,
    now: Callable[[], datetime],
    seconds: float = DEFAULT_LEASE_SECONDS,
    note: str = "",
) -> Lease:
    """Take a lease that is free or has run out.

    Args:
        store: Where it lies; its conditional writes decide between rivals.
        key: Its key.
        holder: Who takes it: a run id.
        now: Clock, aware UTC; it tells people when it was taken, and judges nothing.
        seconds: How long it holds without a renewal.
        note: Where the holder runs, for the message that others get.

    Returns:
        The lease, not yet renewed: enter it as a context.

    Raises:
        ConflictError: Somebody holds it; says who, since when, and how soon it is free after a kill.
    """
    found = store.get_versioned(key)
    current = _read(found.content) if found else None
    moment = now()
    if found is not None and current is not None and not current.is_free(found.age):
        raise _busy(key, current)
    record = LeaseRecord(
        holder=holder,
        epoch=current.epoch + 1 if current else 1,
        acquired_at=moment,
        expires_at=moment + timedelta(seconds=seconds),
        note=note,
        seconds=seconds,
    )
    if not store.put_if(key, record.model_dump_json().encode(), found.version if found else None):
        winner = store.get_versioned(key)
        raise _busy(key, _read(winner.content) if winner else None)
    return Lease(store, key, record, now=now)


def require_conditional_writes(store: ObjectStore, folder: str) -> None:
    """Make sure that a store keeps to the conditions of writes; without them two builds could both hold a lease.

    Args:
        store: The store.
        folder: Where a probe may be written and removed.

    Raises:
        ConfigurationError: It writes although its condition does not hold.
    """
    key = f"{folder}/probe-{uuid.uuid4().hex}"
    try:
        created = store.put_if(key, b"first", None)
        created_twice = store.put_if(key, b"second", None)
        swapped_wrongly = store.put_if(key, b"third", _VERSION_OF_NOTHING)
    finally:
        store.delete([key])
    if not created or created_twice or swapped_wrongly:
        raise ConfigurationError(
            "The object store ignores the conditions of writes (If-None-Match, If-Match): it cannot say which of two "
            "builds may go on.",
            remedy="Use a store that keeps to them: AWS S3, MinIO since 2024, Ceph, SeaweedFS; or a local folder.",
        )


def read_lease(store: ObjectStore, key: str) -> LeaseRecord | None:
    """The lease as it lies in the store, free or held."""
    found = store.get_versioned(key)
    return _read(found.content) if found else None


def lease_in_force(store: ObjectStore, key: str) -> LeaseRecord | None:
    """The lease that somebody holds now; None where nobody does."""
    found = store.get_versioned(key)
    record = _read(found.content) if found else None
    return record if found is not None and record is not None and not record.is_free(found.age) else None


def _read(content: bytes) -> LeaseRecord | None:
    try:
        return LeaseRecord.model_validate_json(content)
    except ValidationError:
        return None


def _busy(key: str, record: LeaseRecord | None) -> ConflictError:
    base_name = key.split("/")[1]
    if record is None:
        return ConflictError(f"Another build of {base_name!r} started at the same moment.", remedy="Try again.")
    where = f" on {record.note}" if record.note else ""
    what = "being built by run" if RUN_ID_PATTERN.fullmatch(record.holder) else "in use by"
    return ConflictError(
        f"The knowledge base {base_name!r} is {what} {record.holder}{where} "
        f"since {record.acquired_at:%Y-%m-%d %H:%M:%S} UTC.",
        remedy=f"Wait for it with --wait; if it was killed, it is free {record.seconds * 1.5:.0f} seconds after that.",
        holder=record.holder,
        acquired_at=record.acquired_at.isoformat(),
        expires_at=record.expires_at.isoformat(),
    )
