"""Checks of size: how long an answer is, and in how many bubbles it comes."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from lorebase.answering.ready_checks.grounded import GroundedAnswer
from lorebase.operation.check_results import CheckResult, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

_BUBBLE_BREAK = regex.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True, slots=True)
class WithinChars:
    """The answer is not blank and not longer than `max_chars` code points: ANSWER_BLANK, ANSWER_TOO_LONG."""

    max_chars: int
    id: str = "within-chars"

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Measure the answer, its citations included."""
        del context
        if not value.text.strip():
            return result_of((CheckIssue(code="ANSWER_BLANK", message="The answer says nothing."),))
        if len(value.text) > self.max_chars:
            message = f"The answer has {len(value.text)} characters; at most {self.max_chars} are allowed."
            return result_of((CheckIssue(code="ANSWER_TOO_LONG", message=message),))
        return result_of(())


@dataclass(frozen=True, slots=True)
class WithinBubbles:
    """The answer has at most `max_bubbles` bubbles, each of at most `max_chars`: TOO_MANY_BUBBLES, BUBBLE_TOO_LONG."""

    max_bubbles: int
    max_chars: int | None = None
    id: str = "within-bubbles"

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Count the bubbles, which blank lines part, and measure them."""
        del context
        bubbles = [bubble for bubble in _BUBBLE_BREAK.split(value.text.strip()) if bubble.strip()]
        issues: list[CheckIssue] = []
        if len(bubbles) > self.max_bubbles:
            message = f"The answer has {len(bubbles)} bubbles; at most {self.max_bubbles} are allowed."
            issues.append(CheckIssue(code="TOO_MANY_BUBBLES", message=message))
        for index, bubble in enumerate(bubbles):
            if self.max_chars is not None and len(bubble) > self.max_chars:
                message = f"Bubble {index + 1} has {len(bubble)} characters; at most {self.max_chars} are allowed."
                issues.append(CheckIssue(code="BUBBLE_TOO_LONG", message=message, path=("bubbles", index)))
        return result_of(tuple(issues))
