"""What a run of an answer flow knows of each of its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from lorebase.answering.flow_model import AnswerChecks, AnswerItem, AnswerResult, AnswerStatus, DataT, ValueT
from lorebase.operation.check_results import UNSET, CheckResult, Failed, Passed, Unset
from lorebase.operation.issues import CheckIssue


@dataclass(slots=True)
class ItemState(Generic[DataT, ValueT]):
    """What is known of one item of a run.

    Attributes:
        item: The item.
        value: Its last value.
        issues: What is wrong with it now; empty once it is accepted.
        local: Last local check.
        review: Last review of a generated value.
        confirmed_error: Whether a review of this run found an error in it.
        status: How it ended; None while it is under way.
    """

    item: AnswerItem[DataT]
    value: ValueT | Unset = UNSET
    issues: tuple[CheckIssue, ...] = ()
    local: CheckResult[ValueT] = field(default_factory=Passed)
    review: CheckResult[ValueT] = field(default_factory=Passed)
    confirmed_error: bool = False
    status: AnswerStatus | None = None

    def take(self, value: ValueT) -> None:
        """A value was generated: what was found in the one before no longer holds."""
        self.value, self.issues, self.review = value, (), Passed()

    def fail(self, *issues: CheckIssue) -> None:
        """This is wrong with it now."""
        self.issues = issues

    def fail_locally(self, *issues: CheckIssue) -> None:
        """This is wrong with it, and stands for its local check, which cannot be made."""
        self.issues, self.local = issues, Failed(issues=issues)

    @property
    def is_repairable(self) -> bool:
        """Whether another round may mend it."""
        return self.status is None and bool(self.issues) and all(issue.repairable for issue in self.issues)

    def result(self) -> AnswerResult[DataT, ValueT]:
        """What became of it; blocked unless something else was decided."""
        status = self.status or "blocked"
        return AnswerResult(
            item=self.item,
            status=status,
            issues=self.issues,
            checks=AnswerChecks(local=self.local, review=self.review),
            value=UNSET if status == "blocked" else self.value,
        )
