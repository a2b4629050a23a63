"""Workers and their tasks."""

from __future__ import annotations

import pytest

from lorebase.errors import InvalidStateError, UnavailableError
from lorebase.governance.kinds import TaskKind, TaskStatus
from lorebase.governance.states import IndexStatus, RevisionState
from lorebase.governance.task_failures import Stage
from lorebase.governance.task_queue import worker_context
from tests.governance.world import AUTHOR, World

BUSY = UnavailableError("The index is busy.", dependency="index")


def test_without_tasks_there_is_nothing_to_claim(world: World) -> None:
    assert world.governance.tasks.claim("w") is None


def test_a_claimed_task_is_nobody_elses_for_a_lease(world: World) -> None:
    """KQ-22, KX-12."""
    world.started()

    first = world.governance.tasks.claim("w1")
    second = world.governance.tasks.claim("w2")

    assert first is not None
    assert (first.status, first.lease_owner, first.attempts) == (TaskStatus.RUNNING, "w1", 1)
    assert second is None


def test_tasks_are_claimed_in_the_order_in_which_they_became_due(world: World) -> None:
    _revision, older = world.started()
    world.clock.turn(1)
    _revision, newer = world.started()

    claimed = [world.governance.tasks.claim("w"), world.governance.tasks.claim("w")]

    assert [task.id for task in claimed if task] == [older.id, newer.id]


def test_a_worker_takes_only_what_it_can_do(world: World) -> None:
    world.started()

    claimed = world.governance.tasks.claim("w", [TaskKind.DELETE_INDEX])

    assert claimed is None


def test_a_lease_that_ran_out_is_claimed_again_and_its_old_holder_is_refused(world: World) -> None:
    """KX-12."""
    revision, _task = world.started()
    lost = world.governance.tasks.claim("w1")
    world.clock.turn(301)
    taken = world.governance.tasks.claim("w2")
    assert lost is not None
    assert taken is not None

    for late_call in (world.governance.tasks.heartbeat, world.governance.tasks.finish):
        with pytest.raises(InvalidStateError, match="no longer held"):
            late_call(lost)
    world.governance.tasks.finish(taken)

    assert (taken.id, taken.attempts) == (lost.id, 2)
    assert world.read(revision).status is RevisionState.READY_TO_PUBLISH


def test_a_heartbeat_holds_a_task_for_another_lease(world: World) -> None:
    """KQ-22."""
    world.started()
    held = world.governance.tasks.claim("w1")
    assert held is not None
    world.clock.turn(200)
    world.governance.tasks.heartbeat(held)
    world.clock.turn(200)

    other = world.governance.tasks.claim("w2")
    finished = world.governance.tasks.finish(held)

    assert other is None
    assert finished.status is TaskStatus.SUCCEEDED


def test_finishing_makes_the_revision_publishable(world: World) -> None:
    """K-009, K-025."""
    revision, _task = world.started()
    claimed = world.governance.tasks.claim("w1")
    assert claimed is not None

    finished = world.governance.tasks.finish(claimed, embedding_profile="hash-64")

    ready = world.read(revision)
    assert (ready.status, ready.index_status) == (RevisionState.READY_TO_PUBLISH, IndexStatus.INDEXED)
    assert ready.embedding_profile == "hash-64"
    assert (finished.status, finished.finished_at) == (TaskStatus.SUCCEEDED, world.clock.now())
    (last, *_before) = world.governance.revisions.history(AUTHOR, ready.item_id).records
    assert (last.command, last.operator, last.trace_id) == ("FINISH_PROCESSING", "worker:w1", "trace-author")


def test_an_attempt_that_may_go_better_is_tried_again_after_a_wait(world: World) -> None:
    """KQ-22: delays of 10 and 60 seconds, three attempts."""
    revision, _task = world.started()
    claims = []
    for wait_seconds in (10, 60):
        claimed = world.governance.tasks.claim("w")
        assert claimed is not None
        again = world.governance.tasks.fail(claimed, BUSY, Stage.INDEX)
        world.clock.turn(wait_seconds - 1)
        early = world.governance.tasks.claim("w")
        world.clock.turn(1)
        claims.append((again.status, again.error_code, early))
        assert world.read(revision).status is RevisionState.PROCESSING

    last = world.governance.tasks.claim("w")
    assert last is not None
    failed = world.governance.tasks.fail(last, BUSY, Stage.INDEX)

    assert claims == [(TaskStatus.PENDING, "VECTOR_WRITE_FAILED", None)] * 2
    assert (failed.status, failed.attempts) == (TaskStatus.FAILED, 3)
    assert world.read(revision).status is RevisionState.PROCESS_FAILED
    assert world.read(revision).index_status is IndexStatus.INDEX_FAILED


def test_what_no_repetition_mends_fails_at_once(world: World) -> None:
    """KQ-22, K-010."""
    revision, _task = world.started()
    claimed = world.governance.tasks.claim("w")
    assert claimed is not None

    failed = world.governance.tasks.fail(claimed, ValueError("no"), Stage.PARSE)

    assert (failed.status, failed.error_code) == (TaskStatus.FAILED, "PARSE_FAILED")
    assert world.read(revision).status is RevisionState.PROCESS_FAILED


def test_a_task_whose_workers_all_died_fails_with_a_timeout(world: World) -> None:
    """KQ-22, KQ-23."""
    revision, task = world.started()
    for number in range(3):
        assert world.governance.tasks.claim(f"w{number}") is not None
        world.clock.turn(301)

    after = world.governance.tasks.claim("w4")

    ended = world.governance.processing.get(AUTHOR, task.id)
    assert after is None
    assert (ended.status, ended.error_code) == (TaskStatus.FAILED, "TASK_TIMEOUT")
    assert world.read(revision).status is RevisionState.PROCESS_FAILED


def test_a_waiting_task_can_be_cancelled_and_its_revision_processed_again(world: World) -> None:
    revision, task = world.started()

    cancelled = world.governance.tasks.cancel(AUTHOR, task.id, reason="wrong file")
    stopped = world.read(revision)
    retried = world.governance.processing.retry(AUTHOR, stopped.id, version=stopped.version, idempotency_key="again")

    assert cancelled.status is TaskStatus.CANCELLED
    assert stopped.status is RevisionState.PROCESS_FAILED
    assert retried.id != task.id


def test_a_running_task_is_not_cancelled(world: World) -> None:
    _revision, task = world.started()
    world.governance.tasks.claim("w")

    with pytest.raises(InvalidStateError):
        world.governance.tasks.cancel(AUTHOR, task.id)

    assert world.governance.processing.get(AUTHOR, task.id).status is TaskStatus.RUNNING


def test_a_failed_reindex_leaves_the_state_and_marks_the_index(world: World) -> None:
    """KQ-11."""
    ready = world.ready()
    world.governance.processing.reindex(AUTHOR, ready.id, version=ready.version, idempotency_key="r")
    claimed = world.governance.tasks.claim("w")
    assert claimed is not None

    world.governance.tasks.fail(claimed, ValueError("no"), Stage.EMBED)

    after = world.read(ready)
    assert (after.status, after.index_status) == (RevisionState.READY_TO_PUBLISH, IndexStatus.INDEX_FAILED)


def test_a_worker_acts_in_the_organisation_and_trace_of_its_task(world: World) -> None:
    world.started()
    claimed = world.governance.tasks.claim("w1")
    assert claimed is not None

    context = worker_context(claimed)

    assert (context.organ_id, context.user_id, context.trace_id) == (7, "worker:w1", "trace-author")
