"""What a diagnosis says: findings, and how they add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

FindingStatus = Literal["ok", "warning", "failed"]
Cause = Literal["", "configuration", "unavailable"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Finding(_Frozen):
    """What one check found."""

    check: str = Field(description='What was looked at, such as "object store: clock".')
    status: FindingStatus
    message: str
    remedy: str = Field("", description="What to do next; empty where all is well.")
    cause: Cause = Field("", description="Of a failure: whether somebody has to change something, or to start it.")
    facts: dict[str, str | int | float | bool] = Field(default_factory=dict)

    @classmethod
    def ok(cls, check: str, message: str, **facts: str | float) -> Self:
        """All is well."""
        return cls(check=check, status="ok", message=message, facts=facts)

    @classmethod
    def warning(cls, check: str, message: str, remedy: str, **facts: str | float) -> Self:
        """It works, and somebody should look at it."""
        return cls(check=check, status="warning", message=message, remedy=remedy, facts=facts)

    @classmethod
    def misconfigured(cls, check: str, message: str, remedy: str, **facts: str | float) -> Self:
        """It cannot work before somebody changes something."""
        return cls(check=check, status="failed", message=message, remedy=remedy, cause="configuration", facts=facts)

    @classmethod
    def unavailable(cls, check: str, message: str, remedy: str, **facts: str | float) -> Self:
        """It did not answer as it must."""
        return cls(check=check, status="failed", message=message, remedy=remedy, cause="unavailable", facts=facts)

    def line(self) -> str:
        """The finding as one line of text."""
        text = f"{self.status:<7}  {self.check}: {self.message}"
        return f"{text} {self.remedy}".rstrip()


class Diagnosis(_Frozen):
    """All findings, in the order of the checks."""

    status: FindingStatus
    cause: Cause = Field(description="What stands in the way: a fault of the configuration before an absent service.")
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Self:
        """The findings, and the worst of them."""
        found = {finding.status for finding in findings}
        causes = {finding.cause for finding in findings}
        status: FindingStatus = "failed" if "failed" in found else "warning" if "warning" in found else "ok"
        cause: Cause = (
            "configuration" if "configuration" in causes else "unavailable" if "unavailable" in causes else ""
        )
        return cls(status=status, cause=cause, findings=tuple(findings))

    def lines(self) -> Iterator[str]:
        """The diagnosis as lines of text."""
        for finding in self.findings:
            yield finding.line()
        counts = {
            status: sum(finding.status == status for finding in self.findings) for status in ("warning", "failed")
        }
        yield (
            f"{len(self.findings)} checks: {counts['failed']} failed, {counts['warning']} to look at."
            if any(counts.values())
            else f"{len(self.findings)} checks: all is well."
        )
