"""Topics."""

from __future__ import annotations

import pytest

from lorebase.errors import (
    ForbiddenError,
    InvalidInputError,
    InvalidStateError,
    KeyTakenError,
    NotFoundError,
    RevisionInUseError,
    VersionConflictError,
)
from lorebase.governance.context import Capability
from lorebase.governance.states import Command
from tests.governance.world import AUTHOR, REVIEWER, STRANGER, World, caller


def test_a_new_item_has_a_release_with_nothing_live(world: World) -> None:
    """K-031, KQ-06."""
    item = world.governance.items.create(AUTHOR, base_id="handbook", knowledge_key=" 差旅 ", title="差旅费")

    release = world.governance.releases.get(AUTHOR, item.id)

    assert (item.knowledge_key, item.title, item.version) == ("差旅", "差旅费", 0)
    assert (release.active_revision_id, release.version) == (None, 0)


def test_a_key_is_unique_in_its_organisation_and_free_in_another(world: World) -> None:
    """K-031."""
    first = world.item("travel")

    with pytest.raises(KeyTakenError) as refused:
        world.item("travel")
    other = world.governance.items.create(STRANGER, base_id="handbook", knowledge_key="travel", title="Travel")

    assert refused.value.facts == {"item_id": str(first.id)}
    assert other.id != first.id


def test_keys_that_differ_in_case_are_two_keys(world: World) -> None:
    world.item("Travel")

    other = world.item("travel")

    assert other.knowledge_key == "travel"


def test_the_key_of_a_deleted_item_stays_taken_until_it_is_restored(world: World) -> None:
    """KQ-05."""
    item = world.item("travel")
    world.governance.items.delete(AUTHOR, item.id, version=0, reason="out of use")

    with pytest.raises(KeyTakenError, match="deleted item"):
        world.item("travel")
    restored = world.governance.items.restore(AUTHOR, item.id, version=1)

    assert restored.id == item.id
    assert [found.id for found in world.governance.items.list(AUTHOR).records] == [item.id]


def test_a_deleted_item_is_not_found_and_its_history_is(world: World) -> None:
    """K-027, KQ-04."""
    item = world.item()
    world.governance.items.delete(AUTHOR, item.id, version=0, reason="out of use")

    with pytest.raises(NotFoundError):
        world.governance.items.get(AUTHOR, item.id)
    history = world.governance.revisions.history(AUTHOR, item.id)

    assert [entry.command for entry in history.records] == ["DELETE_ITEM", "CREATE_ITEM"]
    assert history.records[0].reason == "out of use"


def test_an_item_with_a_live_revision_is_not_deleted(world: World) -> None:
    """KQ-04."""
    revision = world.ready()
    world.governance.releases.switch(AUTHOR, revision.id, Command.PUBLISH, expected_version=0)

    with pytest.raises(RevisionInUseError) as refused:
        world.governance.items.delete(AUTHOR, revision.item_id, version=0)

    assert refused.value.facts == {"revision_id": str(revision.id)}


def test_an_item_with_a_revision_under_review_is_not_deleted(world: World) -> None:
    revision = world.submitted()

    with pytest.raises(RevisionInUseError):
        world.governance.items.delete(AUTHOR, revision.item_id, version=0)

    assert world.governance.items.get(AUTHOR, revision.item_id).version == 0


def test_deleting_asks_for_the_version_that_the_caller_saw(world: World) -> None:
    item = world.item()

    with pytest.raises(VersionConflictError):
        world.governance.items.delete(AUTHOR, item.id, version=5)

    assert world.governance.items.get(AUTHOR, item.id).version == 0


def test_what_is_not_deleted_is_not_restored(world: World) -> None:
    item = world.item()

    with pytest.raises(InvalidStateError):
        world.governance.items.restore(AUTHOR, item.id, version=0)

    assert world.governance.revisions.history(AUTHOR, item.id).total == 1


def test_lists_come_in_pages(world: World) -> None:
    ids = [world.item().id for _ in range(5)]

    second = world.governance.items.list(AUTHOR, base_id="handbook", page_number=2, page_size=2)

    assert [item.id for item in second.records] == ids[2:4]
    assert (second.total, second.total_pages) == (5, 3)


@pytest.mark.parametrize(("page_number", "page_size"), [(0, 10), (1, 0), (1, 101)])
def test_a_page_out_of_range_is_refused(world: World, page_number: int, page_size: int) -> None:
    with pytest.raises(InvalidInputError):
        world.governance.items.list(AUTHOR, page_number=page_number, page_size=page_size)

    assert world.governance.items.list(AUTHOR).total == 0


@pytest.mark.parametrize(
    "values", [{"base_id": "Not A Slug"}, {"knowledge_key": "  "}, {"title": "长" * 256}, {"description": "a\x00b"}]
)
def test_values_out_of_range_are_refused_and_nothing_is_written(world: World, values: dict[str, str]) -> None:
    good = {"base_id": "handbook", "knowledge_key": "travel", "title": "Travel"}

    with pytest.raises(InvalidInputError):
        world.governance.items.create(AUTHOR, **{**good, **values})

    assert world.governance.items.list(AUTHOR).total == 0


def test_a_command_needs_its_capability(world: World) -> None:
    reader = caller("reader", 7, Capability.READ)

    with pytest.raises(ForbiddenError, match=r"knowledge\.edit"):
        world.governance.items.create(reader, base_id="handbook", knowledge_key="travel", title="Travel")

    assert world.governance.items.list(reader).total == 0


def test_a_command_records_operator_time_reason_and_trace(world: World) -> None:
    """K-029."""
    item = world.governance.items.create(
        REVIEWER, base_id="handbook", knowledge_key="travel", title="Travel", reason="新制度"
    )

    (entry,) = world.governance.revisions.history(AUTHOR, item.id).records

    assert (entry.operator, entry.reason, entry.trace_id) == ("reviewer", "新制度", "trace-reviewer")
    assert entry.created_at == world.clock.now()


def test_ids_are_text_in_json_because_browsers_round_large_numbers(world: World) -> None:
    item = world.item()

    shown = item.model_dump(mode="json")

    assert shown["id"] == str(item.id)
    assert shown["is_deleted"] is False
