"""Many processes on one item: a linear history, one winner a version, and never two revisions in one answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.governance.states import RevisionState
from tests.fakes.sql_index import SqlIndexStore, metadata
from tests.governance.knowledge_world import BASE, KnowledgeWorld, handbook
from tests.governance.switching_crowd import crowd
from tests.governance.world import AUTHOR

EXPECTED_REFUSALS = {"RELEASE_CONFLICT", "INVALID_STATE", "VERSION_CONFLICT"}


async def test_a_crowd_leaves_a_linear_history_and_sees_no_mix(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """K-026, K-054, K-056, KX-13, C144: about 1,000 commands of 16 processes on a server, fewer on SQLite."""
    is_server = not database_url.startswith("sqlite")
    runners, commands = (16, 63) if is_server else (4, 12)
    metadata.create_all(database.engine)
    index = open_database(database_url)
    world = KnowledgeWorld(database, tmp_path, index_store=SqlIndexStore(index))
    item = world.item()
    revisions = [await world.ready(item, handbook(days)) for days in (10, 20, 30, 40)]

    seen = await asyncio.to_thread(
        crowd,
        database_url,
        tmp_path,
        item.id,
        [revision.id for revision in revisions],
        runners=runners,
        commands=commands,
    )
    await world.knowledge.reconciling.reconcile_base(AUTHOR, BASE)
    again = await world.knowledge.reconciling.reconcile_base(AUTHOR, BASE)

    release = world.release(item.id)
    won = sorted(version for one in seen for version in one.versions)
    refused = Counter(code for one in seen for code in one.refused)
    answers = [answer for one in seen for answer in one.evidence]
    live = {str(release.active_revision_id)} if release.active_revision_id else set()
    published = [revision.id for revision in revisions if world.read(revision).status is RevisionState.PUBLISHED]
    assert won == list(range(1, release.version + 1))  # every version has one winner, and none is missing
    assert set(refused) <= EXPECTED_REFUSALS
    assert len(won) + refused.total() + len(answers) == runners * commands
    assert len(answers) > 5
    assert all(len({revision_id for revision_id, _chunk in answer}) <= 1 for answer in answers)
    assert all(len({chunk for _revision, chunk in answer}) == len(answer) for answer in answers)
    assert published == ([release.active_revision_id] if release.active_revision_id else [])
    assert await world.shown() == [live, live]
    assert again.repairs == ()
    await world.close()
    index.close()


async def test_while_something_is_always_live_no_retrieval_finds_nothing(database: Database, tmp_path: Path) -> None:
    """K-056, K-066: a switch in the midst of a query is no lack of evidence."""
    world = KnowledgeWorld(database, tmp_path)
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)
    await world.publish(second)
    answers: list[set[str]] = []
    is_over = asyncio.Event()

    async def ask() -> None:
        while not is_over.is_set():
            answers.append({evidence.revision_id for evidence in (await world.retrieve()).evidence})

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask())
        tasks.create_task(ask())
        for round_number in range(12):
            await world.roll_back((first, second)[round_number % 2])
        is_over.set()
    await world.close()

    assert len(answers) >= 12
    assert all(answer in ({str(first.id)}, {str(second.id)}) for answer in answers)
