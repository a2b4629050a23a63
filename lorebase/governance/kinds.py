"""Kinds and statuses of tasks and feedback."""

from __future__ import annotations

from enum import StrEnum


class TaskKind(StrEnum):
    """What a worker does with a revision."""

    PROCESS = "PROCESS"
    REINDEX = "REINDEX"
    DELETE_INDEX = "DELETE_INDEX"


class TaskStatus(StrEnum):
    """Where a task stands."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class FeedbackKind(StrEnum):
    """What was wrong with an answer that cited a revision."""

    LOW_QUALITY = "LOW_QUALITY"
    HUMAN_TAKEOVER = "HUMAN_TAKEOVER"
    WRONG_ANSWER = "WRONG_ANSWER"
    HUMAN_CORRECTION = "HUMAN_CORRECTION"


class FeedbackStatus(StrEnum):
    """Whether an operator has looked at a feedback."""

    OPEN = "OPEN"
    RESOLVED = "RESOLVED"
    DISMISSED = "DISMISSED"
