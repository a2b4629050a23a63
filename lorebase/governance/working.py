"""Doing tasks: a worker claims one, keeps it by heart-beat while it works, and ends it with its revision."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection

from lorebase.errors import InvalidStateError, UnavailableError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.kinds import TaskKind
from lorebase.governance.model import Revision, Task
from lorebase.governance.revision_index import StoredRevisionIndex
from lorebase.governance.store import Store, revision_of
from lorebase.governance.task_failures import Stage
from lorebase.governance.task_queue import TaskQueue, worker_context
from lorebase.governance.visibility import Visibility

logger = logging.getLogger(__name__)

_BEATS_IN_A_LEASE = 3


@dataclass
class _Progress:
    """Where the work on a task is; None before it has begun."""

    stage: Stage | None = None

    def reach(self, stage: Stage) -> None:
        self.stage = stage


@dataclass(frozen=True, slots=True)
class TaskWorker:
    """Works on due tasks of all organisations, one at a time. Several may run, in one process or in many.

    Attributes:
        store: The relational truth.
        queue: The tasks.
        index: Stages, compares and removes entities.
        visibility: Brings entities in line with what is live, after a live revision was indexed again.
        name: The worker's name, unique among those that run.
        kinds: What it works on.
    """

    store: Store
    queue: TaskQueue
    index: StoredRevisionIndex
    visibility: Visibility
    name: str
    kinds: tuple[TaskKind, ...] = tuple(TaskKind)

    async def run_next(self, task_id: int | None = None) -> Task | None:
        """Claim the next due task and work on it; None where there is nothing to do.

        Args:
            task_id: The one task that is wanted, where one is.

        Returns:
            The task as it ended; as it was claimed where it was lost to another worker.

        Raises:
            UnavailableError: The database does not answer.
        """
        task = await asyncio.to_thread(self.queue.claim, self.name, self.kinds, task_id=task_id)
        return await self._work(task) if task is not None else None

    async def run_due(self, max_tasks: int = 1000) -> list[Task]:
        """Work on due tasks until there are none, or `max_tasks` were done."""
        ended: list[Task] = []
        while len(ended) < max_tasks and (task := await self.run_next()) is not None:
            ended.append(task)
        return ended

    async def _work(self, task: Task) -> Task:
        progress = _Progress()
        work = asyncio.create_task(self._do(task, progress))
        beat = asyncio.create_task(self._keep(task))
        try:
            await asyncio.wait({work, beat}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                logger.warning("task %d was lost to another worker", task.id)
                return task
            return await self._ended(task, work, progress)
        finally:
            for running in (work, beat):
                running.cancel()
            await asyncio.gather(work, beat, return_exceptions=True)

    async def _ended(self, task: Task, work: asyncio.Task[Task], progress: _Progress) -> Task:
        error = work.exception()
        if error is None:
            return work.result()
        if not isinstance(error, Exception):
            raise error
        try:
            # Whatever it was, the task keeps a code of the catalogue and nothing of what the exception says.
            return await asyncio.to_thread(self.queue.fail, task, error, progress.stage)
        except InvalidStateError:
            logger.warning("task %d was lost to another worker", task.id)
            return task

    async def _keep(self, task: Task) -> None:
        """Renew the lease until the task is somebody else's."""
        every_seconds = self.store.settings.lease_seconds / _BEATS_IN_A_LEASE
        with suppress(InvalidStateError):
            while True:
                await asyncio.sleep(every_seconds)
                with suppress(UnavailableError):  # the next beat tries again; a lease that ran out ends the work
                    await asyncio.to_thread(self.queue.heartbeat, task)

    async def _do(self, task: Task, progress: _Progress) -> Task:
        context = worker_context(task)
        revision = await asyncio.to_thread(self._revision, context, task.revision_id)
        if task.kind is TaskKind.DELETE_INDEX:
            progress.reach(Stage.INDEX)
            await self.index.delete(revision)
            return await asyncio.to_thread(self.queue.finish, task)

        def still_held(connection: Connection) -> None:
            self.queue.require_held(connection, task)

        profile = await self.index.stage(context, revision, on_stage=progress.reach, guard=still_held)
        progress.reach(Stage.RECONCILE)
        await self.index.reconcile(revision)
        if task.kind is TaskKind.REINDEX:
            await self.visibility.settle([revision])
        return await asyncio.to_thread(self.queue.finish, task, embedding_profile=profile)

    def _revision(self, context: PrincipalContext, revision_id: int) -> Revision:
        with self.store.database.reading() as connection:
            return revision_of(connection, context, revision_id, also_deleted=True)
