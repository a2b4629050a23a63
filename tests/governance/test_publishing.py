"""Publish, rollback and offline over rows and index together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from lorebase.database import Database
from lorebase.errors import (
    ForbiddenError,
    IndexMismatchError,
    IndexNotReadyError,
    InvalidStateError,
    NotFoundError,
    ReleaseConflictError,
    UnavailableError,
)
from lorebase.governance.context import Capability
from lorebase.governance.model import Revision
from lorebase.governance.publishing import Publishing
from lorebase.governance.states import RevisionState
from lorebase.index.ports import Equals
from tests.governance.knowledge_world import BASE, KnowledgeWorld, handbook
from tests.governance.world import AUTHOR, STRANGER, caller

Act = Callable[[], Awaitable[object]]


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[KnowledgeWorld]:
    made = KnowledgeWorld(database, tmp_path)
    yield made
    await made.close()


class FaultyIndex:
    """The real index, with something that happens before one of its calls."""

    def __init__(self, world: KnowledgeWorld, **before: Act) -> None:
        self._index = world.knowledge.index
        self._before = before

    async def reconcile(self, revision: Revision) -> None:
        await self._index.reconcile(revision)

    async def enable(self, revision: Revision) -> None:
        await self._happens("enable")
        await self._index.enable(revision)
        await self._happens("enabled")

    async def disable(self, revision: Revision) -> None:
        await self._happens("disable")
        await self._index.disable(revision)

    async def is_shown(self, revision: Revision, *, whole: bool) -> bool:
        return await self._index.is_shown(revision, whole=whole)

    async def delete(self, revision: Revision) -> None:
        await self._index.delete(revision)

    async def restore(self, revision: Revision) -> None:
        await self._index.restore(revision)

    async def _happens(self, moment: str) -> None:
        if act := self._before.pop(moment, None):
            await act()


def publishing_over(world: KnowledgeWorld, **before: Act) -> Publishing:
    return Publishing(world.governance.store, world.governance.releases, FaultyIndex(world, **before))


async def unavailable() -> None:
    raise UnavailableError("The index does not answer.")


async def test_what_is_published_is_found_and_what_it_replaces_no_longer(world: KnowledgeWorld) -> None:
    """K-046, K-050, K-052, K-054, K-055."""
    item = world.item()
    first = await world.ready(item, handbook(30))
    second = await world.ready(item, handbook(10))

    opened = await world.publish(first)
    found_first = await world.texts()
    switched = await world.publish(second)

    assert (opened.release.version, opened.replaced_revision_id) == (1, None)
    assert all("30 days" in text for text in found_first)
    assert len(found_first) == 3
    assert (switched.release.version, switched.replaced_revision_id) == (2, first.id)
    assert all("10 days" in text for text in await world.texts())
    assert await world.shown() == [{str(second.id)}, {str(second.id)}]
    assert (world.read(first).status, world.read(second).status) == (
        RevisionState.DEPRECATED,
        RevisionState.PUBLISHED,
    )


async def test_nothing_is_found_before_a_person_publishes(world: KnowledgeWorld) -> None:
    """K-043, K-047."""
    await world.ready(world.item(), handbook(30))

    found = await world.retrieve()

    assert (found.answerable, found.reason, found.evidence) == (False, "NO_EVIDENCE", ())
    assert await world.shown() == [set(), set()]


async def test_a_rollback_shows_the_old_revision_and_closes_the_new_one(world: KnowledgeWorld) -> None:
    """K-058, K-059."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)
    await world.publish(second)

    done = await world.roll_back(first)

    assert (done.release.active_revision_id, done.replaced_revision_id) == (first.id, second.id)
    assert all("30 days" in text for text in await world.texts())
    assert await world.shown() == [{str(first.id)}, {str(first.id)}]


async def test_what_is_taken_offline_is_found_no_longer_and_makes_no_task(world: KnowledgeWorld) -> None:
    """K-037, K-074."""
    item = world.item()
    revision = await world.ready(item, handbook(30))
    await world.publish(revision)

    done = await world.take_offline(item.id)

    assert done.release.active_revision_id is None
    assert await world.texts() == []
    assert await world.shown() == [set(), set()]
    assert world.governance.processing.list(AUTHOR).total == 1


async def test_where_the_index_cannot_be_enabled_the_transaction_is_not_entered(world: KnowledgeWorld) -> None:
    """K-053."""
    item = world.item()
    revision = await world.ready(item, handbook(30))
    publishing = publishing_over(world, enable=unavailable)

    with pytest.raises(UnavailableError) as refused:
        await publishing.publish(AUTHOR, revision.id, expected_version=0)

    assert world.release(item.id).version == 0
    assert world.read(revision).status is RevisionState.READY_TO_PUBLISH
    assert await world.shown() == [set(), set()]
    assert refused.value.facts["needs_reconcile"] is False


async def test_who_loses_the_switch_closes_what_it_had_enabled(world: KnowledgeWorld) -> None:
    """KQ-07, KX-13, C144."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))

    async def somebody_else_publishes() -> None:
        await world.publish(first)

    publishing = publishing_over(world, enabled=somebody_else_publishes)
    with pytest.raises(ReleaseConflictError) as lost:
        await publishing.publish(AUTHOR, second.id, expected_version=0)

    assert lost.value.facts["active_revision_id"] == str(first.id)
    assert lost.value.facts["needs_reconcile"] is False
    assert await world.shown() == [{str(first.id)}, {str(first.id)}]
    assert world.read(second).status is RevisionState.READY_TO_PUBLISH
    history = world.governance.revisions.history(AUTHOR, item.id).records
    assert history[0].command == "COMPENSATE_PUBLISH"


async def test_two_publishes_of_one_revision_leave_it_shown(world: KnowledgeWorld) -> None:
    """KQ-07."""
    item = world.item()
    revision = await world.ready(item, handbook(30))

    async def somebody_else_publishes() -> None:
        await world.publish(revision)

    publishing = publishing_over(world, enabled=somebody_else_publishes)
    with pytest.raises(ReleaseConflictError):
        await publishing.publish(AUTHOR, revision.id, expected_version=0)

    assert await world.shown() == [{str(revision.id)}, {str(revision.id)}]
    assert len(await world.texts()) == 3


async def test_a_compensation_that_fails_is_said_and_a_reconcile_mends_it(world: KnowledgeWorld) -> None:
    """KQ-07."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))

    async def somebody_else_publishes() -> None:
        await world.publish(first)

    publishing = publishing_over(world, enabled=somebody_else_publishes, disable=unavailable)
    with pytest.raises(ReleaseConflictError) as lost:
        await publishing.publish(AUTHOR, second.id, expected_version=0)
    found = await world.texts()
    report = await world.knowledge.reconciling.reconcile_item(AUTHOR, item.id)

    assert lost.value.facts["needs_reconcile"] is True
    assert len(found) == 3
    assert all("30 days" in text for text in found)
    assert [(repair.revision_id, repair.kind) for repair in report.repairs] == [(second.id, "SWITCHED")]
    assert await world.shown() == [{str(first.id)}, {str(first.id)}]


async def test_old_entities_that_cannot_be_closed_are_said_and_never_found(world: KnowledgeWorld) -> None:
    """K-056, K-065, KX-13."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)

    publishing = publishing_over(world, disable=unavailable)
    done = await publishing.publish(AUTHOR, second.id, expected_version=1)

    assert done.needs_reconcile
    assert await world.shown() == [{str(first.id), str(second.id)}] * 2
    assert all("10 days" in text for text in await world.texts())


async def test_a_close_that_comes_too_late_does_not_hide_what_is_live_again(world: KnowledgeWorld) -> None:
    """KX-13: consecutive publishes."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)

    async def somebody_rolls_back() -> None:
        await world.roll_back(first)

    publishing = publishing_over(world, disable=somebody_rolls_back)
    await publishing.publish(AUTHOR, second.id, expected_version=1)

    assert world.release(item.id).active_revision_id == first.id
    assert await world.shown() == [{str(first.id)}, {str(first.id)}]


async def test_the_same_request_again_is_a_repeat_and_another_one_is_refused(world: KnowledgeWorld) -> None:
    """KQ-08."""
    item = world.item()
    revision = await world.ready(item, handbook(30))
    asking = AUTHOR.model_copy(update={"request_id": "request-1"})
    publishing = world.knowledge.publishing
    await publishing.publish(asking, revision.id, expected_version=0)

    again = await publishing.publish(asking, revision.id, expected_version=0)
    with pytest.raises(InvalidStateError):
        await publishing.publish(AUTHOR, revision.id, expected_version=1)

    assert (again.is_repeat, again.release.version) == (True, 1)


async def test_the_same_request_to_go_offline_again_is_a_repeat(world: KnowledgeWorld) -> None:
    item = world.item()
    await world.publish(await world.ready(item, handbook(30)))
    asking = AUTHOR.model_copy(update={"request_id": "request-2"})
    await world.knowledge.publishing.take_offline(asking, item.id, expected_version=1)

    again = await world.knowledge.publishing.take_offline(asking, item.id, expected_version=1)

    assert (again.is_repeat, again.release.version) == (True, 2)


async def test_an_index_that_lacks_an_entity_is_not_published(world: KnowledgeWorld) -> None:
    """K-044, K-050."""
    revision = await world.ready(world.item(), handbook(30))
    vectors = (await world.knowledge.bases.open(BASE)).vectors()
    assert vectors is not None
    lost = (await vectors.fields((Equals("revision_id", str(revision.id)),)))[0]
    await vectors.delete((Equals("chunk_id", lost.chunk_id),))

    with pytest.raises(IndexMismatchError, match="1 of 3 entities are missing"):
        await world.publish(revision)

    assert world.release(revision.item_id).version == 0
    assert await world.shown() == [set(), set()]


async def test_a_rollback_needs_an_index_that_was_freed_to_be_built_again(world: KnowledgeWorld) -> None:
    """K-077, KQ-11, C149."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)
    await world.publish(second)
    processing, worker = world.governance.processing, world.knowledge.worker("worker-1")
    processing.delete_index(AUTHOR, first.id, version=world.read(first).version, idempotency_key="free")
    await worker.run_next()
    freed = await world.entities(first)

    with pytest.raises(IndexNotReadyError):
        await world.roll_back(first)
    processing.reindex(AUTHOR, first.id, version=world.read(first).version, idempotency_key="again")
    await worker.run_next()
    await world.roll_back(first)

    assert freed == [0, 0]
    assert all("30 days" in text for text in await world.texts())


async def test_a_rollback_while_a_newer_revision_is_processed_stops_neither(world: KnowledgeWorld) -> None:
    """C148."""
    item = world.item()
    first, second = await world.ready(item, handbook(30)), await world.ready(item, handbook(10))
    await world.publish(first)
    await world.publish(second)
    task = world.started(world.draft(item, handbook(5)))

    await world.roll_back(first)
    ended = await world.knowledge.worker("worker-1").run_next(task.id)

    commands = [entry.command for entry in world.governance.revisions.history(AUTHOR, item.id, page_size=50).records]
    assert ended is not None
    assert world.governance.revisions.get(AUTHOR, task.revision_id).status is RevisionState.READY_TO_PUBLISH
    assert all("30 days" in text for text in await world.texts())
    assert (commands.count("PUBLISH"), commands.count("ROLL_BACK"), commands.count("REPLACE")) == (2, 1, 2)


async def test_a_caller_that_gives_up_does_not_stop_the_loading_of_models(world: KnowledgeWorld) -> None:
    """K-069: a budget shorter than the first loading must not keep a process from ever answering."""
    world.knowledge.bases.recipes.of(BASE)  # read, so that the opening begins at once
    waiting = asyncio.create_task(world.knowledge.bases.open(BASE))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    first, second = await world.knowledge.bases.open(BASE), await world.knowledge.bases.open(BASE)

    assert first is second
    assert world.workspace.opened_embedders == 1


async def test_only_who_may_publish_publishes_and_strangers_find_no_revision(world: KnowledgeWorld) -> None:
    """KX-19."""
    revision = await world.ready(world.item(), handbook(30))
    publishing = world.knowledge.publishing

    with pytest.raises(ForbiddenError):
        await publishing.publish(caller("reader", 7, Capability.READ), revision.id, expected_version=0)
    with pytest.raises(NotFoundError):
        await publishing.publish(STRANGER, revision.id, expected_version=0)
    with pytest.raises(NotFoundError):
        await publishing.take_offline(STRANGER, revision.item_id, expected_version=0)

    assert await world.shown() == [set(), set()]
