"""Review."""

from __future__ import annotations

import pytest

from lorebase.errors import (
    ForbiddenError,
    InvalidInputError,
    InvalidStateError,
    VersionConflictError,
)
from lorebase.governance.context import Capability
from lorebase.governance.kinds import TaskKind
from lorebase.governance.states import RevisionState
from tests.governance.world import AUTHOR, REVIEWER, World, caller


def test_submitting_needs_content(world: World) -> None:
    """K-040."""
    draft = world.governance.drafts.create(AUTHOR, world.item().id)

    with pytest.raises(InvalidInputError, match="no content"):
        world.governance.review.submit(AUTHOR, draft.id, version=draft.version)

    assert world.read(draft) == draft


def test_submitting_needs_the_original_in_the_store(world: World) -> None:
    """K-040."""
    draft = world.draft()
    (world.folder / draft.object_key).unlink()

    with pytest.raises(InvalidInputError):
        world.governance.review.submit(AUTHOR, draft.id, version=draft.version)

    assert world.read(draft) == draft


def test_approval_needs_no_parsed_text_and_makes_no_task(world: World) -> None:
    """K-020, K-021, K-041, KQ-02."""
    submitted = world.submitted()

    approved = world.governance.review.approve(REVIEWER, submitted.id, version=submitted.version, reason="right")

    assert (approved.status, approved.reviewed_by) == (RevisionState.APPROVED, "reviewer")
    assert world.governance.processing.list(AUTHOR).total == 0


def test_approval_starts_processing_where_the_settings_say_so(world: World) -> None:
    """KQ-02."""
    eager = world.with_settings(auto_process_on_approve=True)
    submitted = world.submitted()

    revision = eager.review.approve(REVIEWER, submitted.id, version=submitted.version)

    (task,) = eager.processing.list(AUTHOR).records
    assert revision.status is RevisionState.PROCESSING
    assert (task.kind, task.revision_id) == (TaskKind.PROCESS, revision.id)


def test_rejection_gives_the_draft_back_with_its_reason_on_record(world: World) -> None:
    """K-021, KX-14."""
    submitted = world.submitted()

    draft = world.governance.review.reject(REVIEWER, submitted.id, version=submitted.version, reason="过期了")

    (last, *_before) = world.governance.revisions.history(AUTHOR, draft.item_id).records
    assert draft.status is RevisionState.DRAFT
    assert (last.command, last.reason, last.operator) == ("REJECT", "过期了", "reviewer")
    assert (last.state_before, last.state_after) == ("REVIEWING", "DRAFT")


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_rejection_needs_a_reason(world: World, reason: str) -> None:
    """KX-14."""
    submitted = world.submitted()

    with pytest.raises(InvalidInputError, match="needs a reason"):
        world.governance.review.reject(REVIEWER, submitted.id, version=submitted.version, reason=reason)

    assert world.read(submitted) == submitted


def test_of_two_reviewers_the_second_learns_that_the_version_changed(world: World) -> None:
    """KQ-20."""
    submitted = world.submitted()
    world.governance.review.approve(REVIEWER, submitted.id, version=submitted.version)

    with pytest.raises(VersionConflictError):
        world.governance.review.reject(caller("second"), submitted.id, version=submitted.version, reason="no")

    assert world.read(submitted).status is RevisionState.APPROVED


def test_who_submitted_does_not_decide(world: World) -> None:
    """KQ-20."""
    submitted = world.submitted()

    with pytest.raises(ForbiddenError, match="may not decide"):
        world.governance.review.approve(AUTHOR, submitted.id, version=submitted.version)
    with pytest.raises(ForbiddenError):
        world.governance.review.reject(AUTHOR, submitted.id, version=submitted.version, reason="mine")

    assert world.read(submitted) == submitted


def test_who_submitted_decides_where_the_settings_allow_it(world: World) -> None:
    """KQ-20."""
    alone = world.with_settings(forbid_self_review=False)
    submitted = world.submitted()

    approved = alone.review.approve(AUTHOR, submitted.id, version=submitted.version)

    assert approved.status is RevisionState.APPROVED


def test_only_who_may_review_decides(world: World) -> None:
    """KX-19."""
    submitted = world.submitted()
    editor = caller("editor", 7, Capability.READ, Capability.EDIT)

    with pytest.raises(ForbiddenError, match=r"knowledge\.review"):
        world.governance.review.approve(editor, submitted.id, version=submitted.version)

    assert world.read(submitted) == submitted


def test_a_decision_on_a_draft_is_refused(world: World) -> None:
    draft = world.draft()

    with pytest.raises(InvalidStateError):
        world.governance.review.approve(REVIEWER, draft.id, version=draft.version)

    assert world.read(draft) == draft


def test_the_reviewers_queue_is_the_list_of_revisions_under_review(world: World) -> None:
    world.draft()
    submitted = world.submitted()

    queue = world.governance.revisions.list(REVIEWER, status=RevisionState.REVIEWING)

    assert [revision.id for revision in queue.records] == [submitted.id]
