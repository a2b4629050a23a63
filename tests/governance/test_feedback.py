"""Feedback on answers."""

from __future__ import annotations

import pytest

from lorebase.errors import ForbiddenError, InvalidInputError, InvalidStateError, VersionConflictError
from lorebase.governance.context import Capability
from lorebase.governance.kinds import FeedbackKind, FeedbackStatus
from lorebase.governance.tables import chunks
from tests.governance.world import AUTHOR, REVIEWER, World, caller

AGENT = caller("agent", 7, Capability.FEEDBACK)


@pytest.mark.parametrize("kind", FeedbackKind)
def test_a_remark_stands_in_the_queue_and_leaves_the_revision_alone(world: World, kind: FeedbackKind) -> None:
    """K-071, K-073, KX-17."""
    revision = world.ready()

    reported = world.governance.feedback.report(AGENT, revision.id, kind, note="答案过期 outdated")

    assert world.governance.feedback.list(AUTHOR).records == (reported,)
    assert (reported.kind, reported.note, reported.reported_by) == (kind, "答案过期 outdated", "agent")
    assert world.read(revision) == revision


def test_a_remark_is_no_conversation(world: World) -> None:
    """K-072."""
    revision = world.ready()

    with pytest.raises(InvalidInputError, match="1001 characters"):
        world.governance.feedback.report(AGENT, revision.id, FeedbackKind.HUMAN_TAKEOVER, note="长" * 1001)

    assert world.governance.feedback.list(AUTHOR).total == 0


def test_a_cited_chunk_must_be_one_of_the_revision(world: World) -> None:
    """K-071."""
    revision = world.ready()
    with world.database.transaction() as connection:
        connection.execute(
            chunks.insert().values(
                id=5, organ_id=7, base_id="handbook", item_id=revision.item_id, revision_id=revision.id, position=0,
                text="x", text_sha256="0", delete_flag=1,
            )
        )  # fmt: skip

    with pytest.raises(InvalidInputError):
        world.governance.feedback.report(AGENT, revision.id, FeedbackKind.WRONG_ANSWER, chunk_id=6)
    reported = world.governance.feedback.report(AGENT, revision.id, FeedbackKind.WRONG_ANSWER, chunk_id=5)

    assert reported.chunk_id == 5


def test_an_operator_answers_with_a_new_draft(world: World) -> None:
    """K-073."""
    revision = world.ready()
    reported = world.governance.feedback.report(AGENT, revision.id, FeedbackKind.WRONG_ANSWER)
    draft = world.governance.drafts.copy(AUTHOR, revision.id)

    closed = world.governance.feedback.close(
        AUTHOR, reported.id, FeedbackStatus.RESOLVED, version=0, answered_by_revision_id=draft.id
    )

    assert (closed.status, closed.resolved_by) == (FeedbackStatus.RESOLVED, "author")
    assert closed.answered_by_revision_id == draft.id
    assert world.governance.feedback.list(AUTHOR).total == 0
    assert world.governance.feedback.list(AUTHOR, status=None).total == 1


def test_a_feedback_is_closed_once(world: World) -> None:
    revision = world.ready()
    reported = world.governance.feedback.report(AGENT, revision.id, FeedbackKind.WRONG_ANSWER)
    world.governance.feedback.close(AUTHOR, reported.id, FeedbackStatus.DISMISSED, version=0)

    with pytest.raises(VersionConflictError):
        world.governance.feedback.close(REVIEWER, reported.id, FeedbackStatus.RESOLVED, version=0)
    with pytest.raises(InvalidStateError):
        world.governance.feedback.close(REVIEWER, reported.id, FeedbackStatus.RESOLVED, version=1)

    (kept,) = world.governance.feedback.list(AUTHOR, status=FeedbackStatus.DISMISSED).records
    assert kept.resolved_by == "author"


def test_open_closes_nothing(world: World) -> None:
    reported = world.governance.feedback.report(AGENT, world.ready().id, FeedbackKind.WRONG_ANSWER)

    with pytest.raises(InvalidInputError):
        world.governance.feedback.close(AUTHOR, reported.id, FeedbackStatus.OPEN, version=0)

    assert world.governance.feedback.list(AUTHOR).total == 1


def test_who_may_only_report_neither_reads_nor_closes(world: World) -> None:
    """KX-19."""
    reported = world.governance.feedback.report(AGENT, world.ready().id, FeedbackKind.WRONG_ANSWER)

    with pytest.raises(ForbiddenError):
        world.governance.feedback.list(AGENT)
    with pytest.raises(ForbiddenError):
        world.governance.feedback.close(AGENT, reported.id, FeedbackStatus.DISMISSED, version=0)

    assert reported.status is FeedbackStatus.OPEN
