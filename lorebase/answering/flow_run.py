"""One run of an answer flow: the nodes that it goes through, and what each changes."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

from lorebase.answering.checks import checked_result
from lorebase.answering.flow_input import check_answered_ids
from lorebase.answering.flow_issues import (
    answer_missing,
    budget_exhausted,
    model_unavailable,
    review_unavailable,
    source_issue,
)
from lorebase.answering.flow_model import (
    AnswerEvent,
    AnswerFlowDefinition,
    AnswerRequest,
    AnswerResult,
    AppT,
    DataT,
    FallbackRequest,
    GenerateRequest,
    Handled,
    ItemValue,
    NotHandled,
    Review,
    ReviewRequest,
    ValueT,
)
from lorebase.answering.flow_state import ItemState
from lorebase.answering.review_policy import ReviewOutcome, verdict_on
from lorebase.errors import AnswerContractError, ModelUnavailableError, OperationCancelledError
from lorebase.operation.awaitables import refuse_awaitable
from lorebase.operation.check_results import CheckResult, Failed, Unset
from lorebase.operation.context import OperationContext, until_cancelled
from lorebase.operation.issues import CheckIssue
from lorebase.operation.loop import Loop, OpenVisit, Workflow
from lorebase.operation.observation import notify

ResultT = TypeVar("ResultT")


class FlowRun(Generic[DataT, ValueT, AppT]):
    """One run. Made for a request that was checked, used once."""

    def __init__(
        self,
        definition: AnswerFlowDefinition[DataT, ValueT, AppT],
        workflow: Workflow,
        request: AnswerRequest[DataT],
        context: OperationContext[AppT],
    ) -> None:
        self._definition = definition
        self._context = context
        self._loop = Loop(workflow, context, definition.clock)
        self._states: list[ItemState[DataT, ValueT]] = [ItemState(item) for item in request.items]

    async def results(self) -> tuple[AnswerResult[DataT, ValueT], ...]:
        """Go through the nodes; one result an item, in the order of the items."""
        for state in self._states:
            if (issue := source_issue(state.item)) is not None:
                state.fail_locally(issue)
        ready = [state for state in self._states if not state.issues]
        await self._round("generate", ready)
        for _attempt in range(self._definition.max_repairs):
            failed = [state for state in self._states if state.is_repairable]
            if not failed:
                break
            self._record_repairs(failed)
            await self._round("repair", failed)
        self._fall_back([state for state in self._states if state.status is None])
        results = tuple(state.result() for state in self._states)
        for result in results:
            self._observe(AnswerEvent(kind="result", item=result.item, value=result.value, result=result))
        return results

    async def _round(self, node: str, states: Sequence[ItemState[DataT, ValueT]]) -> None:
        """Values for these items, and what check and review say of them."""
        if not states:
            return
        made = await self._generate(node, states)
        self._check(made)
        passed = [state for state in made if not state.issues]
        await self._review(passed)
        corrected = [state for state in passed if not state.issues and not isinstance(state.review.value, Unset)]
        self._check(corrected)
        for state in passed:
            if not state.issues:
                state.status = "accepted"

    async def _generate(self, node: str, states: Sequence[ItemState[DataT, ValueT]]) -> list[ItemState[DataT, ValueT]]:
        """Ask for values; the items that got one."""
        if not self._can_invoke():
            self._context.diagnostics.record("MODEL_BUDGET_EXHAUSTED", f"No call for {node}.", severity="warning")
            _end_without_model(states, budget_exhausted())
            return []
        with self._loop.visit(node, _ids(states)) as visit:
            try:
                answer = await self._await(self._definition.generate(_request(node, states), visit.context), node)
            except ModelUnavailableError as error:
                visit.outcome = "unavailable"
                visit.context.diagnostics.record("MODEL_UNAVAILABLE", error.message, severity="warning")
                _end_without_model(states, model_unavailable())
                return []
            values = check_answered_ids(answer, _ids(states), f"The handler for {node}")
        made = [state for state in states if state.item.id in values]
        for state in states:
            if state.item.id in values:
                state.take(values[state.item.id])
            else:
                state.fail_locally(answer_missing())
        return made

    def _check(self, states: Sequence[ItemState[DataT, ValueT]]) -> None:
        """The local check of the values that these items have now; corrections are taken over."""
        if not states:
            return
        with self._loop.visit("check", _ids(states)) as visit:
            for state in states:
                state.issues = self._check_locally(state, visit)

    def _check_locally(self, state: ItemState[DataT, ValueT], visit: OpenVisit[AppT]) -> tuple[CheckIssue, ...]:
        visit.context.signal.raise_if_cancelled()
        if isinstance(state.value, Unset):
            raise AnswerContractError(f"Item {state.item.id!r} got UNSET for a value.", remedy="Leave it out instead.")
        result = checked_result(
            self._definition.check(ItemValue(state.item, state.value), visit.context), "The handler for check"
        )
        state.local = result
        if not isinstance(result.value, Unset):
            state.value = result.value
        self._observe(AnswerEvent(kind="checked", item=state.item, value=state.value, local=result))
        return result.issues

    async def _review(self, states: Sequence[ItemState[DataT, ValueT]]) -> None:
        """Review these items as the policy says; corrections are taken over, and still have to be checked."""
        review = self._definition.review
        if not states or review is None or self._definition.review_policy == "off":
            return
        reviews = await self._reviews(review, states)
        for state in states:
            result = reviews.get(state.item.id)
            outcome: ReviewOutcome = "unavailable" if result is None else result.status
            if result is not None:
                state.review = result
                state.value = state.value if isinstance(result.value, Unset) else result.value
            self._judge(state, outcome)

    def _judge(self, state: ItemState[DataT, ValueT], outcome: ReviewOutcome) -> None:
        policy = self._definition.review_policy
        verdict = verdict_on(policy, outcome, confirmed_error=state.confirmed_error)
        if outcome == "unavailable":
            self._context.diagnostics.record(
                "REVIEW_UNAVAILABLE",
                f"Item {state.item.id!r} has no review; under the policy {policy} that means: {verdict}.",
                severity="warning",
                item_id=state.item.id,
            )
        if verdict == "refuse":
            issue = review_unavailable(after_error=state.confirmed_error)
            state.review = Failed(issues=(issue,))
            state.fail(issue)
        elif verdict == "repair":
            state.confirmed_error = True
            state.fail(*state.review.issues)

    async def _reviews(
        self, review: Review[DataT, ValueT, AppT], states: Sequence[ItemState[DataT, ValueT]]
    ) -> Mapping[str, CheckResult[ValueT]]:
        """The reviews that could be had, by item id."""
        if not self._can_invoke():
            return {}
        items = tuple(ItemValue(state.item, state.value) for state in states if not isinstance(state.value, Unset))
        with self._loop.visit("review", _ids(states)) as visit:
            try:
                answer = await self._await(review(ReviewRequest(items), visit.context), "review")
            except (AnswerContractError, OperationCancelledError):
                raise
            except Exception as error:  # noqa: BLE001 (a review that fails is one that cannot be had; the policy decides)
                visit.context.signal.raise_if_cancelled()
                visit.outcome = "unavailable"
                kind = type(error).__name__
                visit.context.diagnostics.record(
                    "REVIEW_FAILED", f"The review raised {kind}.", severity="error", error=kind
                )
                return {}
            reviews = check_answered_ids(answer, _ids(states), "The handler for review")
            return {item_id: checked_result(result, "The handler for review") for item_id, result in reviews.items()}

    def _fall_back(self, states: Sequence[ItemState[DataT, ValueT]]) -> None:
        if not states:
            return
        handled: list[ItemState[DataT, ValueT]] = []
        with self._loop.visit("fallback", _ids(states)) as visit:
            for state in states:
                visit.context.signal.raise_if_cancelled()
                answer: object = refuse_awaitable(
                    self._definition.fallback(FallbackRequest(state.item, state.issues), visit.context),
                    "The handler for fallback",
                    error=AnswerContractError,
                )
                if isinstance(answer, Handled):
                    state.value = answer.value
                    handled.append(state)
                elif not isinstance(answer, NotHandled):
                    raise AnswerContractError(
                        f"The handler for fallback gave a {type(answer).__name__}.",
                        remedy="Return Handled or NotHandled.",
                    )
                else:
                    state.status = "blocked"
        self._check_fallbacks(handled)

    def _check_fallbacks(self, states: Sequence[ItemState[DataT, ValueT]]) -> None:
        reasons = [state.issues for state in states]
        self._check(states)
        for state, reason in zip(states, reasons, strict=True):
            state.status = "blocked" if state.issues else "fallback"
            state.issues = (*reason, *state.issues)

    def _can_invoke(self) -> bool:
        allowed: object = refuse_awaitable(
            self._definition.can_invoke(self._context), "can_invoke", error=AnswerContractError
        )
        if not isinstance(allowed, bool):
            raise AnswerContractError(f"can_invoke gave a {type(allowed).__name__}.", remedy="Return True or False.")
        return allowed

    async def _await(self, work: Awaitable[ResultT], node: str) -> ResultT:
        if not inspect.isawaitable(work):
            raise AnswerContractError(f"The handler for {node} gave nothing to await.", remedy="Make it async.")
        return await until_cancelled(work, self._context.signal)

    def _record_repairs(self, failed: Sequence[ItemState[DataT, ValueT]]) -> None:
        for state in failed:
            self._context.diagnostics.record(
                "REPAIR_NEEDED",
                f"Item {state.item.id!r} has {len(state.issues)} issues.",
                item_id=state.item.id,
                codes=[issue.code for issue in state.issues],
            )

    def _observe(self, event: AnswerEvent[DataT, ValueT]) -> None:
        notify(self._definition.observe, event, self._context.diagnostics)


def _ids(states: Sequence[ItemState[DataT, ValueT]]) -> list[str]:
    return [state.item.id for state in states]


def _request(node: str, states: Sequence[ItemState[DataT, ValueT]]) -> GenerateRequest[DataT, ValueT]:
    items = tuple(state.item for state in states)
    if node == "generate":
        return GenerateRequest(items=items)
    previous = {state.item.id: state.value for state in states if not isinstance(state.value, Unset)}
    return GenerateRequest(
        items=items,
        repairs=MappingProxyType({state.item.id: state.issues for state in states}),
        previous=MappingProxyType(previous),
    )


def _end_without_model(states: Sequence[ItemState[DataT, ValueT]], issue: CheckIssue) -> None:
    """What was wrong before stays in the list; the new issue keeps the item from being repaired."""
    for state in states:
        if state.issues:
            state.fail(*state.issues, issue)
        else:
            state.fail_locally(issue)
