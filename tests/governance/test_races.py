"""Commands that several processes give at the same moment."""

from __future__ import annotations

from collections import Counter

from lorebase.database import Database
from lorebase.governance.states import RevisionState
from tests.governance.racing import (
    approve,
    claim_all,
    create_draft,
    create_item,
    kill_in_transaction,
    publish,
    race,
    start_processing,
)
from tests.governance.world import AUTHOR, REVIEWER, World


def test_of_many_reviewers_one_decides(world: World, database_url: str) -> None:
    """KQ-20."""
    submitted = world.submitted()

    answers = race(database_url, world.folder, approve, (submitted.id, submitted.version))

    assert Counter(code for code, _text in answers) == {"done": 1, "VERSION_CONFLICT": 3}
    (winner,) = [text for code, text in answers if code == "done"]
    assert world.read(submitted).reviewed_by == winner
    history = world.governance.revisions.history(AUTHOR, submitted.item_id, page_size=100).records
    assert [entry.operator for entry in history if entry.command == "APPROVE"] == [winner]


def test_of_many_drafts_of_an_item_one_is_made(world: World, database_url: str) -> None:
    """K-017, K-018."""
    item = world.item()

    answers = race(database_url, world.folder, create_draft, item.id)

    assert Counter(code for code, _text in answers) == {"done": 1, "DRAFT_CONFLICT": 3}
    assert world.governance.revisions.list(AUTHOR, item_id=item.id).total == 1


def test_of_many_items_with_one_key_one_is_made(world: World, database_url: str) -> None:
    """K-031, KX-07: the losers learn who won."""
    answers = race(database_url, world.folder, create_item, "travel")

    assert Counter(code for code, _text in answers) == {"done": 1, "KEY_TAKEN": 3}
    (winner,) = [text for code, text in answers if code == "done"]
    assert all(winner in text for _code, text in answers)


def test_the_same_request_from_many_is_one_task(world: World, database_url: str) -> None:
    """K-036, KQ-21."""
    approved = world.approved()

    answers = race(database_url, world.folder, start_processing, ([approved.id], approved.version, "k"))

    assert len(set(answers)) == 1
    assert answers[0][0] == "done"
    assert world.governance.processing.list(AUTHOR).total == 1
    assert world.read(approved).status is RevisionState.PROCESSING


def test_one_key_for_many_payloads_serves_one_of_them(world: World, database_url: str) -> None:
    """KQ-21: the key is unique over items whose locks do not meet."""
    revisions = [world.approved() for _ in range(4)]

    answers = race(
        database_url, world.folder, start_processing, ([one.id for one in revisions], revisions[0].version, "k")
    )

    assert Counter(code for code, _text in answers) == {"done": 1, "IDEMPOTENCY_CONFLICT": 3}
    states = Counter(world.read(revision).status.value for revision in revisions)
    assert states == {"PROCESSING": 1, "APPROVED": 3}


def test_no_task_is_claimed_twice(world: World, database_url: str) -> None:
    """K-036, KX-12."""
    tasks = [world.started()[1] for _ in range(12)]

    answers = race(database_url, world.folder, claim_all, 0)

    claimed = [task_id for _code, text in answers for task_id in text.split()]
    assert sorted(claimed) == sorted(str(task.id) for task in tasks)
    assert {code for code, _text in answers} == {"done"}


def test_of_many_publishes_from_the_same_base_one_wins_and_the_others_learn_what_is_live(
    world: World, database_url: str, database: Database
) -> None:
    """C144, K-054."""
    item = world.item()
    ready = [world.ready(item) for _ in range(4)]

    answers = race(database_url, world.folder, publish, ([one.id for one in ready], 0))

    (winner,) = [text for code, text in answers if code == "done"]
    losers = [text for code, text in answers if code == "RELEASE_CONFLICT"]
    assert len(losers) == 3
    assert all(f"revision {winner} is live" in text for text in losers)
    assert Counter(world.read(revision).status.value for revision in ready) == {"PUBLISHED": 1, "READY_TO_PUBLISH": 3}
    assert world.governance.releases.get(AUTHOR, item.id).version == 1


def test_a_process_that_is_killed_within_a_command_changes_nothing_and_locks_nothing(
    world: World, database_url: str
) -> None:
    """KX-07, KX-12."""
    submitted = world.submitted()

    kill_in_transaction(database_url, world.folder, submitted.id)

    assert world.read(submitted) == submitted
    commands = [entry.command for entry in world.governance.revisions.history(AUTHOR, submitted.item_id).records]
    assert "APPROVE" not in commands
    decided = world.governance.review.approve(REVIEWER, submitted.id, version=submitted.version)
    assert decided.reviewed_by == "reviewer"
