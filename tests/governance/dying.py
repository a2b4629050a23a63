"""Processes that carry out one command on a release and are killed after one of its single steps."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.governance.model import Revision
from tests.fakes.sql_index import SqlIndexStore
from tests.governance.knowledge_world import KnowledgeWorld
from tests.governance.world import HandClock

CommandName = Literal["publish", "rollback", "offline", "process"]


class Fate:
    """Counts the steps of a command, each an index write or a committed transaction, and kills after one of them."""

    def __init__(self, last_step: int) -> None:
        self._last_step = last_step
        self._steps = 0

    def step(self, what: str) -> None:
        del what
        self._steps += 1
        if self._steps == self._last_step:
            os.kill(os.getpid(), signal.SIGKILL)


class DoomedDatabase(Database):
    """A database whose commits are steps."""

    def __init__(self, url: str, fate: Fate) -> None:
        super().__init__(open_database(url).engine)
        self._fate = fate

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with super().transaction() as connection:
            yield connection
        self._fate.step("commit")


def killed_after(step: int, url: str, folder: Path, command: CommandName, revision: Revision, **where: str) -> bool:
    """Run a command in a process that dies after a step; whether it died, and had not ended before.

    Args:
        step: From 1.
        url: The database.
        folder: Folder of the workspace.
        command: The command.
        revision: Its target; for `offline` a revision of its item.
        where: `milvus_folder`: index files of Milvus instead of the shared fake, whose writes are no steps;
            `turned`: seconds by which the clock was turned.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(step, url, folder, command, revision, where))
    process.start()
    process.join(timeout=120)
    assert process.exitcode in {0, -signal.SIGKILL}, process.exitcode
    return process.exitcode != 0


def _run(step: int, url: str, folder: Path, command: CommandName, revision: Revision, where: dict[str, str]) -> None:
    fate = Fate(step)
    database = DoomedDatabase(url, fate)
    clock = HandClock()
    clock.turn(float(where.get("turned", "0")))
    index: Any = SqlIndexStore(open_database(url), fate.step)
    if "milvus_folder" in where:
        from lorebase.adapters.milvus.store import MilvusIndexStore

        index = MilvusIndexStore.in_folder(Path(where["milvus_folder"]))
    # A worker number of its own: ids are unique among those who run at the same time.
    world = KnowledgeWorld(database, folder, index_store=index, worker=os.getpid() % 900 + 100, clock=clock)

    async def act() -> None:
        if command == "publish":
            await world.publish(revision)
        elif command == "rollback":
            await world.roll_back(revision)
        elif command == "offline":
            await world.take_offline(revision.item_id)
        else:
            await world.knowledge.worker(f"doomed-{step}").run_next()
        await world.close()
        if "milvus_folder" in where:
            await index.close()

    asyncio.run(act())
