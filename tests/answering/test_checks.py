"""The check catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.checks import AnswerCheckCatalog, CheckRequest, define_answer_check_catalog
from lorebase.errors import AnswerContractError, InvalidDefinitionError, OperationCancelledError, UnknownIdError
from lorebase.operation.check_results import UNSET, CheckResult, Failed, Passed
from lorebase.operation.context import Cancellation, OperationContext
from lorebase.operation.issues import CheckIssue

CONTEXT = OperationContext(app=None)


@dataclass
class Checker:
    id: str
    judge: Callable[[Any], Any]

    def check(self, value: Any, context: OperationContext[Any]) -> CheckResult[Any]:
        return self.judge(value)  # type: ignore[no-any-return]  # some of them break the contract


def failing(check_id: str, *codes: str, **value: Any) -> Checker:
    issues = tuple(CheckIssue(code=code, message="Wrong.") for code in codes)
    return Checker(check_id, lambda _given: Failed(issues=issues, **value))


def catalog(*checkers: Checker) -> AnswerCheckCatalog[Any, Any]:
    return define_answer_check_catalog(checkers)


def run(known: AnswerCheckCatalog[Any, Any], *check_ids: str, value: Any = "text") -> CheckResult[Any]:
    return known.check(CheckRequest(check_ids=check_ids, value=value), CONTEXT)


def test_checks_run_in_the_order_asked_for_and_issues_name_their_check() -> None:
    """A-040, A-041, A-043."""
    known = catalog(failing("a", "ONE", "TWO"), Checker("b", lambda _: Passed()), failing("c", "THREE"))

    result = run(known, "c", "b", "a")

    assert [(issue.code, issue.source) for issue in result.issues] == [("THREE", "c"), ("ONE", "a"), ("TWO", "a")]
    assert (result.status, result.value) == ("failed", UNSET)


def test_a_mark_of_another_check_is_replaced() -> None:
    forged = CheckIssue(code="ONE", message="Wrong.", source="somebody else")

    result = run(catalog(Checker("a", lambda _: Failed(issues=(forged,)))), "a")

    assert [issue.source for issue in result.issues] == ["a"]


def test_each_check_sees_the_value_as_those_before_left_it() -> None:
    """A-042."""
    seen: list[str] = []
    known = catalog(
        Checker("trim", lambda value: Passed(value=value.strip())),
        failing("cut", "LONG", value="cut"),
        Checker("look", lambda value: seen.append(value) or Passed()),
    )

    result = run(known, "trim", "look", value=" text ")
    failed = run(known, "cut", "look", value=" text ")

    assert seen == ["text", "cut"]
    assert (result.value, failed.value, failed.status) == ("text", "cut", "failed")


def test_none_put_in_place_is_a_value_and_unset_is_not() -> None:
    """A-049."""
    known = catalog(Checker("clear", lambda _: Passed(value=None)), Checker("look", lambda value: Passed()))

    assert run(known, "clear", "look").value is None
    assert run(known, "look").value is UNSET


def test_no_checks_pass_with_nothing_changed() -> None:
    assert run(catalog()) == Passed()


def test_an_unknown_check_is_refused_before_any_has_run() -> None:
    ran: list[str] = []
    known = catalog(Checker("a", lambda _: ran.append("a") or Passed()))

    with pytest.raises(UnknownIdError, match="no answer check 'b'"):
        run(known, "a", "b")
    assert ran == []


def test_a_check_that_is_asked_for_twice_is_refused() -> None:
    with pytest.raises(AnswerContractError, match="twice"):
        run(catalog(Checker("a", lambda _: Passed())), "a", "a")


def test_a_fault_of_the_program_passes_and_no_later_check_runs() -> None:
    """A-044."""
    ran: list[str] = []
    known = catalog(Checker("a", lambda _: 1 / 0), Checker("b", lambda _: ran.append("b") or Passed()))

    with pytest.raises(ZeroDivisionError):
        run(known, "a", "b")
    assert ran == []


async def coroutine() -> CheckResult[str]:
    return Passed()


@pytest.mark.parametrize(
    "judge",
    [
        lambda _: coroutine(),
        lambda _: asyncio.get_running_loop().create_future(),
        lambda _: None,
        lambda _: True,
        lambda _: {"status": "passed", "issues": []},
    ],
)
async def test_what_is_no_check_result_is_refused(judge: Callable[[Any], Any]) -> None:
    """A-045."""
    with pytest.raises(AnswerContractError, match="The check 'a' gave"):
        run(catalog(Checker("a", judge)), "a")


def test_a_signal_ends_the_checks() -> None:
    cancellation = Cancellation()
    ran: list[str] = []
    known = catalog(
        Checker("a", lambda _: cancellation.cancel() or Passed()), Checker("b", lambda _: ran.append("b") or Passed())
    )

    with pytest.raises(OperationCancelledError):
        known.check(CheckRequest(check_ids=["a", "b"], value=""), OperationContext(app=None, signal=cancellation))
    assert ran == []


def test_a_check_gets_the_app_and_a_scope_of_its_own() -> None:
    seen: list[tuple[str, tuple[str, ...]]] = []

    class Looking:
        id = "look"

        def check(self, value: str, context: OperationContext[str]) -> CheckResult[str]:
            seen.append((context.app, context.diagnostics.scope))
            return Passed()

    define_answer_check_catalog([Looking()]).check(
        CheckRequest(check_ids=["look"], value=""), OperationContext(app="shop")
    )

    assert seen == [("shop", ("look",))]


def test_two_checks_with_one_id_are_refused() -> None:
    with pytest.raises(InvalidDefinitionError):
        catalog(failing("a", "ONE"), failing("a", "TWO"))


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.none() | st.integers()), max_size=6))
def test_for_every_chain_issues_come_in_order_and_the_last_value_counts(plan: list[tuple[bool, int | None]]) -> None:
    """A-041, A-042, A-043."""
    checkers = []
    for number, (fails, value) in enumerate(plan):
        change = {} if value is None else {"value": value}
        passing = Checker(f"c{number}", lambda _given, change=change: Passed(**change))
        checkers.append(failing(f"c{number}", "WRONG", **change) if fails else passing)

    result = run(catalog(*checkers), *(checker.id for checker in checkers))

    values = [value for _fails, value in plan if value is not None]
    assert [issue.source for issue in result.issues] == [f"c{n}" for n, (fails, _value) in enumerate(plan) if fails]
    assert result.value == (values[-1] if values else UNSET)
