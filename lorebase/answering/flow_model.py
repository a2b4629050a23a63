"""What goes into an answer flow and comes out of it: items, requests to its handlers, results, its definition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

from lorebase.clock import Clock, SystemClock
from lorebase.operation.check_results import UNSET, CheckResult, Unset
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue
from lorebase.operation.observation import Observer

DataT = TypeVar("DataT")
ValueT = TypeVar("ValueT")
AppT = TypeVar("AppT")

SourceStatus: TypeAlias = Literal["ready", "unavailable", "conflict"]
ReviewPolicy: TypeAlias = Literal["required", "optional", "off"]
AnswerStatus: TypeAlias = Literal["accepted", "fallback", "blocked"]


@dataclass(frozen=True, kw_only=True)
class AnswerItem(Generic[DataT]):
    """One answer that is wanted.

    Attributes:
        id: Its name, once in its run.
        input_ids: The inputs that it answers, at least one; no other item answers them.
        source_status: Whether there is evidence to answer from: ready, unavailable, or in conflict with itself.
        data: Question and evidence, as the application's handlers need them.
    """

    id: str
    input_ids: Sequence[str]
    source_status: SourceStatus
    data: DataT


@dataclass(frozen=True, kw_only=True)
class AnswerRequest(Generic[DataT]):
    """One run: every input is answered by exactly one item."""

    input_ids: Sequence[str]
    items: Sequence[AnswerItem[DataT]]


@dataclass(frozen=True, kw_only=True)
class AnswerChecks(Generic[ValueT]):
    """Results of the checks of an item.

    Attributes:
        local: Of the value that is delivered; of the last one there was for an item that delivers none.
        review: Of the last generated value; passed where it was not reviewed. A fallback is never reviewed.
    """

    local: CheckResult[ValueT]
    review: CheckResult[ValueT]


@dataclass(frozen=True, kw_only=True)
class AnswerResult(Generic[DataT, ValueT]):
    """What became of an item.

    Attributes:
        item: The item.
        status: `accepted`: the generated value passed. `fallback`: the fallback's value passed. `blocked`: neither.
        issues: What led to a fallback or to nothing, in the order in which it was found; empty when accepted.
        checks: Results of its checks.
        value: The answer; UNSET where it is blocked. None is an answer like any other.
    """

    item: AnswerItem[DataT]
    status: AnswerStatus
    issues: tuple[CheckIssue, ...]
    checks: AnswerChecks[ValueT]
    value: ValueT | Unset = UNSET


@dataclass(frozen=True, kw_only=True)
class GenerateRequest(Generic[DataT, ValueT]):
    """Values are wanted for these items, in one call.

    Attributes:
        items: The items.
        repairs: None the first time; then what was wrong with each, by item id.
        previous: None the first time; then the last value of each that had one, by item id.
    """

    items: tuple[AnswerItem[DataT], ...]
    repairs: Mapping[str, tuple[CheckIssue, ...]] | None = None
    previous: Mapping[str, ValueT] | None = None


@dataclass(frozen=True)
class ItemValue(Generic[DataT, ValueT]):
    """A value of an item, to be checked or reviewed."""

    item: AnswerItem[DataT]
    value: ValueT


@dataclass(frozen=True)
class ReviewRequest(Generic[DataT, ValueT]):
    """Values that passed the local check, to be reviewed in one call."""

    items: tuple[ItemValue[DataT, ValueT], ...]


@dataclass(frozen=True)
class FallbackRequest(Generic[DataT]):
    """An item without a value that may be delivered, and why."""

    item: AnswerItem[DataT]
    issues: tuple[CheckIssue, ...]


@dataclass(frozen=True)
class Handled(Generic[ValueT]):
    """A fallback's value: made of real evidence, or a fixed text that hands over to a person."""

    value: ValueT
    handled: Literal[True] = True


@dataclass(frozen=True, slots=True)
class NotHandled:
    """There is no fallback for this item."""

    handled: Literal[False] = False


FallbackResult: TypeAlias = Handled[ValueT] | NotHandled

Generate: TypeAlias = Callable[
    [GenerateRequest[DataT, ValueT], OperationContext[AppT]], Awaitable[Mapping[str, ValueT]]
]
Check: TypeAlias = Callable[[ItemValue[DataT, ValueT], OperationContext[AppT]], CheckResult[ValueT]]
Review: TypeAlias = Callable[
    [ReviewRequest[DataT, ValueT], OperationContext[AppT]], Awaitable[Mapping[str, CheckResult[ValueT]]]
]
Fallback: TypeAlias = Callable[[FallbackRequest[DataT], OperationContext[AppT]], FallbackResult[ValueT]]
CanInvoke: TypeAlias = Callable[[OperationContext[AppT]], bool]


@dataclass(frozen=True, kw_only=True)
class AnswerFlowDefinition(Generic[DataT, ValueT, AppT]):
    """What runs of a flow have in common. It holds nothing of a run: that comes through the context.

    Attributes:
        max_items: Most items of a run, at least 1.
        max_repairs: Most rounds of repair of a run, 0 for none; each is one call for all items that failed.
        review_policy: `required`: nothing is accepted without a review. `optional`: a review that cannot be had is done
            without, except for an item in which an earlier one found an error. `off`: there is none.
        can_invoke: Asked right before every call of generate or review whether the run's budget still allows it.
        generate: Makes values for items; the only handler besides review that may call a model.
        check: Checks a value at once, without a model.
        review: Reviews values that passed the check; needed unless the policy is off.
        fallback: Answers an item from its evidence at once, without a model, or says that it cannot.
        observe: Told of checked values and results. It cannot change or break one.
        clock: Times of the visits that the loop records.
    """

    max_items: int
    max_repairs: int
    review_policy: ReviewPolicy
    can_invoke: CanInvoke[AppT]
    generate: Generate[DataT, ValueT, AppT]
    check: Check[DataT, ValueT, AppT]
    fallback: Fallback[DataT, AppT, ValueT]
    review: Review[DataT, ValueT, AppT] | None = None
    observe: Observer | None = None
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, kw_only=True)
class AnswerEvent(Generic[DataT, ValueT]):
    """What an observer of a flow is told.

    Attributes:
        kind: `checked`: a value went through the local check. `result`: an item is done.
        item: The item.
        value: The value after the check, or of the result.
        local: Result of the local check, for `checked`.
        result: The result, for `result`.
    """

    kind: Literal["checked", "result"]
    item: AnswerItem[DataT]
    value: ValueT | Unset = UNSET
    local: CheckResult[ValueT] | None = None
    result: AnswerResult[DataT, ValueT] | None = None
