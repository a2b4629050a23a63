"""A worker of governed tasks in a process of its own, with a clock of its own, that does what a test tells it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from lorebase.adapters.databases import open_database
from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.adapters.parsers.office_containers import check_container
from lorebase.errors import LorebaseError
from lorebase.governance.model import FaqEntry, Task
from lorebase.governance.row_ids import SnowflakeIds
from lorebase.governance.service import Governance
from lorebase.governance.settings import GovernanceSettings
from lorebase.governance.store import Store
from tests.fakes.ahead_clock import AheadClock
from tests.governance.world import AUTHOR, REVIEWER


class RemoteWorker:
    """Attributes: `process` is the worker's."""

    def __init__(self, process: BaseProcess, pipe: Connection) -> None:
        self.process = process
        self._pipe = pipe

    def claim(self) -> Task | None:
        """What it claimed."""
        return self._told("claim")

    def heartbeat(self) -> Task | None:
        """Its task with the new lease; None where it has lost it."""
        return self._told("heartbeat")

    def start_task(self) -> Task | None:
        """A task that it asks for, as an author."""
        return self._told("start_task")

    def _told(self, command: str) -> Task | None:
        self._pipe.send(command)
        assert self._pipe.poll(60), "the worker does not answer"
        answer: Task | None = self._pipe.recv()
        return answer


@contextmanager
def remote_worker(url: str, folder: Path, *, number: int, hours: float, lease_seconds: float) -> Iterator[RemoteWorker]:
    """A running worker whose clock is ahead; killed at the end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(url, folder, number, hours, lease_seconds, theirs), daemon=True)
    process.start()
    try:
        yield RemoteWorker(process, ours)
    finally:
        process.kill()
        process.join()


def _serve(url: str, folder: Path, number: int, hours: float, lease_seconds: float, pipe: Connection) -> None:
    clock = AheadClock(timedelta(hours=hours))
    settings = GovernanceSettings(lease_seconds=lease_seconds)
    store = Store(open_database(url), clock, SnowflakeIds(clock, number), settings)
    governance = Governance.over(store, LocalObjectStore(folder), check_container=check_container)
    held: Task | None = None
    while True:
        match pipe.recv():
            case "claim":
                held = governance.tasks.claim(f"worker-{number}")
                pipe.send(held)
            case "heartbeat":
                assert held is not None
                try:
                    pipe.send(governance.tasks.heartbeat(held))
                except LorebaseError:
                    pipe.send(None)
            case _:
                pipe.send(_started(governance))


def _started(governance: Governance) -> Task:
    item = governance.items.create(AUTHOR, base_id="handbook", knowledge_key="travel", title="差旅费")
    draft = governance.drafts.create(AUTHOR, item.id)
    filled = governance.drafts.set_faq(
        AUTHOR, draft.id, [FaqEntry(question="几天内?", answer="30")], version=draft.version
    )
    asked = governance.review.submit(AUTHOR, filled.id, version=filled.version)
    approved = governance.review.approve(REVIEWER, asked.id, version=asked.version)
    return governance.processing.ensure(AUTHOR, approved.id)
