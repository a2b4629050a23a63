"""Check results and issues."""

from __future__ import annotations

import copy
import pickle

import pytest
from pydantic import ValidationError

from lorebase import operation
from lorebase.errors import ContractError
from lorebase.operation.check_results import UNSET, Failed, Passed, result_of
from lorebase.operation.issues import CheckIssue

WRONG = CheckIssue(code="WRONG", message="It is wrong.")


def test_a_passed_result_has_no_issues() -> None:
    """A-046: a passed result always has an empty list of issues."""
    assert Passed[str]().issues == ()
    with pytest.raises(ContractError, match="passed check has 1 issues"):
        Passed[str](issues=(WRONG,))


def test_a_failed_result_has_at_least_one_issue() -> None:
    """A-046."""
    assert Failed[str](issues=(WRONG,)).issues == (WRONG,)
    with pytest.raises(ContractError, match="no issue"):
        Failed[str](issues=())


def test_none_is_a_value_and_unset_is_none() -> None:
    """A-049: None that a check puts in place is not the absence of a value."""
    assert Passed[str | None](value=None).value is None
    assert Passed[str | None]().value is UNSET
    assert Passed[str | None](value=None) != Passed[str | None]()


def test_unset_stays_one_thing_when_it_is_copied_or_pickled() -> None:
    assert copy.deepcopy(UNSET) is UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET
    assert repr(UNSET) == "UNSET"


def test_a_list_of_issues_cannot_be_changed_afterwards() -> None:
    issues = [WRONG]

    result = Failed[str](issues=issues)  # type: ignore[arg-type]  # what an untyped caller gives
    issues.append(WRONG)

    assert result.issues == (WRONG,)


def test_issues_decide_whether_a_result_passed() -> None:
    assert result_of((), "better") == Passed(value="better")
    assert result_of((WRONG,)) == Failed(issues=(WRONG,))


def test_the_path_of_an_issue_holds_names_and_positions() -> None:
    """A-048: a path is a list of strings and numbers."""
    issue = CheckIssue(code="WRONG", message="Wrong.", path=("answers", 0, "text"))

    assert issue.path == ("answers", 0, "text")
    assert issue.model_dump(mode="json")["path"] == ["answers", 0, "text"]


@pytest.mark.parametrize("code", ["wrong", "", "1ST", "HAS SPACE"])
def test_codes_are_upper_snake(code: str) -> None:
    with pytest.raises(ValidationError):
        CheckIssue(code=code, message="Wrong.")


def test_the_kits_call_it_issue() -> None:
    assert operation.Issue is CheckIssue
