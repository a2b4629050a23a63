"""The check catalog: registered checks, run in the order asked for, each on what the one before left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lorebase.errors import AnswerContractError
from lorebase.operation.awaitables import refuse_awaitable
from lorebase.operation.catalogs import ReadonlyCatalog
from lorebase.operation.check_results import UNSET, CheckResult, Failed, Passed, Unset, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

ValueT = TypeVar("ValueT")
AppT = TypeVar("AppT")
AppT_contra = TypeVar("AppT_contra", contravariant=True)


class AnswerChecker(Protocol[ValueT, AppT_contra]):
    """One registered check."""

    @property
    def id(self) -> str:
        """Its name, once in its catalog."""
        ...

    def check(self, value: ValueT, context: OperationContext[AppT_contra], /) -> CheckResult[ValueT]:
        """Look at a value, at once: without waiting for anything.

        Returns:
            Passed, or failed with at least one issue; with `value` where it puts another one in its place.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class CheckRequest(Generic[ValueT]):
    """What is checked by what.

    Attributes:
        check_ids: Checks in the order in which they run, each once.
        value: The value.
    """

    check_ids: Sequence[str]
    value: ValueT


class AnswerCheckCatalog(ReadonlyCatalog[AnswerChecker[ValueT, AppT]]):
    """Registered checks of one type of value."""

    def __init__(self, definitions: Iterable[AnswerChecker[ValueT, AppT]]) -> None:
        super().__init__("answer check", definitions)

    def check(self, request: CheckRequest[ValueT], context: OperationContext[AppT]) -> CheckResult[ValueT]:
        """Run checks, all of them even where one fails; each sees the value as the ones before it left it.

        Returns:
            The issues in the order in which they were found, each with the id of its check as `source`. `value` is set
            exactly where a check set it (None counts as a value).

        Raises:
            UnknownIdError: A check is not registered; none has run.
            AnswerContractError: A check is asked for twice, or gave something to await or no check result.
            OperationCancelledError: The operation is no longer wanted.
            Exception: Whatever a check raises is a fault of the program and passes; no later check runs.
        """
        if len(set(request.check_ids)) < len(request.check_ids):
            raise AnswerContractError(f"A check is asked for twice: {list(request.check_ids)}.")
        checkers = [(check_id, self.require(check_id)) for check_id in request.check_ids]
        current, corrected = request.value, False
        issues: list[CheckIssue] = []
        for check_id, checker in checkers:
            context.signal.raise_if_cancelled()
            result = checked_result(checker.check(current, context.derive(check_id)), f"The check {check_id!r}")
            issues += [issue.from_check(check_id) for issue in result.issues]
            if not isinstance(result.value, Unset):
                current, corrected = result.value, True
        context.signal.raise_if_cancelled()
        return result_of(tuple(issues), current if corrected else UNSET)


def define_answer_check_catalog(definitions: Iterable[AnswerChecker[ValueT, AppT]]) -> AnswerCheckCatalog[ValueT, AppT]:
    """A catalog of these checks.

    Raises:
        InvalidDefinitionError: A blank or repeated id.
    """
    return AnswerCheckCatalog(definitions)


def checked_result(result: CheckResult[ValueT], giver: str) -> CheckResult[ValueT]:
    """What a check of the application gave, if it is a check result.

    Raises:
        AnswerContractError: It is something to await, or something else.
    """
    plain: object = refuse_awaitable(result, giver, error=AnswerContractError)
    if not isinstance(plain, (Passed, Failed)):
        raise AnswerContractError(f"{giver} gave a {type(plain).__name__}.", remedy="Return Passed or Failed.")
    return plain
