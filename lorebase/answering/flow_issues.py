"""The issues that an answer flow itself finds; all others come from the application's checks and reviews."""

from __future__ import annotations

from typing import Any, Final

from lorebase.answering.flow_model import AnswerItem, SourceStatus
from lorebase.operation.issues import CheckIssue

_SOURCE_ISSUES: Final[dict[SourceStatus, CheckIssue | None]] = {
    "ready": None,
    "unavailable": CheckIssue(
        code="SOURCE_UNAVAILABLE", message="There is no evidence to answer from.", repairable=False
    ),
    "conflict": CheckIssue(code="SOURCE_CONFLICT", message="The sources contradict each other.", repairable=False),
}


def source_issue(item: AnswerItem[Any]) -> CheckIssue | None:
    """Why an item cannot be generated for want of usable sources, if so."""
    return _SOURCE_ISSUES[item.source_status]


def answer_missing() -> CheckIssue:
    """The model gave no value for an item."""
    return CheckIssue(code="ANSWER_MISSING", message="No answer was given for this item.")


def budget_exhausted() -> CheckIssue:
    """The application's budget allows no further call."""
    return CheckIssue(
        code="MODEL_BUDGET_EXHAUSTED", message="The budget allows no further call to a model.", repairable=False
    )


def model_unavailable() -> CheckIssue:
    """A model was called and could not be reached."""
    return CheckIssue(code="MODEL_UNAVAILABLE", message="No model can be called now.", repairable=False)


def review_unavailable(*, after_error: bool) -> CheckIssue:
    """No review could be had of a value that must have one."""
    reason = "an earlier review found an error" if after_error else "a review is required"
    return CheckIssue(
        code="REVIEW_UNAVAILABLE", message=f"There is no review of this answer, and {reason}.", repairable=False
    )
