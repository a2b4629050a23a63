"""A process that is killed after any step of a command leaves searches right, and a reconcile leaves all right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lorebase.adapters.databases import open_database
from lorebase.adapters.milvus.store import MilvusIndexStore
from lorebase.database import Database
from lorebase.governance.model import Revision
from lorebase.governance.states import RevisionState
from tests.fakes.sql_index import SqlIndexStore, metadata
from tests.governance.dying import CommandName, killed_after
from tests.governance.knowledge_world import KnowledgeWorld, handbook
from tests.governance.world import AUTHOR

MOST_STEPS = 20
PAST_A_LEASE = 3600


@pytest.fixture
async def world(database: Database, tmp_path: Path, database_url: str) -> AsyncIterator[KnowledgeWorld]:
    """A world whose index other processes share."""
    metadata.create_all(database.engine)
    with database.transaction() as connection:
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
    index = open_database(database_url)
    made = KnowledgeWorld(database, tmp_path, index_store=SqlIndexStore(index), retry_delays_seconds=(0.0,))
    yield made
    await made.close()
    index.close()


async def prepared(world: KnowledgeWorld, command: CommandName, base: str) -> Revision:
    """The target of a command, in a base of its own."""
    item = world.item(base, base=base)
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)
    if command == "publish":
        return second
    await world.publish(second)
    return first


async def found_is_what_is_live(world: KnowledgeWorld, revision: Revision, base: str) -> bool:
    """Whether a search finds all chunks of what is live, each once, and nothing else."""
    live = world.release(revision.item_id).active_revision_id
    evidence = (await world.retrieve(base_id=base)).evidence
    chunks = [one.chunk_id for one in evidence]
    assert len(chunks) == len(set(chunks))
    return [one.revision_id for one in evidence] == ([str(live)] * 3 if live else [])


@pytest.mark.parametrize("command", ["publish", "rollback", "offline"])
async def test_after_every_single_step(
    world: KnowledgeWorld, database_url: str, tmp_path: Path, command: CommandName
) -> None:
    """K-053 to K-056, K-074, K-075, KX-13, X-08."""
    steps = 0
    for step in range(1, MOST_STEPS):
        base = f"{command}-{step}"
        target = await prepared(world, command, base)
        if not killed_after(step, database_url, tmp_path, command, target):
            break
        steps += 1
        assert await found_is_what_is_live(world, target, base), f"after step {step}"

        report = await world.knowledge.reconciling.reconcile_base(AUTHOR, base)
        again = await world.knowledge.reconciling.reconcile_base(AUTHOR, base)

        live = world.release(target.item_id).active_revision_id
        assert report.is_clean
        assert again.repairs == ()
        assert await world.shown(base) == [{str(live)} if live else set()] * 2, f"after step {step}"
        assert await found_is_what_is_live(world, target, base), f"reconciled after step {step}"

    # Two indexes and a transaction; offline enables nothing.
    assert steps == (3 if command == "offline" else 5)


async def test_a_killed_command_is_repeated_with_success(
    world: KnowledgeWorld, database_url: str, tmp_path: Path
) -> None:
    """KX-13: without a reconcile in between."""
    target = await prepared(world, "publish", "again")
    killed_after(2, database_url, tmp_path, "publish", target)

    await world.publish(target)

    assert await found_is_what_is_live(world, target, "again")
    assert await world.shown("again") == [{str(target.id)}, {str(target.id)}]


async def test_processing_that_is_killed_after_any_step_is_done_by_the_next_worker(
    world: KnowledgeWorld, database_url: str, tmp_path: Path
) -> None:
    """K-025, K-035, KQ-12, KX-12."""
    steps = 0
    for step in range(1, MOST_STEPS):
        base = f"process-{step}"
        task = world.started(world.draft(world.item(base, base=base), handbook(30)))
        revision = world.governance.revisions.get(AUTHOR, task.revision_id)
        if not killed_after(step, database_url, tmp_path, "process", revision, turned=str(steps * PAST_A_LEASE)):
            break
        steps += 1
        world.clock.turn(PAST_A_LEASE)

        ended = await world.knowledge.worker("heir").run_next(task.id)

        done = world.read(revision)
        assert (done.status, done.index_status) == (RevisionState.READY_TO_PUBLISH, "INDEXED"), f"after step {step}"
        assert await world.entities(revision, base) == [3, 3], f"after step {step}"
        assert await world.shown(base) == [set(), set()]
        assert ended is not None or world.governance.processing.get(AUTHOR, task.id).status == "SUCCEEDED"

    assert steps >= 5  # claim, entities removed, manifest, two indexes, end


async def test_after_a_kill_on_a_real_embedded_index(database: Database, tmp_path: Path, database_url: str) -> None:
    """K-056 on Milvus Lite, killed between the commit and the closing of the old entities."""
    folder = tmp_path / "indexes"
    world = KnowledgeWorld(database, tmp_path, index_store=MilvusIndexStore.in_folder(folder))
    target = await prepared(world, "publish", "milvus")
    await world.workspace.index_store.close()

    died = killed_after(1, database_url, tmp_path, "publish", target, milvus_folder=str(folder))
    both = await world.shown("milvus")
    is_right = await found_is_what_is_live(world, target, "milvus")
    report = await world.knowledge.reconciling.reconcile_base(AUTHOR, "milvus")
    after = await world.shown("milvus")
    await world.close()
    await world.workspace.index_store.close()

    assert died
    assert is_right
    assert [len(revisions) for revisions in both] == [2, 2]
    assert [repair.kind for repair in report.repairs] == ["SWITCHED"]
    assert after == [{str(target.id)}, {str(target.id)}]
