"""Doing the work: workers claim tasks by lease, keep them by heart-beat, and end them together with the revision.

A worker may die at any moment and a task may be claimed again; the number of the attempt tells an old holder from the
new one, and what an old holder still says is refused. When tasks are due and leases run out is judged by the database's
clock alone: workers whose own clocks are wrong hold, lose and take over tasks as all others do.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, and_, or_, select, true

from lorebase.errors import InvalidStateError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.kinds import TaskKind, TaskStatus
from lorebase.governance.model import Revision, Task
from lorebase.governance.states import Command, IndexStatus
from lorebase.governance.store import Store, checked_text, live, not_found, revision_of
from lorebase.governance.tables import revisions, tasks
from lorebase.governance.task_failures import TIMED_OUT, Stage, TaskFailure, failure_of

logger = logging.getLogger(__name__)

MAX_WORKER_CHARS = 128
_CLAIM_TRIES = 8
_DONE: Mapping[TaskKind, IndexStatus] = {
    TaskKind.PROCESS: IndexStatus.INDEXED,
    TaskKind.REINDEX: IndexStatus.INDEXED,
    TaskKind.DELETE_INDEX: IndexStatus.INDEX_DELETED,
}


def worker_context(task: Task) -> PrincipalContext:
    """The context in which a worker serves a task: the task's organisation and trace."""
    return PrincipalContext(
        organ_id=task.organ_id,
        user_id=f"worker:{task.lease_owner}"[:64],
        capabilities=frozenset({Capability.READ, Capability.PROCESS}),
        trace_id=task.trace_id,
        request_id=f"task-{task.id}-{task.attempts}",
    )


class TaskQueue:
    """What workers call. They serve all organisations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(
        self, worker: str, kinds: Sequence[TaskKind] = tuple(TaskKind), *, task_id: int | None = None
    ) -> Task | None:
        """The next due task, held for a lease; None where there is nothing to do.

        Tasks whose lease ran out are due again; those that have no attempt left fail with TASK_TIMEOUT.

        Args:
            worker: Name of the worker, 1 to 128 characters, unique among those that run.
            kinds: What the worker can do.
            task_id: The one task that is wanted; None takes whatever is due.

        Raises:
            InvalidInputError: The worker's name is blank or too long.
        """
        checked_text("worker", worker, MAX_WORKER_CHARS, min_chars=1)
        self._give_up_lost_tasks()
        for _try in range(_CLAIM_TRIES):
            try:
                return self._store.database.written(lambda connection: self._claim(connection, worker, kinds, task_id))
            except _OvertakenError:
                continue
        return None

    def _claim(
        self, connection: Connection, worker: str, kinds: Sequence[TaskKind], task_id: int | None
    ) -> Task | None:
        now = self._store.task_time(connection)
        found = connection.execute(_due(now, kinds, task_id)).one_or_none()
        if found is None:
            return None
        task = Task.from_row(found)
        values = {
            "status": TaskStatus.RUNNING.value,
            "attempts": task.attempts + 1,
            "lease_owner": worker,
            "lease_until": now + self._lease,
        }
        if not self._swap(connection, task, values):
            raise _OvertakenError
        return _read(connection, task.id)

    def heartbeat(self, task: Task) -> Task:
        """Hold a claimed task for another lease.

        Raises:
            InvalidStateError: The task is no longer this worker's; stop working on it.
        """

        def renew(connection: Connection) -> Task:
            self._require_held(connection, task, {"lease_until": self._store.task_time(connection) + self._lease})
            return _read(connection, task.id)

        return self._store.database.written(renew)

    def require_held(self, connection: Connection, task: Task) -> None:
        """Go on only with a task that is still this worker's, inside the transaction that depends on it.

        Raises:
            InvalidStateError: It is not.
        """
        self._require_held(connection, task, {})

    def finish(self, task: Task, *, embedding_profile: str = "") -> Task:
        """End a claimed task well. The caller has reconciled the index: a processed revision becomes publishable.

        Args:
            task: As it was claimed.
            embedding_profile: The profile that the revision is indexed with; empty leaves it as it is.

        Raises:
            InvalidStateError: The task is no longer this worker's; nothing changes.
        """
        context = worker_context(task)
        values: dict[str, Any] = {"index_status": _DONE[task.kind].value}
        if embedding_profile:
            values["embedding_profile"] = embedding_profile

        def end(connection: Connection) -> Task:
            revision = revision_of(connection, context, task.revision_id, lock=True, also_deleted=True)
            self._end(connection, task, TaskStatus.SUCCEEDED)
            self._settle(connection, context, task, revision, Command.FINISH_PROCESSING, values)
            return _read(connection, task.id)

        return self._store.database.written(end)

    def fail(self, task: Task, error: Exception, stage: Stage | None = None) -> Task:
        """End an attempt badly: another one later where that may help, otherwise the task and its revision fail.

        Nothing of what the error says is stored or logged.

        Raises:
            InvalidStateError: The task is no longer this worker's; nothing changes.
        """
        failure = failure_of(error, stage)
        if not failure.retryable or task.attempts >= task.max_attempts:
            return self._fail_for_good(task, failure)
        delays = self._store.settings.retry_delays_seconds
        delay = timedelta(seconds=delays[min(task.attempts, len(delays)) - 1])

        def put_off(connection: Connection) -> Task:
            values = {
                "status": TaskStatus.PENDING.value,
                "due_time": self._store.task_time(connection) + delay,
                "lease_owner": "",
                "lease_until": None,
                "error_code": failure.code.value,
                "error_message": failure.summary,
            }
            self._require_held(connection, task, values)
            return _read(connection, task.id)

        again = self._store.database.written(put_off)
        logger.warning("task %d, attempt %d of %d: %s", task.id, task.attempts, task.max_attempts, failure.code)
        return again

    def cancel(self, context: PrincipalContext, task_id: int, *, reason: str = "") -> Task:
        """Take back a task that no worker has begun; its revision counts as failed.

        Raises:
            NotFoundError: The organisation has no such task.
            InvalidStateError: It is running, or has ended.
        """
        context.require(Capability.PROCESS)
        with self._store.database.transaction() as connection:
            row = connection.execute(select(tasks).where(live(tasks, context), tasks.c.id == task_id)).one_or_none()
            if row is None:
                raise not_found("task", task_id)
            task = Task.from_row(row)
            revision = revision_of(connection, context, task.revision_id, lock=True, also_deleted=True)
            end = {"status": TaskStatus.CANCELLED.value, "finish_time": self._store.clock.now()}
            if task.status is not TaskStatus.PENDING or not self._swap(connection, task, end):
                raise InvalidStateError(
                    f"Task {task.id} is running or has ended.", remedy="Only a task that waits can be cancelled."
                )
            values = {"index_status": IndexStatus.INDEX_FAILED.value}
            self._settle(connection, context, task, revision, Command.FAIL_PROCESSING, values, reason=reason)
            return _read(connection, task.id)

    def _give_up_lost_tasks(self) -> None:
        with self._store.database.reading() as connection:
            query = select(tasks).where(
                tasks.c.status == TaskStatus.RUNNING.value,
                tasks.c.lease_until < self._store.task_time(connection),
                tasks.c.attempts >= tasks.c.max_attempts,
            )
            lost = [Task.from_row(row) for row in connection.execute(query)]
        for task in lost:
            try:
                self._fail_for_good(task, TIMED_OUT, held=False)
            except InvalidStateError:
                logger.info("task %d was ended by somebody else", task.id)

    def _fail_for_good(self, task: Task, failure: TaskFailure, *, held: bool = True) -> Task:
        context = worker_context(task)
        facts = {"error_code": failure.code.value, "error_message": failure.summary}
        values = {"index_status": IndexStatus.INDEX_FAILED.value}

        def end(connection: Connection) -> Task:
            revision = revision_of(connection, context, task.revision_id, lock=True, also_deleted=True)
            self._end(connection, task, TaskStatus.FAILED, facts, held=held)
            self._settle(
                connection, context, task, revision, Command.FAIL_PROCESSING, values, reason=failure.code.value
            )
            return _read(connection, task.id)

        failed = self._store.database.written(end)
        logger.warning("task %d of revision %d failed: %s", task.id, task.revision_id, failure.code)
        return failed

    def _settle(
        self,
        connection: Connection,
        context: PrincipalContext,
        task: Task,
        revision: Revision,
        command: Command,
        values: Mapping[str, Any],
        *,
        reason: str = "",
    ) -> None:
        """What the end of a task means for its revision: only a PROCESS task moves its state."""
        if task.kind is TaskKind.PROCESS:
            self._store.change_revision(connection, context, revision, command, reason=reason, values=values)
            return
        self._store.update(connection, revisions, revision.id, revision.version, values)
        self._store.record(
            connection, context, f"{command.value}_{task.kind.value}"[:64], reason=reason, item_id=revision.item_id,
            revision_id=revision.id, state_before=revision.status.value, state_after=revision.status.value,
            facts_json={"index_status": values["index_status"], "version": revision.version + 1},
        )  # fmt: skip

    def _end(
        self,
        connection: Connection,
        task: Task,
        status: TaskStatus,
        values: Mapping[str, Any] = MappingProxyType({"error_code": "", "error_message": ""}),
        *,
        held: bool = True,
    ) -> None:
        ended = {"status": status.value, "finish_time": self._store.clock.now(), "lease_until": None}
        self._require_held(connection, task, {**values, **ended}, held=held)

    def _require_held(
        self, connection: Connection, task: Task, values: Mapping[str, Any], *, held: bool = True
    ) -> None:
        if not self._swap(connection, task, values, held=held):
            raise InvalidStateError(
                f"Task {task.id} is no longer held by {task.lease_owner!r} in attempt {task.attempts}.",
                remedy="Stop working on it: its lease ran out and somebody else has it, or it has ended.",
                task_id=str(task.id),
            )

    def _swap(self, connection: Connection, task: Task, values: Mapping[str, Any], *, held: bool = False) -> bool:
        """Change a task that is still as it was read.

        Its holder may have renewed the lease since, which changes its version: for a holder attempt and name decide.
        """
        same = [tasks.c.id == task.id, tasks.c.status == task.status.value, tasks.c.attempts == task.attempts]
        same.append(tasks.c.lease_owner == task.lease_owner if held else tasks.c.version == task.version)
        change = {"version": tasks.c.version + 1, "update_time": self._store.clock.now(), **values}
        return bool(connection.execute(tasks.update().where(*same).values(change)).rowcount == 1)

    @property
    def _lease(self) -> timedelta:
        return timedelta(seconds=self._store.settings.lease_seconds)


class _OvertakenError(Exception):
    """Another worker took the task first."""


def _due(now: datetime, kinds: Sequence[TaskKind], task_id: int | None) -> Any:  # noqa: ANN401 (a select whose row type does not matter)
    waiting = and_(tasks.c.status == TaskStatus.PENDING.value, tasks.c.due_time <= now)
    lost = and_(tasks.c.status == TaskStatus.RUNNING.value, tasks.c.lease_until < now)
    return (
        select(tasks)
        .where(or_(waiting, lost), tasks.c.kind.in_([kind.value for kind in kinds]), tasks.c.delete_flag == 0)
        .where(tasks.c.attempts < tasks.c.max_attempts, tasks.c.id == task_id if task_id is not None else true())
        .order_by(tasks.c.due_time, tasks.c.id)
        .limit(1)
        # Claimers pass each other by. SQLite has no such clause and needs none: its writers queue up.
        .with_for_update(skip_locked=True)
    )


def _read(connection: Connection, task_id: int) -> Task:
    return Task.from_row(connection.execute(select(tasks).where(tasks.c.id == task_id)).one())
