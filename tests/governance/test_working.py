"""Workers: from an approved revision to one that can be published."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

from lorebase.database import Database
from lorebase.errors import RateLimitedError, RefusedError
from lorebase.governance.kinds import TaskStatus
from lorebase.governance.model import FaqEntry
from lorebase.governance.states import IndexStatus, RevisionState
from lorebase.governance.tables import chunks, tasks
from lorebase.index.ports import Equals
from lorebase.recipes.loading import parse_recipe
from tests.governance.knowledge_world import BASE, KnowledgeWorld, handbook
from tests.governance.world import AUTHOR

SECRET = "sk-verysecret"


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[KnowledgeWorld]:
    made = KnowledgeWorld(database, tmp_path)
    yield made
    await made.close()


async def test_a_processed_revision_has_a_manifest_and_entities_that_nothing_returns(world: KnowledgeWorld) -> None:
    """K-025, K-030, K-043, K-044, X-10."""
    revision = await world.ready(world.item(), handbook(30), tags=["差旅", "expenses"])
    base = await world.knowledge.bases.open(BASE)
    with world.database.reading() as connection:
        rows = list(connection.execute(select(chunks).order_by(chunks.c.position)))
    vectors = base.vectors()
    assert vectors is not None
    entities = await vectors.fields((Equals("revision_id", str(revision.id)),))

    assert (revision.status, revision.index_status) == (RevisionState.READY_TO_PUBLISH, IndexStatus.INDEXED)
    assert revision.embedding_profile == base.profile_id
    assert [row.place_json["heading_path"] for row in rows] == [["Chapter 0"], ["Chapter 1"], ["Chapter 2"]]
    assert {entity.chunk_id for entity in entities} == {str(row.id) for row in rows}
    assert {(entity.organ_id, entity.document_id, entity.searchable) for entity in entities} == {
        (7, str(revision.item_id), False)
    }
    assert all(set(entity.tags) == {"差旅", "expenses"} for entity in entities)


async def test_an_error_that_may_pass_is_tried_again_and_what_is_paid_for_is_paid_once(world: KnowledgeWorld) -> None:
    """K-038, KX-12, KQ-22."""
    task = world.started(world.draft(world.item(), handbook(30)))
    worker = world.knowledge.worker("worker-1")
    world.workspace.failures.append(RateLimitedError(f"Too many requests with {SECRET}."))

    first = await worker.run_next()
    at_once = await worker.run_next()
    world.clock.turn(11)
    second = await worker.run_next()

    assert first is not None
    assert second is not None
    assert (first.status, first.error_code) == (TaskStatus.PENDING, "EMBEDDING_RATE_LIMIT")
    assert at_once is None
    assert (second.id, second.status, second.attempts) == (task.id, TaskStatus.SUCCEEDED, 2)
    assert set(world.workspace.seen.values()) == {1}


async def test_a_text_of_an_item_is_paid_for_once_whatever_becomes_of_its_revisions_and_of_the_index(
    world: KnowledgeWorld,
) -> None:
    item = world.item()
    first = await world.ready(item, handbook(30))
    await world.publish(first)
    second = await world.ready(item, handbook(30).replace("rule 2", "rule two"))
    await world.publish(second)
    before = await world.texts()

    await world.knowledge.index.delete(second)
    restored = await world.knowledge.reconciling.reconcile_base(AUTHOR, BASE)
    former = world.read(first)
    task = world.governance.processing.reindex(AUTHOR, first.id, version=former.version, idempotency_key="again")
    await world.knowledge.worker("worker-1").run_next(task.id)

    assert [str(repair.kind) for repair in restored.repairs] == ["RESTORED", "SWITCHED"]
    assert len(world.workspace.seen) == 4
    assert set(world.workspace.seen.values()) == {1}
    assert await world.texts() == before
    assert await world.entities(world.read(first)) == [3, 3]


async def test_an_error_for_good_keeps_a_code_and_not_a_word(
    world: KnowledgeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """K-038, K-039."""
    caplog.set_level(logging.DEBUG)
    task = world.started(world.draft(world.item(), handbook(30)))
    world.workspace.failures.append(RefusedError(f"Refused 'Travel reports' with the key {SECRET}."))

    ended = await world.knowledge.worker("worker-1").run_next()

    assert ended is not None
    assert (ended.status, ended.error_code) == (TaskStatus.FAILED, "EMBEDDING_FAILED")
    with world.database.reading() as connection:
        stored = str(connection.execute(select(tasks).where(tasks.c.id == task.id)).one())
    assert SECRET not in stored + caplog.text
    assert "Travel reports" not in stored + caplog.text


async def test_an_original_without_text_fails_in_parsing(world: KnowledgeWorld) -> None:
    world.started(world.draft(world.item(), "\n \n"))

    ended = await world.knowledge.worker("worker-1").run_next()

    assert ended is not None
    assert (ended.status, ended.error_code) == (TaskStatus.FAILED, "PARSE_FAILED")


async def test_a_worker_that_lost_its_task_stops_and_its_heir_ends_it(database: Database, tmp_path: Path) -> None:
    """KX-12: duplicate delivery."""
    world = KnowledgeWorld(database, tmp_path, lease_seconds=0.15)
    world.workspace.embedder_options["latency_seconds"] = 0.6
    task = world.started(world.draft(world.item(), handbook(30)))

    slow = asyncio.create_task(world.knowledge.worker("slow").run_next())
    await asyncio.sleep(0.05)
    world.clock.turn(10)
    stolen = await asyncio.to_thread(world.governance.tasks.claim, "heir")
    lost = await slow
    assert stolen is not None
    still_running = world.governance.processing.get(AUTHOR, task.id)
    await world.close()

    assert lost is not None
    assert (stolen.lease_owner, stolen.attempts) == ("heir", 2)
    assert (still_running.status, still_running.lease_owner) == (TaskStatus.RUNNING, "heir")


async def test_a_live_revision_that_is_indexed_again_stays_found_under_the_same_ids(world: KnowledgeWorld) -> None:
    """KQ-11, KQ-12, C155."""
    revision = await world.ready(world.item(), handbook(30))
    await world.publish(revision)
    before = {evidence.chunk_id for evidence in (await world.retrieve()).evidence}
    version = world.read(revision).version
    world.governance.processing.reindex(AUTHOR, revision.id, version=version, idempotency_key="again")

    await world.knowledge.worker("worker-1").run_next()

    assert {evidence.chunk_id for evidence in (await world.retrieve()).evidence} == before
    assert world.read(revision).index_status is IndexStatus.INDEXED


async def test_another_recipe_replaces_the_manifest_and_old_citations_say_withdrawn(world: KnowledgeWorld) -> None:
    """KQ-12, C155."""
    revision = await world.ready(world.item(), "Travel reports are due within 30 days. " * 6)
    await world.publish(revision)
    cited = (await world.retrieve()).evidence[0]
    smaller = parse_recipe(
        "name: handbook\ngovernance: reviewed\nmodels: {embedding: {provider: local}}\n"
        "procedures: [{use: hybrid_index, with: {max_tokens: 16}}]\n"
    )
    world.knowledge.bases.recipes.remember(smaller)
    version = world.read(revision).version
    world.governance.processing.reindex(AUTHOR, revision.id, version=version, idempotency_key="again")
    await world.knowledge.worker("worker-1").run_next()

    found = await world.retrieve()
    resolved = world.knowledge.citations.resolve(AUTHOR, revision.id, int(cited.chunk_id))

    assert found.answerable
    assert cited.chunk_id not in {evidence.chunk_id for evidence in found.evidence}
    assert (resolved.status, resolved.text) == ("withdrawn", "")
    assert len(set(await world.entities(revision))) == 1


async def test_faq_entries_are_chunks_and_a_disabled_one_is_none(world: KnowledgeWorld) -> None:
    """C159."""
    revision = await world.faq(
        world.item(),
        FaqEntry(question="几天内报销?", answer="三十天内报销。", similar_questions=("报销期限是多久?",)),
        FaqEntry(question="谁审批?", answer="部门经理审批。", enabled=False),
    )
    await world.publish(revision)

    asked = await world.texts("报销期限")
    disabled = await world.texts("谁审批")

    assert len(asked) == 1
    assert "三十天内报销。" in asked[0]
    assert all("部门经理" not in text for text in disabled)


async def test_due_tasks_of_all_organisations_are_done_in_turn(world: KnowledgeWorld) -> None:
    other = AUTHOR.model_copy(update={"organ_id": 8})
    world.started(world.draft(world.item(), handbook(30)))
    world.started(world.draft(world.item(context=other), handbook(30), context=other), other)

    ended = await world.knowledge.worker("worker-1").run_due()

    assert [(task.organ_id, task.status) for task in ended] == [(7, TaskStatus.SUCCEEDED), (8, TaskStatus.SUCCEEDED)]
