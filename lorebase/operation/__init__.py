"""What the kits for answering and presentation share: context, check results, catalogs, schemas, observation."""

from __future__ import annotations

from lorebase.operation.awaitables import refuse_awaitable
from lorebase.operation.catalogs import Identified, ReadonlyCatalog, RegisteredIds
from lorebase.operation.check_results import UNSET, CheckResult, Failed, Passed, Unset, result_of
from lorebase.operation.context import (
    Cancellation,
    CancelSignal,
    DiagnosticEntry,
    Diagnostics,
    OperationContext,
    until_cancelled,
)
from lorebase.operation.issues import CheckIssue
from lorebase.operation.loop import Loop, NodeVisit, Workflow
from lorebase.operation.observation import Observer, detached, notify
from lorebase.operation.schemas import PydanticSchema, SchemaAdapter, TextSchema, schema_error, schema_issues

Issue = CheckIssue

__all__ = [
    "UNSET",
    "CancelSignal",
    "Cancellation",
    "CheckIssue",
    "CheckResult",
    "DiagnosticEntry",
    "Diagnostics",
    "Failed",
    "Identified",
    "Issue",
    "Loop",
    "NodeVisit",
    "Observer",
    "OperationContext",
    "Passed",
    "PydanticSchema",
    "ReadonlyCatalog",
    "RegisteredIds",
    "SchemaAdapter",
    "TextSchema",
    "Unset",
    "Workflow",
    "detached",
    "notify",
    "refuse_awaitable",
    "result_of",
    "schema_error",
    "schema_issues",
    "until_cancelled",
]
