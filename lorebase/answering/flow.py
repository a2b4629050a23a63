"""The answer flow: generate, check, review, repair what failed, fall back; every run with a state of its own."""

from __future__ import annotations

from typing import Final, Generic, get_args

from lorebase.answering.flow_input import check_request
from lorebase.answering.flow_model import (
    AnswerFlowDefinition,
    AnswerRequest,
    AnswerResult,
    AppT,
    DataT,
    ReviewPolicy,
    ValueT,
)
from lorebase.answering.flow_run import FlowRun
from lorebase.errors import InvalidDefinitionError
from lorebase.operation.context import OperationContext
from lorebase.operation.loop import Workflow

NODES: Final = ("generate", "check", "review", "repair", "fallback")


class AnswerFlow(Generic[DataT, ValueT, AppT]):
    """A defined flow. It keeps nothing of its runs, so that any number of them may go on at once.

    Raises:
        InvalidDefinitionError: A limit out of range, an unknown review policy, or no review where the policy needs one.
    """

    def __init__(self, definition: AnswerFlowDefinition[DataT, ValueT, AppT]) -> None:
        _check_definition(definition)
        self._definition = definition
        self._workflow = Workflow("answer flow", NODES)

    @property
    def workflow(self) -> Workflow:
        """The nodes that a run may visit."""
        return self._workflow

    async def run(
        self, request: AnswerRequest[DataT], context: OperationContext[AppT]
    ) -> tuple[AnswerResult[DataT, ValueT], ...]:
        """Answer the items.

        A value is delivered when it passed the local check and what the review policy asks. Items that failed are
        generated again, those alone, while the flow's rounds and the application's budget last; then, like items
        without usable sources at once, they go to the fallback, whose value has to pass the local check too.

        Returns:
            One result an item, in the order of the items.

        Raises:
            AnswerContractError: The request or what a handler gave is not of the form it must have.
            OperationCancelledError: The run is no longer wanted; the handler under way was stopped.
            Exception: What generate, check or fallback raise passes, except `ModelUnavailableError` from generate: it
                sends the items to the fallback. What review raises makes it unavailable, except a cancellation.
        """
        check_request(request, max_items=self._definition.max_items)
        return await FlowRun(self._definition, self._workflow, request, context).results()


def define_answer_flow(
    definition: AnswerFlowDefinition[DataT, ValueT, AppT],
) -> AnswerFlow[DataT, ValueT, AppT]:
    """A flow with these handlers; see `AnswerFlow`."""
    return AnswerFlow(definition)


def _check_definition(definition: AnswerFlowDefinition[DataT, ValueT, AppT]) -> None:
    if definition.max_items < 1:
        raise InvalidDefinitionError(f"max_items is {definition.max_items}.", remedy="Give at least 1.")
    if definition.max_repairs < 0:
        raise InvalidDefinitionError(f"max_repairs is {definition.max_repairs}.", remedy="Give 0 for no repairs.")
    if definition.review_policy not in get_args(ReviewPolicy):
        raise InvalidDefinitionError(
            f"There is no review policy {definition.review_policy!r}.",
            remedy=f"Use one of {', '.join(get_args(ReviewPolicy))}.",
        )
    if definition.review is None and definition.review_policy != "off":
        raise InvalidDefinitionError(
            f"The review policy is {definition.review_policy} but there is no review handler.",
            remedy="Give one, or set the policy to off.",
        )
