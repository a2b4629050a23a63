"""What is recorded of a failed task: a code and a fixed sentence, chosen by stage and kind of error.

An exception may quote the document, a request, a header or a token. None of its words are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lorebase import errors
from lorebase.governance.codes import TASK_SUMMARIES, TaskErrorCode


class Stage(StrEnum):
    """Where in its work a task was."""

    PARSE = "PARSE"
    CHUNK = "CHUNK"
    EMBED = "EMBED"
    INDEX = "INDEX"
    RECONCILE = "RECONCILE"


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A failure as it may be stored and logged.

    Attributes:
        code: Of the catalogue.
        summary: The catalogue's sentence.
        retryable: Whether another attempt may go better.
    """

    code: TaskErrorCode
    summary: str
    retryable: bool


_ANYTHING: type[Exception] = Exception
_CODES: tuple[tuple[Stage, type[Exception], TaskErrorCode], ...] = (
    (Stage.PARSE, TimeoutError, TaskErrorCode.PARSE_TIMEOUT),
    (Stage.PARSE, _ANYTHING, TaskErrorCode.PARSE_FAILED),
    (Stage.CHUNK, _ANYTHING, TaskErrorCode.CHUNKING_FAILED),
    (Stage.EMBED, errors.RateLimitedError, TaskErrorCode.EMBEDDING_RATE_LIMIT),
    (Stage.EMBED, _ANYTHING, TaskErrorCode.EMBEDDING_FAILED),
    (Stage.INDEX, errors.IndexMismatchError, TaskErrorCode.INDEX_MISMATCH),
    # An index answers a write of vectors of another width with this (lorebase.index.ports.VectorIndex.upsert).
    (Stage.INDEX, errors.MalformedAnswerError, TaskErrorCode.EMBEDDING_DIMENSION_MISMATCH),
    (Stage.INDEX, _ANYTHING, TaskErrorCode.VECTOR_WRITE_FAILED),
    (Stage.RECONCILE, errors.IndexMismatchError, TaskErrorCode.INDEX_MISMATCH),
)
"""The first row that fits decides; without one the code is UNKNOWN."""


def failure_of(error: Exception, stage: Stage | None = None) -> TaskFailure:
    """What may be recorded of an error. Only errors of Lorebase's tree say whether they are worth another attempt."""
    code = next(
        (code for known, kind, code in _CODES if known is stage and isinstance(error, kind)), TaskErrorCode.UNKNOWN
    )
    retryable = error.retryable if isinstance(error, errors.LorebaseError) else False
    return TaskFailure(code, TASK_SUMMARIES[code], retryable)


TIMED_OUT = TaskFailure(TaskErrorCode.TASK_TIMEOUT, TASK_SUMMARIES[TaskErrorCode.TASK_TIMEOUT], retryable=True)
"""A lease that ran out."""
