"""Requests for work on a revision."""

from __future__ import annotations

import pytest

from lorebase.errors import (
    IdempotencyConflictError,
    IndexNotReadyError,
    InvalidStateError,
    RevisionInUseError,
    VersionConflictError,
)
from lorebase.governance.kinds import TaskKind, TaskStatus
from lorebase.governance.states import Command, IndexStatus, RevisionState
from tests.governance.world import AUTHOR, World


@pytest.mark.parametrize("state", ["draft", "submitted", "ready", "failed"])
def test_processing_starts_only_after_approval(world: World, state: str) -> None:
    """K-022."""
    revision = getattr(world, state)()
    tasks_before = world.governance.processing.list(AUTHOR).total

    with pytest.raises(InvalidStateError):
        world.governance.processing.start(AUTHOR, revision.id, version=revision.version, idempotency_key="k")

    assert world.governance.processing.list(AUTHOR).total == tasks_before
    assert world.read(revision) == revision


def test_starting_moves_the_revision_and_makes_the_task_together(world: World) -> None:
    """KQ-02, K-035."""
    approved = world.approved()

    task = world.governance.processing.start(
        AUTHOR, approved.id, version=approved.version, idempotency_key="k", reason="go"
    )

    started = world.read(approved)
    assert (started.status, started.index_status) == (RevisionState.PROCESSING, IndexStatus.INDEXING)
    assert (task.status, task.attempts, task.max_attempts) == (TaskStatus.PENDING, 0, 3)
    assert task.revision_id == approved.id


def test_the_same_request_again_is_the_same_task(world: World) -> None:
    """K-036, KQ-21."""
    approved = world.approved()
    request = {"version": approved.version, "idempotency_key": "k"}

    first = world.governance.processing.start(AUTHOR, approved.id, **request)
    second = world.governance.processing.start(AUTHOR, approved.id, **request)

    assert second == first
    assert world.governance.processing.list(AUTHOR).total == 1


def test_a_key_stands_for_one_payload(world: World) -> None:
    """KQ-21."""
    first, second = world.approved(), world.approved()
    world.governance.processing.start(AUTHOR, first.id, version=first.version, idempotency_key="k")

    with pytest.raises(IdempotencyConflictError):
        world.governance.processing.start(AUTHOR, second.id, version=second.version, idempotency_key="k")

    assert world.read(second) == second


def test_starting_asks_for_the_version_that_the_caller_saw(world: World) -> None:
    approved = world.approved()

    with pytest.raises(VersionConflictError):
        world.governance.processing.start(AUTHOR, approved.id, version=0, idempotency_key="k")

    assert world.governance.processing.list(AUTHOR).total == 0


def test_a_failed_processing_is_retried_without_a_new_review(world: World) -> None:
    """KQ-01."""
    failed = world.failed()

    task = world.governance.processing.retry(AUTHOR, failed.id, version=failed.version, idempotency_key="again")

    again = world.read(failed)
    assert (again.status, again.reviewed_by) == (RevisionState.PROCESSING, "reviewer")
    assert (task.kind, task.attempts) == (TaskKind.PROCESS, 0)


def test_reindexing_moves_the_index_and_not_the_state(world: World) -> None:
    """KQ-11."""
    ready = world.ready()

    world.governance.processing.reindex(AUTHOR, ready.id, version=ready.version, idempotency_key="r")
    during = world.read(ready)
    claimed = world.governance.tasks.claim("w")
    assert claimed is not None
    world.governance.tasks.finish(claimed, embedding_profile="other-64")
    after = world.read(ready)

    assert (during.status, during.index_status) == (RevisionState.READY_TO_PUBLISH, IndexStatus.INDEXING)
    assert (after.status, after.index_status) == (RevisionState.READY_TO_PUBLISH, IndexStatus.INDEXED)
    assert after.embedding_profile == "other-64"


def test_the_index_of_the_live_revision_is_not_deleted(world: World) -> None:
    """KQ-11, C149."""
    ready = world.ready()
    world.governance.releases.switch(AUTHOR, ready.id, Command.PUBLISH, expected_version=0)
    live = world.read(ready)

    with pytest.raises(RevisionInUseError):
        world.governance.processing.delete_index(AUTHOR, live.id, version=live.version, idempotency_key="d")

    assert world.read(live) == live


def test_from_the_request_on_a_deleted_index_counts_as_gone(world: World) -> None:
    """KQ-11, K-077, C149: no rollback slips in between the request and the worker."""
    first = world.ready()
    world.governance.releases.switch(AUTHOR, first.id, Command.PUBLISH, expected_version=0)
    world.governance.releases.withdraw(AUTHOR, first.item_id, expected_version=1)
    old = world.read(first)

    world.governance.processing.delete_index(AUTHOR, old.id, version=old.version, idempotency_key="d")
    with pytest.raises(IndexNotReadyError):
        world.governance.releases.switch(AUTHOR, old.id, Command.ROLL_BACK, expected_version=2)

    assert world.read(old).index_status is IndexStatus.INDEX_DELETED


def test_the_index_of_a_deleted_revision_can_be_freed(world: World) -> None:
    ready = world.ready()
    world.governance.revisions.delete(AUTHOR, ready.id, version=ready.version)

    task = world.governance.processing.delete_index(AUTHOR, ready.id, version=ready.version + 1, idempotency_key="d")

    assert (task.kind, task.status) == (TaskKind.DELETE_INDEX, TaskStatus.PENDING)


def test_what_has_no_index_frees_nothing(world: World) -> None:
    ready = world.ready()
    world.governance.processing.delete_index(AUTHOR, ready.id, version=ready.version, idempotency_key="d")
    claimed = world.governance.tasks.claim("w")
    assert claimed is not None
    world.governance.tasks.finish(claimed)
    freed = world.read(ready)

    with pytest.raises(IndexNotReadyError):
        world.governance.processing.delete_index(AUTHOR, freed.id, version=freed.version, idempotency_key="d2")

    assert world.read(freed) == freed


def test_one_task_at_a_time_works_on_a_revision(world: World) -> None:
    ready = world.ready()
    world.governance.processing.reindex(AUTHOR, ready.id, version=ready.version, idempotency_key="r1")

    with pytest.raises(RevisionInUseError):
        world.governance.processing.reindex(AUTHOR, ready.id, version=ready.version + 1, idempotency_key="r2")

    assert world.governance.processing.list(AUTHOR, status=TaskStatus.PENDING).total == 1
