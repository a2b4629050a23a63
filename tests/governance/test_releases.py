"""The relational halves of publish, rollback and offline."""

from __future__ import annotations

import pytest

from lorebase.database import Database
from lorebase.errors import (
    IndexNotReadyError,
    InvalidStateError,
    ReleaseConflictError,
)
from lorebase.governance.states import Command, RevisionState
from lorebase.governance.tables import revisions
from tests.governance.world import AUTHOR, World


def test_the_first_publish_replaces_nothing(world: World) -> None:
    """K-054, KQ-09."""
    ready = world.ready()

    done = world.governance.releases.switch(AUTHOR, ready.id, Command.PUBLISH, expected_version=0, reason="go")

    assert (done.release.active_revision_id, done.release.version) == (ready.id, 1)
    assert done.replaced_revision_id is None
    published = world.read(ready)
    assert (published.status, published.published_at) == (RevisionState.PUBLISHED, world.clock.now())


def test_a_publish_deprecates_what_was_live(world: World) -> None:
    """K-026, K-054."""
    first = world.ready()
    world.governance.releases.switch(AUTHOR, first.id, Command.PUBLISH, expected_version=0)
    second = world.ready(world.governance.items.get(AUTHOR, first.item_id))

    done = world.governance.releases.switch(AUTHOR, second.id, Command.PUBLISH, expected_version=1)

    assert done.replaced_revision_id == first.id
    assert [world.read(revision).status for revision in (first, second)] == ["DEPRECATED", "PUBLISHED"]
    assert world.governance.releases.active_revision_ids(7, [first.item_id, 1]) == {first.item_id: second.id}


def test_a_publish_from_an_old_version_of_the_release_changes_nothing(world: World) -> None:
    """C144, K-051."""
    item = world.item()
    first, second = world.ready(item), world.ready(item)
    world.governance.releases.switch(AUTHOR, first.id, Command.PUBLISH, expected_version=0)

    with pytest.raises(ReleaseConflictError) as refused:
        world.governance.releases.switch(AUTHOR, second.id, Command.PUBLISH, expected_version=0)

    assert refused.value.facts["active_revision_id"] == str(first.id)
    assert refused.value.facts["found_version"] == 1
    assert world.read(second) == second
    assert world.governance.releases.get(AUTHOR, item.id).version == 1


@pytest.mark.parametrize("state", ["draft", "submitted", "approved", "failed"])
def test_only_what_is_ready_is_published(world: World, state: str) -> None:
    """K-050."""
    revision = getattr(world, state)()

    with pytest.raises(InvalidStateError):
        world.governance.releases.switch(AUTHOR, revision.id, Command.PUBLISH, expected_version=0)

    assert world.governance.releases.get(AUTHOR, revision.item_id).active_revision_id is None


@pytest.mark.parametrize("index_status", ["NOT_INDEXED", "INDEXING", "INDEX_FAILED", "INDEX_DELETED"])
def test_only_what_is_indexed_is_published(world: World, database: Database, index_status: str) -> None:
    """K-025, K-050."""
    ready = world.ready()
    with database.transaction() as connection:
        connection.execute(revisions.update().values(index_status=index_status))

    with pytest.raises(IndexNotReadyError):
        world.governance.releases.switch(AUTHOR, ready.id, Command.PUBLISH, expected_version=0)

    assert world.governance.releases.get(AUTHOR, ready.item_id).version == 0


def test_a_rollback_makes_a_replaced_revision_live_again(world: World) -> None:
    """K-057 to K-059, C148: a revision in processing goes on, and the history keeps everything."""
    item = world.item()
    first, second = world.ready(item), world.ready(item)
    world.governance.releases.switch(AUTHOR, first.id, Command.PUBLISH, expected_version=0)
    world.governance.releases.switch(AUTHOR, second.id, Command.PUBLISH, expected_version=1)
    third, _task = world.started(item)

    done = world.governance.releases.switch(AUTHOR, first.id, Command.ROLL_BACK, expected_version=2, reason="wrong")
    claimed = world.governance.tasks.claim("w")
    assert claimed is not None
    world.governance.tasks.finish(claimed)

    assert (done.release.active_revision_id, done.replaced_revision_id) == (first.id, second.id)
    states = [world.read(revision).status.value for revision in (first, second, third)]
    assert states == ["PUBLISHED", "DEPRECATED", "READY_TO_PUBLISH"]
    commands = [entry.command for entry in world.governance.revisions.history(AUTHOR, item.id, page_size=100).records]
    assert [command for command in reversed(commands) if command in {"PUBLISH", "REPLACE", "ROLL_BACK"}] == [
        "PUBLISH", "REPLACE", "PUBLISH", "REPLACE", "ROLL_BACK",
    ]  # fmt: skip


def test_only_a_deprecated_revision_is_rolled_back_to(world: World) -> None:
    """K-058."""
    ready = world.ready()

    with pytest.raises(InvalidStateError):
        world.governance.releases.switch(AUTHOR, ready.id, Command.ROLL_BACK, expected_version=0)

    assert world.read(ready) == ready


def test_going_offline_leaves_nothing_live(world: World) -> None:
    """K-074, KQ-06."""
    ready = world.ready()
    world.governance.releases.switch(AUTHOR, ready.id, Command.PUBLISH, expected_version=0)

    done = world.governance.releases.withdraw(AUTHOR, ready.item_id, expected_version=1, reason="recalled")

    assert (done.release.active_revision_id, done.release.version, done.replaced_revision_id) == (None, 2, ready.id)
    assert world.read(ready).status is RevisionState.DEPRECATED
    assert world.governance.releases.active_revision_ids(7, [ready.item_id]) == {}


def test_what_is_not_live_is_not_taken_offline(world: World) -> None:
    item = world.item()

    with pytest.raises(InvalidStateError):
        world.governance.releases.withdraw(AUTHOR, item.id, expected_version=0)

    assert world.governance.releases.get(AUTHOR, item.id).version == 0


def test_publishing_again_is_done_already_for_the_same_request_and_wrong_for_another(world: World) -> None:
    """KQ-08."""
    ready = world.ready()
    request = AUTHOR.model_copy(update={"request_id": "r-1"})
    world.governance.releases.switch(request, ready.id, Command.PUBLISH, expected_version=0)

    again = world.governance.releases.switch(request, ready.id, Command.PUBLISH, expected_version=0)
    with pytest.raises(InvalidStateError):
        world.governance.releases.switch(AUTHOR, ready.id, Command.PUBLISH, expected_version=1)

    assert (again.is_repeat, again.release.version) == (True, 1)


def test_publish_rollback_and_offline_make_no_task(world: World) -> None:
    """K-037, K-049, K-060."""
    ready = world.ready()
    before = world.governance.processing.list(AUTHOR).total

    world.governance.releases.switch(AUTHOR, ready.id, Command.PUBLISH, expected_version=0)
    world.governance.releases.withdraw(AUTHOR, ready.item_id, expected_version=1)
    world.governance.releases.switch(AUTHOR, ready.id, Command.ROLL_BACK, expected_version=2)

    assert world.governance.processing.list(AUTHOR).total == before


def test_what_a_switch_would_be_refused_for_is_told_before_the_index_is_touched(world: World) -> None:
    """K-050, K-051."""
    ready, draft = world.ready(), world.draft()

    target = world.governance.releases.require_switchable(AUTHOR, ready.id, Command.PUBLISH, expected_version=0)
    with pytest.raises(ReleaseConflictError):
        world.governance.releases.require_switchable(AUTHOR, ready.id, Command.PUBLISH, expected_version=1)
    with pytest.raises(InvalidStateError):
        world.governance.releases.require_switchable(AUTHOR, draft.id, Command.PUBLISH, expected_version=0)

    assert target == ready
