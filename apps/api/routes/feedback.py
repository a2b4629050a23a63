"""Remarks about answers."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from apps.api.inputs import Body, BodyId, Change, PathId
from apps.api.pages import FIRST_PAGE, PAGE_SIZE, PageNum, PageOf, PageSize
from apps.api.services import Caller, ServicesOf
from lorebase.governance.kinds import FeedbackKind, FeedbackStatus
from lorebase.governance.model import Feedback

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])


class NewFeedback(Body):
    """A remark about a cited revision."""

    revision_id: BodyId
    kind: FeedbackKind
    chunk_id: BodyId | None = None
    note: str = Field("", max_length=1000, description="Short remark or correction, never the conversation.")


class ClosedFeedback(Change):
    """A remark is taken off the queue."""

    status: Literal[FeedbackStatus.RESOLVED, FeedbackStatus.DISMISSED] = FeedbackStatus.RESOLVED
    answered_by_revision_id: BodyId | None = Field(None, description="Revision that mends it.")


@router.post("", status_code=201)
def report_feedback(body: NewFeedback, caller: Caller, services: ServicesOf) -> Feedback:
    """Report what was wrong with an answer that cited a revision."""
    return services.governance.feedback.report(
        caller, body.revision_id, body.kind, chunk_id=body.chunk_id, note=body.note
    )


@router.get("")
def list_feedback(
    caller: Caller,
    services: ServicesOf,
    status: Annotated[FeedbackStatus, Query(description="Only in this status.")] = FeedbackStatus.OPEN,
    page_num: PageNum = FIRST_PAGE,
    page_size: PageSize = PAGE_SIZE,
) -> PageOf[Feedback]:
    """Feedback, oldest first."""
    found = services.governance.feedback.list(caller, status=status, page_number=page_num, page_size=page_size)
    return PageOf[Feedback].of(found)


@router.post("/{feedback_id}/close")
def close_feedback(feedback_id: PathId, body: ClosedFeedback, caller: Caller, services: ServicesOf) -> Feedback:
    """Take a remark off the queue; the revision it is about stays as it is."""
    return services.governance.feedback.close(
        caller,
        feedback_id,
        body.status,
        version=body.version,
        answered_by_revision_id=body.answered_by_revision_id,
        reason=body.reason,
    )
