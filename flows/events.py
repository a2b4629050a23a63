"""Events that builds and evaluations emit, for automations: a message, a ticket, another deployment.

| event | when |
|---|---|
| lorebase.build.succeeded, .failed, .cancelled | a build has come to its end |
| lorebase.build.issues-above-limit | a build recorded more issues than its option `issue_limit` |
| lorebase.gate.failed | an evaluation is below a floor of its gate |
| lorebase.retention.cleaned | a knowledge base was cleaned up |

The resource is the knowledge base, `lorebase.knowledge-base.<name>`; Prefect adds the flow run and its deployment as
related resources. Payloads hold counts and codes, never texts of documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prefect.events import emit_event

from lorebase.evaluation.gates import GateCheck
from lorebase.runs.cleaning import CleaningReport
from lorebase.runs.progress import SilentProgress
from lorebase.runs.records import RecipeRunRecord

BUILD_EVENT = "lorebase.build."
ISSUES_EVENT = "lorebase.build.issues-above-limit"
GATE_EVENT = "lorebase.gate.failed"
RETENTION_EVENT = "lorebase.retention.cleaned"
_MESSAGE_CHARS = 500


class BuildEvents(SilentProgress):
    """Emits the events of a build when it has ended.

    Args:
        issue_limit: Most issues that call for nobody; None is no limit.
    """

    def __init__(self, issue_limit: int | None = None) -> None:
        self._issue_limit = issue_limit

    async def build_ended(self, record: RecipeRunRecord) -> None:
        """Say how it ended, and whether there were too many issues."""
        payload = _build_payload(record)
        _emit(f"{BUILD_EVENT}{record.status}", record.base_name, payload)
        if self._issue_limit is not None and payload["issues"] > self._issue_limit:
            _emit(ISSUES_EVENT, record.base_name, {**payload, "issue_limit": self._issue_limit})


def emit_failed_gate(base_name: str, data_set: str, checks: Iterable[GateCheck]) -> None:
    """Emit an event with what was not reached; nothing where every floor was."""
    missed = {check.metric: {"value": check.value, "floor": check.floor} for check in checks if not check.is_met}
    if missed:
        _emit(GATE_EVENT, base_name, {"data_set": data_set, "missed": missed})


def emit_cleaned(report: CleaningReport) -> None:
    """Emit what was freed."""
    payload = {
        "removed_snapshots": len(report.removed_snapshots),
        "freed_count": report.freed_count,
        "freed_bytes": report.freed_bytes,
    }
    _emit(RETENTION_EVENT, report.name, payload)


def _build_payload(record: RecipeRunRecord) -> dict[str, Any]:
    error = record.error
    return {
        "run_id": record.run_id,
        "status": record.status,
        "snapshot_id": record.snapshot_id,
        "issues": sum(record.issues_by_code.values()),
        "issues_by_code": record.issues_by_code,
        "failed_steps": [step.step_name for step in record.step_records if step.status == "failed"],
        "error_code": error.code if error else "",
        "error_message": error.message[:_MESSAGE_CHARS] if error else "",
    }


def _emit(event: str, base_name: str, payload: dict[str, Any]) -> None:
    resource = {"prefect.resource.id": f"lorebase.knowledge-base.{base_name}", "prefect.resource.name": base_name}
    emit_event(event, resource=resource, payload=payload)
