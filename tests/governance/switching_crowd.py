"""Many processes that publish, roll back, take offline and retrieve one item at the same time."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lorebase.adapters.databases import open_database
from lorebase.errors import LorebaseError
from lorebase.retrieval.governed.settings import RetrievalSettings
from tests.fakes.sql_index import SqlIndexStore
from tests.governance.knowledge_world import KnowledgeWorld
from tests.governance.world import AUTHOR


@dataclass
class Seen:
    """What one process saw.

    Attributes:
        versions: Of the release, after each switch that it won.
        refused: Codes of the errors that it got.
        evidence: Of each retrieval: revision id and chunk id of each piece.
    """

    versions: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    evidence: list[list[tuple[str, str]]] = field(default_factory=list)


def crowd(
    url: str, folder: Path, item_id: int, revision_ids: Sequence[int], *, runners: int, commands: int
) -> list[Seen]:
    """What every process of a crowd saw, each giving so many commands."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    barrier, answers = context.Barrier(runners), context.Queue()
    started = [
        context.Process(
            target=_run, args=(url, folder, item_id, tuple(revision_ids), number, commands, barrier, answers)
        )
        for number in range(runners)
    ]
    for process in started:
        process.start()
    found: list[Seen] = [answers.get(timeout=400) for _ in started]
    for process in started:
        process.join()
    return found


def _run(
    url: str,
    folder: Path,
    item_id: int,
    revision_ids: tuple[int, ...],
    number: int,
    commands: int,
    barrier: Any,
    answers: Any,
) -> None:
    database, index = open_database(url), open_database(url)
    patient = RetrievalSettings(budget_seconds=120)
    world = KnowledgeWorld(database, folder, index_store=SqlIndexStore(index), worker=100 + number, settings=patient)
    chance, seen = random.Random(number), Seen()

    async def act() -> None:
        await world.retrieve()  # connections and models are open before the start
        await asyncio.to_thread(barrier.wait, 120)
        for _command in range(commands):
            try:
                await _one(world, item_id, revision_ids, chance, seen)
            except LorebaseError as error:
                seen.refused.append(error.code)
        await world.close()

    asyncio.run(act())
    answers.put(seen)
    database.close()
    index.close()


async def _one(
    world: KnowledgeWorld, item_id: int, revision_ids: tuple[int, ...], chance: random.Random, seen: Seen
) -> None:
    what = chance.choice(("publish", "rollback", "rollback", "offline", "retrieve", "retrieve"))
    publishing, version = world.knowledge.publishing, world.release(item_id).version
    if what == "retrieve":
        found = await world.retrieve()
        seen.evidence.append([(one.revision_id, one.chunk_id) for one in found.evidence])
        return
    if what == "offline":
        done = await publishing.take_offline(AUTHOR, item_id, expected_version=version)
    elif what == "publish":
        done = await publishing.publish(AUTHOR, chance.choice(revision_ids), expected_version=version)
    else:
        done = await publishing.roll_back(AUTHOR, chance.choice(revision_ids), expected_version=version)
    seen.versions.append(done.release.version)
