"""The HTTP status of every error code, and the codes that a task may record: tables only."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

HTTP_STATUS: Mapping[str, int] = {
    "VALIDATION_ERROR": 400,
    "UNSAFE_FILENAME": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "INVALID_STATE": 409,
    "VERSION_CONFLICT": 409,
    "RELEASE_CONFLICT": 409,
    "DRAFT_CONFLICT": 409,
    "REVIEW_IN_PROGRESS": 409,
    "REVISION_IN_USE": 409,
    "INDEX_NOT_READY": 409,
    "KEY_TAKEN": 409,
    "DUPLICATE_SOURCE": 409,
    "IDEMPOTENCY_CONFLICT": 409,
    "FILE_TOO_LARGE": 413,
    "UNSUPPORTED_TYPE": 415,
    "MIME_MISMATCH": 415,
    "INDEX_MISMATCH": 500,
    "DEPENDENCY_UNAVAILABLE": 503,
    "RETRIEVAL_TIMEOUT": 503,
}
"""Codes that callers of governed knowledge see. `NO_EVIDENCE` is the reason of a result and no error."""


class TaskErrorCode(StrEnum):
    """Why a task failed: all that is recorded beside a fixed sentence."""

    PARSE_FAILED = "PARSE_FAILED"
    PARSE_TIMEOUT = "PARSE_TIMEOUT"
    CHUNKING_FAILED = "CHUNKING_FAILED"
    EMBEDDING_RATE_LIMIT = "EMBEDDING_RATE_LIMIT"
    EMBEDDING_FAILED = "EMBEDDING_FAILED"
    EMBEDDING_DIMENSION_MISMATCH = "EMBEDDING_DIMENSION_MISMATCH"
    VECTOR_WRITE_FAILED = "VECTOR_WRITE_FAILED"
    INDEX_MISMATCH = "INDEX_MISMATCH"
    TASK_TIMEOUT = "TASK_TIMEOUT"
    UNKNOWN = "UNKNOWN"


TASK_SUMMARIES: Mapping[TaskErrorCode, str] = {
    TaskErrorCode.PARSE_FAILED: "The original could not be parsed.",
    TaskErrorCode.PARSE_TIMEOUT: "Parsing the original took longer than allowed.",
    TaskErrorCode.CHUNKING_FAILED: "The parsed text could not be cut into chunks.",
    TaskErrorCode.EMBEDDING_RATE_LIMIT: "The embedding model asked to wait.",
    TaskErrorCode.EMBEDDING_FAILED: "The chunks could not be embedded.",
    TaskErrorCode.EMBEDDING_DIMENSION_MISMATCH: "The vectors do not have the width of the index.",
    TaskErrorCode.VECTOR_WRITE_FAILED: "The index could not be written.",
    TaskErrorCode.INDEX_MISMATCH: "The index does not hold what the chunk manifest says.",
    TaskErrorCode.TASK_TIMEOUT: "No worker finished the task within its lease.",
    TaskErrorCode.UNKNOWN: "The task failed for a reason that is not in the catalogue.",
}
"""The sentence that is stored with each code. What an exception says is never stored: it may quote the document."""
