"""Taking in files."""

from __future__ import annotations

import io

import pytest

from lorebase.errors import (
    DraftConflictError,
    DuplicateSourceError,
    FileTooLargeError,
    InvalidStateError,
    NotFoundError,
    ReviewInProgressError,
    VersionConflictError,
)
from lorebase.governance.file_checks import Upload
from lorebase.governance.states import Command, RevisionState
from lorebase.governance.uploads import OnDuplicate
from tests.governance.world import AUTHOR, STRANGER, World, upload

TEXT = "报销须在 30 天内。 Within 30 days.".encode()


def stored_objects(world: World) -> int:
    return sum(1 for path in world.folder.rglob("*") if path.is_file())


def test_a_file_for_an_item_without_a_draft_makes_one(world: World) -> None:
    """K-016, K-030."""
    item = world.item()

    draft = world.governance.uploads.add_file(AUTHOR, item.id, upload("差旅.txt", TEXT))

    assert (draft.status, draft.source_kind, draft.file_name) == (RevisionState.DRAFT, "file", "差旅.txt")
    assert (draft.size_bytes, draft.media_type) == (len(TEXT), "text/plain")
    assert world.governance.revisions.original(AUTHOR, draft.id) == TEXT


def test_a_file_for_a_draft_takes_the_place_of_its_content(world: World) -> None:
    """K-015."""
    draft = world.draft()

    changed = world.governance.uploads.add_file(
        AUTHOR, draft.item_id, upload("a.txt", TEXT), draft_version=draft.version
    )

    assert (changed.id, changed.source_kind, changed.faq) == (draft.id, "file", ())
    assert changed.tags == draft.tags


@pytest.mark.parametrize("draft_version", [None, 0])
def test_a_draft_takes_a_file_only_from_who_saw_it(world: World, draft_version: int | None) -> None:
    """K-019."""
    draft = world.draft()

    with pytest.raises(VersionConflictError):
        world.governance.uploads.add_file(AUTHOR, draft.item_id, upload("a.txt", TEXT), draft_version=draft_version)

    assert world.read(draft) == draft


def test_who_saw_a_draft_that_is_gone_makes_no_new_one_by_accident(world: World) -> None:
    item = world.item()

    with pytest.raises(VersionConflictError, match="no draft any more"):
        world.governance.uploads.add_file(AUTHOR, item.id, upload("a.txt", TEXT), draft_version=3)

    assert world.governance.revisions.list(AUTHOR).total == 0


def test_the_same_file_again_asks_what_to_do_and_says_where_it_is(world: World) -> None:
    """K-034, KQ-19."""
    first = world.governance.uploads.add_file(AUTHOR, world.item().id, upload("a.txt", TEXT))
    item = world.item()

    with pytest.raises(DuplicateSourceError) as refused:
        world.governance.uploads.add_file(AUTHOR, item.id, upload("other name.txt", TEXT))

    assert refused.value.facts["matches"] == [
        {"item_id": str(first.item_id), "revision_id": str(first.id), "status": "DRAFT"}
    ]
    assert world.governance.revisions.list(AUTHOR, item_id=item.id).total == 0


def test_the_choice_of_a_new_revision_makes_a_new_draft_beside_the_published_one(world: World) -> None:
    """K-034: the published version is never replaced by itself."""
    live = world.ready()
    world.governance.releases.switch(AUTHOR, live.id, Command.PUBLISH, expected_version=0)
    original = world.governance.revisions.original(AUTHOR, live.id)

    with pytest.raises(InvalidStateError, match="no draft to reuse"):
        world.governance.uploads.add_file(
            AUTHOR, live.item_id, upload("a.txt", original), on_duplicate=OnDuplicate.REUSE_DRAFT
        )
    draft = world.governance.uploads.add_file(
        AUTHOR, live.item_id, upload("a.txt", original), on_duplicate=OnDuplicate.NEW_REVISION
    )

    assert draft.revision_number == 2
    assert world.governance.releases.get(AUTHOR, live.item_id).active_revision_id == live.id


def test_the_choice_of_the_draft_puts_the_same_file_into_it(world: World) -> None:
    """K-034, KQ-19."""
    world.governance.uploads.add_file(AUTHOR, world.item().id, upload("a.txt", TEXT))
    draft = world.draft()

    with pytest.raises(DraftConflictError):
        world.governance.uploads.add_file(
            AUTHOR, draft.item_id, upload("a.txt", TEXT), on_duplicate=OnDuplicate.NEW_REVISION
        )
    changed = world.governance.uploads.add_file(
        AUTHOR,
        draft.item_id,
        upload("a.txt", TEXT),
        draft_version=draft.version,
        on_duplicate=OnDuplicate.REUSE_DRAFT,
    )

    assert (changed.id, changed.file_name) == (draft.id, "a.txt")


def test_duplicates_are_looked_for_inside_the_organisation_only(world: World) -> None:
    """KQ-19."""
    ours = world.governance.uploads.add_file(AUTHOR, world.item().id, upload("a.txt", TEXT))
    theirs = world.governance.items.create(STRANGER, base_id="handbook", knowledge_key="k", title="T")

    draft = world.governance.uploads.add_file(STRANGER, theirs.id, upload("a.txt", TEXT))

    assert draft.sha256 == ours.sha256
    assert draft.object_key != ours.object_key


def test_a_deleted_revision_is_no_duplicate(world: World) -> None:
    first = world.governance.uploads.add_file(AUTHOR, world.item().id, upload("a.txt", TEXT))
    world.governance.revisions.delete(AUTHOR, first.id, version=first.version)

    draft = world.governance.uploads.add_file(AUTHOR, first.item_id, upload("a.txt", TEXT))

    assert draft.id != first.id


def test_a_file_during_a_review_waits(world: World) -> None:
    """KQ-03."""
    submitted = world.submitted()

    with pytest.raises(ReviewInProgressError):
        world.governance.uploads.add_file(AUTHOR, submitted.item_id, upload("a.txt", TEXT))

    assert world.read(submitted) == submitted


def test_a_refused_file_leaves_no_row_and_no_object(world: World) -> None:
    small = world.with_settings(max_file_bytes=10)
    item = world.item()

    with pytest.raises(FileTooLargeError):
        small.uploads.add_file(AUTHOR, item.id, upload("a.txt", TEXT))

    assert world.governance.revisions.list(AUTHOR).total == 0
    assert stored_objects(world) == 0


class BrokenStream(io.RawIOBase):
    """A sender that breaks off after its first block."""

    def __init__(self) -> None:
        self._blocks = [b"first half, "]

    def read(self, size: int = -1) -> bytes:
        if not self._blocks:
            raise ConnectionResetError
        return self._blocks.pop()


def test_a_sender_that_breaks_off_leaves_nothing_half_written(world: World) -> None:
    item = world.item()

    with pytest.raises(ConnectionResetError):
        world.governance.uploads.add_file(AUTHOR, item.id, Upload("a.txt", BrokenStream()))

    assert world.governance.revisions.list(AUTHOR).total == 0
    assert stored_objects(world) == 0


def test_nothing_is_read_for_an_item_that_does_not_exist(world: World) -> None:
    sent = upload("a.txt", TEXT)

    with pytest.raises(NotFoundError):
        world.governance.uploads.add_file(AUTHOR, 1, sent)

    assert sent.stream.tell() == 0


def test_originals_outlive_the_revisions_that_carry_them(world: World) -> None:
    """K-076."""
    draft = world.governance.uploads.add_file(AUTHOR, world.item().id, upload("a.txt", TEXT))

    world.governance.revisions.delete(AUTHOR, draft.id, version=draft.version)

    assert stored_objects(world) == 1
