"""Asking for work on a revision: the state and the task change together, and a repeated request is the same task."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from lorebase.errors import IdempotencyConflictError, IndexNotReadyError, RevisionInUseError
from lorebase.fingerprint import fingerprint
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.kinds import TaskKind, TaskStatus
from lorebase.governance.model import Page, Revision, Task
from lorebase.governance.states import Command, IndexStatus, RevisionState
from lorebase.governance.store import (
    DEFAULT_PAGE_SIZE,
    Store,
    changed_meanwhile,
    checked_text,
    live,
    not_found,
    page_of,
    require_version,
    revision_of,
)
from lorebase.governance.tables import releases, tasks

OPEN_STATUSES = (TaskStatus.PENDING.value, TaskStatus.RUNNING.value)

_INDEX_STATUS_WHILE: Mapping[TaskKind, IndexStatus] = {
    TaskKind.PROCESS: IndexStatus.INDEXING,
    TaskKind.REINDEX: IndexStatus.INDEXING,
    # From the request on nobody may rely on the index; so no rollback slips in before the worker comes.
    TaskKind.DELETE_INDEX: IndexStatus.INDEX_DELETED,
}
_WITH_ENTITIES = frozenset({IndexStatus.INDEXED, IndexStatus.INDEX_FAILED})


class Processing:
    """Commands that make tasks. Publish, rollback and offline make none."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def start(
        self, context: PrincipalContext, revision_id: int, *, version: int, idempotency_key: str, reason: str = ""
    ) -> Task:
        """Process an approved revision.

        Args:
            context: Who acts.
            revision_id: The revision.
            version: Its version as the caller saw it; a repeat with the same key may carry the old one.
            idempotency_key: 1 to 128 characters, unique in the organisation; a further attempt needs another one.
            reason: Why, for the record.

        Raises:
            InvalidStateError: The revision is not approved.
            VersionConflictError: Somebody changed it.
            IdempotencyConflictError: The key stands for other work.
        """
        return self._request(
            context, revision_id, version, TaskKind.PROCESS, idempotency_key, reason, Command.START_PROCESSING
        )

    def retry(
        self, context: PrincipalContext, revision_id: int, *, version: int, idempotency_key: str, reason: str = ""
    ) -> Task:
        """Process a revision again whose processing failed; its approval stays valid.

        Raises:
            InvalidStateError: The processing has not failed.
            VersionConflictError: Somebody changed the revision.
            IdempotencyConflictError: The key stands for other work.
            RevisionInUseError: Other work on the revision goes on.
        """
        return self._request(
            context, revision_id, version, TaskKind.PROCESS, idempotency_key, reason, Command.RETRY_PROCESSING
        )

    def ensure(self, context: PrincipalContext, revision_id: int, *, reason: str = "") -> Task:
        """The task that processes a revision: the open one, or a new one for a revision that is approved or failed.

        For callers without an idempotency key of their own: the revision's version makes one.

        Raises:
            InvalidStateError: It is neither approved, nor being processed, nor failed.
            VersionConflictError: Somebody changed it at the same moment.
        """
        context.require(Capability.PROCESS)
        with self._store.database.reading() as connection:
            revision = revision_of(connection, context, revision_id)
            open_task = connection.execute(
                select(tasks).where(
                    live(tasks, context), tasks.c.revision_id == revision_id, tasks.c.status.in_(OPEN_STATUSES)
                )
            ).one_or_none()
        if open_task is not None:
            return Task.from_row(open_task)
        ask = self.retry if revision.status is RevisionState.PROCESS_FAILED else self.start
        key = f"process-{revision.id}-{revision.version}"
        return ask(context, revision.id, version=revision.version, idempotency_key=key, reason=reason)

    def reindex(
        self, context: PrincipalContext, revision_id: int, *, version: int, idempotency_key: str, reason: str = ""
    ) -> Task:
        """Build the index of a revision again; its state stays.

        Raises:
            InvalidStateError: It was never processed.
            RevisionInUseError: Other work on the revision goes on.
            VersionConflictError: Somebody changed it.
            IdempotencyConflictError: The key stands for other work.
        """
        return self._request(context, revision_id, version, TaskKind.REINDEX, idempotency_key, reason, Command.REINDEX)

    def delete_index(
        self, context: PrincipalContext, revision_id: int, *, version: int, idempotency_key: str, reason: str = ""
    ) -> Task:
        """Free the index of a revision that is not live, of a deleted one too. A rollback to it needs `reindex` first.

        Raises:
            RevisionInUseError: It is live, under review, or being processed.
            IndexNotReadyError: There is nothing of it in the index.
            VersionConflictError: Somebody changed it.
            IdempotencyConflictError: The key stands for other work.
        """
        return self._request(
            context, revision_id, version, TaskKind.DELETE_INDEX, idempotency_key, reason, Command.DELETE_INDEX
        )

    def get(self, context: PrincipalContext, task_id: int) -> Task:
        """One task.

        Raises:
            NotFoundError: The organisation has no such task.
        """
        context.require(Capability.READ)
        with self._store.database.reading() as connection:
            row = connection.execute(select(tasks).where(live(tasks, context), tasks.c.id == task_id)).one_or_none()
        if row is None:
            raise not_found("task", task_id)
        return Task.from_row(row)

    def list(
        self,
        context: PrincipalContext,
        *,
        status: TaskStatus | None = None,
        revision_id: int | None = None,
        page_number: int = 1,
        page_size: int = DEFAULT_PAGE_SIZE,
    ) -> Page[Task]:
        """Tasks of the organisation, newest first."""
        context.require(Capability.READ)
        query = select(tasks).where(live(tasks, context))
        if status is not None:
            query = query.where(tasks.c.status == status.value)
        if revision_id is not None:
            query = query.where(tasks.c.revision_id == revision_id)
        with self._store.database.reading() as connection:
            return page_of(connection, Task, query.order_by(tasks.c.id.desc()), page_number, page_size)

    def enqueue(
        self,
        connection: Connection,
        context: PrincipalContext,
        revision: Revision,
        kind: TaskKind,
        idempotency_key: str,
        reason: str,
        command: Command = Command.START_PROCESSING,
    ) -> Task:
        """Move the revision and write the task row; the caller holds the item's lock."""
        store = self._store
        _require_idle(connection, revision)
        if kind is TaskKind.DELETE_INDEX:
            _require_free_index(connection, revision)
        values = {"index_status": _INDEX_STATUS_WHILE[kind].value}
        store.change_revision(connection, context, revision, command, reason=reason, values=values)
        row = {
            "kind": kind.value,
            "item_id": revision.item_id,
            "revision_id": revision.id,
            "idempotency_key": idempotency_key,
            "payload_fingerprint": _payload_fingerprint(kind, revision.id),
            "status": TaskStatus.PENDING.value,
            "max_attempts": store.settings.max_attempts,
            "due_time": store.task_time(connection),
            "created_by": context.user_id,
        }
        task_id = store.insert(connection, tasks, context, row)
        return Task.from_row(connection.execute(select(tasks).where(tasks.c.id == task_id)).one())

    def _request(
        self,
        context: PrincipalContext,
        revision_id: int,
        version: int,
        kind: TaskKind,
        idempotency_key: str,
        reason: str,
        command: Command,
    ) -> Task:
        context.require(Capability.PROCESS)
        key = checked_text("idempotency_key", idempotency_key, 128, min_chars=1)
        payload = _payload_fingerprint(kind, revision_id)
        try:
            with self._store.database.transaction() as connection:
                revision = revision_of(
                    connection, context, revision_id, lock=True, also_deleted=kind is TaskKind.DELETE_INDEX
                )
                known = _task_with_key(connection, context, key)
                if known is not None:
                    return _same(known, payload)
                require_version(revision, version)
                return self.enqueue(connection, context, revision, kind, key, reason, command)
        except IntegrityError as error:
            # Somebody used the key for another item at the same moment; here the transaction has ended.
            with self._store.database.reading() as connection:
                known = _task_with_key(connection, context, key)
            if known is None:
                raise changed_meanwhile("revision", revision_id) from error
            return _same(known, payload)


def _payload_fingerprint(kind: TaskKind, revision_id: int) -> str:
    return fingerprint(kind.value, revision_id)


def _task_with_key(connection: Connection, context: PrincipalContext, key: str) -> Task | None:
    query = select(tasks).where(tasks.c.organ_id == context.organ_id, tasks.c.idempotency_key == key)
    row = connection.execute(query).one_or_none()
    return Task.from_row(row) if row is not None else None


def _same(known: Task, payload_fingerprint: str) -> Task:
    if known.payload_fingerprint != payload_fingerprint:
        raise IdempotencyConflictError(
            f"The idempotency key {known.idempotency_key!r} belongs to the task {known.id} for other work.",
            remedy="Use another key.",
            task_id=str(known.id),
        )
    return known


def _require_idle(connection: Connection, revision: Revision) -> None:
    query = select(tasks.c.id).where(tasks.c.revision_id == revision.id, tasks.c.status.in_(OPEN_STATUSES))
    task_id = connection.execute(query.limit(1)).scalar()
    if task_id is not None:
        raise RevisionInUseError(
            f"The task {task_id} still works on revision {revision.id}.",
            remedy="Wait for it, or cancel it.",
            task_id=str(task_id),
        )


def _require_free_index(connection: Connection, revision: Revision) -> None:
    active = select(releases.c.id).where(releases.c.active_revision_id == revision.id)
    if connection.execute(active).scalar() is not None:
        raise RevisionInUseError(f"Revision {revision.id} is live.", remedy="Take it offline first.")
    if revision.index_status not in _WITH_ENTITIES:
        raise IndexNotReadyError(
            f"The index of revision {revision.id} is {revision.index_status}: there is nothing to free.",
            index_status=revision.index_status.value,
        )
