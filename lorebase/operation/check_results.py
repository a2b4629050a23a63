"""The result of a check: passed or failed, each with or without a value that the check puts in place of its input."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from lorebase.errors import ContractError
from lorebase.operation.issues import CheckIssue

ValueT = TypeVar("ValueT")


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Says that a check left the value as it was. None is a value like any other: a check may put it in place."""


# Frozen generic dataclasses have no slots here: with them `Passed[str]()` fails on Python 3.11
# (https://github.com/python/cpython/issues/116669).
@dataclass(frozen=True, kw_only=True)
class Passed(Generic[ValueT]):
    """Nothing is wrong. Remarks that do not fail a value belong in the diagnostics, so `issues` is always empty.

    Raises:
        ContractError: It was given issues.
    """

    status: Literal["passed"] = "passed"
    issues: tuple[CheckIssue, ...] = ()
    value: ValueT | Unset = UNSET

    def __post_init__(self) -> None:
        object.__setattr__(self, "issues", tuple(self.issues))
        if self.issues:
            raise ContractError(
                f"A passed check has {len(self.issues)} issues.",
                remedy="Return Failed, or record what does not fail the value in the diagnostics.",
            )


@dataclass(frozen=True, kw_only=True)
class Failed(Generic[ValueT]):
    """Something is wrong; `issues` says what, in the order in which it was found, at least one.

    Raises:
        ContractError: It was given no issues.
    """

    status: Literal["failed"] = "failed"
    issues: tuple[CheckIssue, ...]
    value: ValueT | Unset = UNSET

    def __post_init__(self) -> None:
        object.__setattr__(self, "issues", tuple(self.issues))
        if not self.issues:
            raise ContractError("A failed check has no issue.", remedy="Say in at least one issue what is wrong.")


CheckResult: TypeAlias = Passed[ValueT] | Failed[ValueT]


def result_of(issues: tuple[CheckIssue, ...], value: ValueT | Unset = UNSET) -> CheckResult[ValueT]:
    """Failed where there are issues, passed where there are none."""
    return Failed(issues=issues, value=value) if issues else Passed(value=value)
