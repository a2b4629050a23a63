"""What a check found wrong with a value: one shape for schemas, checks, reviews and reply formats."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

PathPart: TypeAlias = str | int
IssueSeverity: TypeAlias = Literal["error", "warning"]


class CheckIssue(BaseModel):
    """One thing that is wrong with a value.

    It is not `lorebase.runs.records.Issue`, which records a problem of a build; beside that one it keeps this name,
    elsewhere `lorebase.operation.Issue` is the same class.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str = Field(pattern=r"^[A-Z][A-Z0-9_]*$")
    message: str
    path: tuple[PathPart, ...] = Field((), description="Where in the value: names of fields, positions from 0.")
    severity: IssueSeverity = "error"
    source: str | None = Field(None, description="Id of the check that found it.")
    repairable: bool = Field(default=True, description="Whether another answer of the model can mend it.")

    def from_check(self, check_id: str) -> CheckIssue:
        """The same issue, marked with the check that found it."""
        return self.model_copy(update={"source": check_id})
