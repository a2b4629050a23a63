"""Handlers whose answers can be read off the values: what a flow does is then read off its calls and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorebase.answering.flow import AnswerFlow, define_answer_flow
from lorebase.answering.flow_model import (
    AnswerFlowDefinition,
    AnswerItem,
    AnswerRequest,
    AnswerResult,
    FallbackRequest,
    FallbackResult,
    GenerateRequest,
    Handled,
    ItemValue,
    NotHandled,
    ReviewRequest,
    SourceStatus,
)
from lorebase.operation.check_results import CheckResult, Failed, Passed
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

BAD = CheckIssue(code="BAD", message="The local check found it.")
FALSE = CheckIssue(code="FALSE", message="The review found it.")


def item(item_id: str, status: SourceStatus = "ready") -> AnswerItem[str]:
    """An item that answers an input of its own; its data is what the fallback quotes, none where it is empty."""
    return AnswerItem(id=item_id, input_ids=(f"q-{item_id}",), source_status=status, data=f"evidence of {item_id}")


def request(*items: AnswerItem[str]) -> AnswerRequest[str]:
    """A run of these items."""
    return AnswerRequest(input_ids=tuple(name for wanted in items for name in wanted.input_ids), items=items)


@dataclass
class Scene:
    """Scripted handlers.

    A value that starts with "bad" fails the local check, "fix:x" is corrected to "x" by it, one that starts with
    "false" fails the review, "revise:x" is corrected to "x" by it.

    Attributes:
        answers: Values by item id, one for each call that asks for the item; the last is repeated, None leaves it out.
        allowed: What can_invoke says, call by call; True once they are used up.
        during: Called at the beginning of each handler with its name and context.
        review_errors: Raised by the reviews, one after the other; None for a review that works.
        unreviewed: Items that reviews leave out.
        handles: Whether the fallback quotes the evidence.
    """

    answers: Mapping[str, list[str | None]] = field(default_factory=dict)
    allowed: list[bool] = field(default_factory=list)
    during: Callable[[str, OperationContext[Any]], None] = lambda _name, _context: None
    review_errors: list[Exception | None] = field(default_factory=list)
    unreviewed: tuple[str, ...] = ()
    handles: bool = True
    generated: list[GenerateRequest[str, str]] = field(default_factory=list)
    checked: list[tuple[str, str]] = field(default_factory=list)
    reviewed: list[list[str]] = field(default_factory=list)
    fallen_back: list[FallbackRequest[str]] = field(default_factory=list)
    asked: int = 0

    def can_invoke(self, context: OperationContext[Any]) -> bool:
        self.asked += 1
        return self.allowed.pop(0) if self.allowed else True

    async def generate(self, wanted: GenerateRequest[str, str], context: OperationContext[Any]) -> Mapping[str, str]:
        self.during("generate", context)
        self.generated.append(wanted)
        made: dict[str, str] = {}
        for one in wanted.items:
            values = self.answers.get(one.id, ["good"])
            calls = sum(one.id in [known.id for known in call.items] for call in self.generated)
            if (value := values[min(calls, len(values)) - 1]) is not None:
                made[one.id] = value
        return made

    def check(self, given: ItemValue[str, str], context: OperationContext[Any]) -> CheckResult[str]:
        self.during("check", context)
        self.checked.append((given.item.id, given.value))
        if given.value.startswith("bad"):
            return Failed(issues=(BAD,))
        return Passed(value=given.value.removeprefix("fix:")) if given.value.startswith("fix:") else Passed()

    async def review(
        self, given: ReviewRequest[str, str], context: OperationContext[Any]
    ) -> Mapping[str, CheckResult[str]]:
        self.during("review", context)
        self.reviewed.append([one.item.id for one in given.items])
        if self.review_errors and (error := self.review_errors.pop(0)) is not None:
            raise error
        return {one.item.id: self._review(one.value) for one in given.items if one.item.id not in self.unreviewed}

    def fallback(self, given: FallbackRequest[str], context: OperationContext[Any]) -> FallbackResult[str]:
        self.during("fallback", context)
        self.fallen_back.append(given)
        return Handled(f"From {given.item.data}.") if self.handles else NotHandled()

    def flow(self, **settings: Any) -> AnswerFlow[str, str, Any]:
        """A flow of these handlers: at most 5 items, 1 repair, review required, unless said otherwise."""
        definition: dict[str, Any] = {
            "max_items": 5,
            "max_repairs": 1,
            "review_policy": "required",
            "can_invoke": self.can_invoke,
            "generate": self.generate,
            "check": self.check,
            "review": self.review,
            "fallback": self.fallback,
        }
        return define_answer_flow(AnswerFlowDefinition(**(definition | settings)))

    async def run(self, *items: AnswerItem[str], **settings: Any) -> tuple[AnswerResult[str, str], ...]:
        return await self.flow(**settings).run(request(*items), OperationContext(app=None))

    @staticmethod
    def _review(value: str) -> CheckResult[str]:
        if value.startswith("false"):
            return Failed(issues=(FALSE,))
        return Passed(value=value.removeprefix("revise:")) if value.startswith("revise:") else Passed()


def codes(result: AnswerResult[str, str]) -> list[str]:
    """Codes of the issues of a result."""
    return [issue.code for issue in result.issues]
