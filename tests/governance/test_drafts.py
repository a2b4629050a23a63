"""Drafts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import update

from lorebase.database import Database
from lorebase.errors import (
    DraftConflictError,
    InvalidInputError,
    InvalidStateError,
    ReviewInProgressError,
    VersionConflictError,
)
from lorebase.governance.drafts import DraftFields
from lorebase.governance.model import FaqEntry, Scalar
from lorebase.governance.states import Command, IndexStatus, RevisionState
from lorebase.governance.tables import revisions
from tests.governance.world import AUTHOR, REVIEWER, HandClock, World, services


def test_a_new_draft_is_the_first_revision_without_content(world: World) -> None:
    """K-030."""
    item = world.item()

    draft = world.governance.drafts.create(
        AUTHOR, item.id, DraftFields(tags=["差旅", " expenses ", "差旅"], description="说明", metadata={"year": 2026})
    )

    assert (draft.revision_number, draft.status, draft.index_status) == (1, "DRAFT", "NOT_INDEXED")
    assert (draft.tags, draft.description, draft.metadata) == (("差旅", "expenses"), "说明", {"year": 2026})
    assert draft.source_kind == ""


def test_an_item_has_at_most_one_draft(world: World) -> None:
    """K-017."""
    draft = world.draft()

    with pytest.raises(DraftConflictError) as refused:
        world.governance.drafts.create(AUTHOR, draft.item_id)

    assert refused.value.facts == {"item_id": str(draft.item_id), "revision_id": str(draft.id)}
    assert world.governance.revisions.list(AUTHOR, item_id=draft.item_id).total == 1


def test_no_draft_is_made_while_a_revision_is_under_review(world: World) -> None:
    """KQ-03."""
    submitted = world.submitted()

    with pytest.raises(ReviewInProgressError):
        world.governance.drafts.copy(AUTHOR, submitted.id)

    assert world.governance.revisions.list(AUTHOR, item_id=submitted.item_id).total == 1


def test_editing_changes_what_is_given_and_keeps_the_rest(world: World) -> None:
    """K-015, K-016."""
    draft = world.draft()

    edited = world.governance.drafts.edit(AUTHOR, draft.id, DraftFields(description="neu"), version=draft.version)

    assert (edited.id, edited.version) == (draft.id, draft.version + 1)
    assert (edited.description, edited.tags, edited.faq) == ("neu", draft.tags, draft.faq)


def test_of_two_edits_from_the_same_version_the_second_is_refused(world: World) -> None:
    """K-019."""
    draft = world.draft()
    world.governance.drafts.edit(AUTHOR, draft.id, DraftFields(description="first"), version=draft.version)

    with pytest.raises(VersionConflictError) as refused:
        world.governance.drafts.edit(REVIEWER, draft.id, DraftFields(description="second"), version=draft.version)

    assert refused.value.facts["expected_version"] == draft.version
    assert world.read(draft).description == "first"


@pytest.mark.parametrize("state", ["submitted", "approved", "ready", "failed"])
def test_what_is_no_draft_is_not_edited(world: World, state: str) -> None:
    """K-015, K-016."""
    revision = getattr(world, state)()

    with pytest.raises(InvalidStateError):
        world.governance.drafts.edit(AUTHOR, revision.id, DraftFields(tags=["x"]), version=revision.version)
    with pytest.raises(InvalidStateError):
        world.governance.drafts.set_faq(
            AUTHOR, revision.id, [FaqEntry(question="a", answer="b")], version=revision.version
        )

    assert world.read(revision) == revision


def test_editing_after_a_publish_makes_a_draft_beside_the_live_revision(world: World) -> None:
    """C147, K-016."""
    live = world.ready()
    world.governance.releases.switch(AUTHOR, live.id, Command.PUBLISH, expected_version=0)
    before = world.governance.revisions.original(AUTHOR, live.id)

    draft = world.governance.drafts.copy(AUTHOR, live.id, reason="new rule")
    world.governance.drafts.set_faq(
        AUTHOR, draft.id, [FaqEntry(question="几天内?", answer="60 天")], version=draft.version
    )

    assert (draft.revision_number, draft.status, draft.copied_from_id) == (2, RevisionState.DRAFT, live.id)
    assert draft.tags == live.tags
    assert world.governance.releases.get(AUTHOR, live.item_id).active_revision_id == live.id
    assert world.read(live).status is RevisionState.PUBLISHED
    assert world.governance.revisions.original(AUTHOR, live.id) == before


def test_a_copy_has_the_content_and_not_the_review_or_the_index(world: World) -> None:
    """KQ-01."""
    failed = world.failed()

    draft = world.governance.drafts.copy(AUTHOR, failed.id)

    assert (draft.sha256, draft.faq, draft.object_key) == (failed.sha256, failed.faq, failed.object_key)
    assert (draft.index_status, draft.submitted_by, draft.reviewed_by) == (IndexStatus.NOT_INDEXED, "", "")
    assert world.read(failed).status is RevisionState.PROCESS_FAILED


def test_the_original_of_faq_entries_is_their_canonical_json(world: World) -> None:
    """C159: a disabled entry stays in the revision and says so."""
    draft = world.governance.drafts.create(AUTHOR, world.item().id)
    entries = [FaqEntry(question="Q?", answer="A.", similar_questions=("问?",), enabled=False)]

    kept = world.governance.drafts.set_faq(AUTHOR, draft.id, entries, version=draft.version)

    original = world.governance.revisions.original(AUTHOR, draft.id)
    assert original.decode() == '[{"answer":"A.","enabled":false,"question":"Q?","similar_questions":["问?"]}]'
    assert kept.faq[0].enabled is False


@pytest.mark.parametrize("count", [0, 1001])
def test_too_few_or_too_many_faq_entries_are_refused(world: World, count: int) -> None:
    draft = world.draft()
    entries = [FaqEntry(question=f"{number}?", answer="x") for number in range(count)]

    with pytest.raises(InvalidInputError):
        world.governance.drafts.set_faq(AUTHOR, draft.id, entries, version=draft.version)

    assert world.read(draft) == draft


def test_a_question_stands_once(world: World) -> None:
    draft = world.draft()

    with pytest.raises(InvalidInputError, match="twice"):
        world.governance.drafts.set_faq(
            AUTHOR, draft.id, [FaqEntry(question="a?", answer=answer) for answer in "xy"], version=draft.version
        )

    assert world.read(draft) == draft


@pytest.mark.parametrize(
    "fields",
    [
        DraftFields(tags=["x" * 65]),
        DraftFields(tags=[" "]),
        DraftFields(tags=[str(number) for number in range(21)]),
        DraftFields(metadata={f"key{number}": 1 for number in range(21)}),
        DraftFields(metadata={"key": "长" * 1001}),
        DraftFields(metadata={"": 1}),
        DraftFields(metadata={"key": float("nan")}),
        DraftFields(metadata={"key": "a\x00b"}),
        DraftFields(description="\ud800"),
    ],
)
def test_fields_out_of_range_are_refused(world: World, fields: DraftFields) -> None:
    draft = world.draft()

    with pytest.raises(InvalidInputError):
        world.governance.drafts.edit(AUTHOR, draft.id, fields, version=draft.version)

    assert world.read(draft) == draft


def test_a_deleted_draft_makes_room_for_another_one(world: World) -> None:
    """KQ-04."""
    draft = world.draft()
    world.governance.revisions.delete(AUTHOR, draft.id, version=draft.version, reason="wrong topic")

    second = world.governance.drafts.create(AUTHOR, draft.item_id)

    assert second.revision_number == 2


def test_the_unique_index_reports_a_draft_that_the_checks_did_not_see(world: World, database: Database) -> None:
    """K-018, KQ-03: the rejection fails and nothing changes."""
    submitted = world.submitted()
    with database.transaction() as connection:
        connection.execute(
            revisions.insert().values(
                id=1, organ_id=7, item_id=submitted.item_id, revision_number=99, status="DRAFT",
                index_status="NOT_INDEXED", created_by="sql",
            )
        )  # fmt: skip

    with pytest.raises(DraftConflictError):
        world.governance.review.reject(REVIEWER, submitted.id, version=submitted.version, reason="no")

    assert world.read(submitted) == submitted
    with database.transaction() as connection:
        connection.execute(update(revisions).where(revisions.c.id == 1).values(delete_flag=1))
    rejected = world.governance.review.reject(REVIEWER, submitted.id, version=submitted.version, reason="no")
    assert rejected.status is RevisionState.DRAFT


class PolicyOnly:
    """A base whose one source type `policy` declares the number `year`."""

    def check(self, base_id: str, source_type: str, metadata: Mapping[str, Scalar]) -> None:
        if source_type != "policy" or not isinstance(metadata.get("year"), int):
            raise InvalidInputError(f"{base_id}: {source_type} {dict(metadata)}")


def test_fields_of_the_source_type_are_checked_when_a_draft_is_made_and_edited(
    database: Database, tmp_path: Path
) -> None:
    """X-03."""
    world = World(database, tmp_path)
    strict = services(database, tmp_path, HandClock(), worker=9, metadata_rules=PolicyOnly())
    item = world.item()

    with pytest.raises(InvalidInputError):
        strict.drafts.create(AUTHOR, item.id, DraftFields(source_type="novel"))
    draft = strict.drafts.create(AUTHOR, item.id, DraftFields(source_type="policy", metadata={"year": 2026}))
    with pytest.raises(InvalidInputError):
        strict.drafts.edit(AUTHOR, draft.id, DraftFields(metadata={"year": "soon"}), version=draft.version)

    assert strict.revisions.get(AUTHOR, draft.id).metadata == {"year": 2026}


def test_only_tags_of_the_dictionary_where_the_settings_say_so(world: World) -> None:
    """KX-15, KQ-18."""
    strict = world.with_settings(only_known_tags=True)
    strict.tags.add(AUTHOR, "差旅")
    item = world.item()

    with pytest.raises(InvalidInputError, match="'fish'"):
        strict.drafts.create(AUTHOR, item.id, DraftFields(tags=["差旅", "fish"]))
    draft = strict.drafts.create(AUTHOR, item.id, DraftFields(tags=["差旅"]))

    assert draft.tags == ("差旅",)
