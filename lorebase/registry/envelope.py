"""The envelope of a command: its data, which is well formed also after a failure, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from lorebase.errors import LorebaseError

Data = TypeVar("Data")


class EnvelopeError(BaseModel):
    """Why a command did nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str = Field(description="Stable UPPER_SNAKE identity of the problem.")
    message: str = Field(description="One sentence that names the thing.")
    retryable: bool = Field(description="Whether the same call may succeed later without any change of its input.")
    suggestion: str = Field("", description="What to do next; empty where the message says it.")


class Envelope(BaseModel, Generic[Data]):
    """What a command gives back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = Field(description="Whether the command did what it was asked to.")
    data: Data = Field(description="The result; after a failure an empty one of the same shape.")
    error: EnvelopeError | None = Field(None, description="Why it failed; null where it did not.")
    warnings: tuple[str, ...] = Field((), description="What was changed or left out on the way, each with its code.")


class NoData(BaseModel):
    """The data of a failed command that has no empty result of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Deleted(BaseModel):
    """The data of a deletion."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deleted: bool = Field(description="Whether something was deleted.")


def success(data: Data, warnings: Sequence[str] = ()) -> Envelope[Data]:
    """The command did what it was asked to."""
    return Envelope(ok=True, data=data, warnings=tuple(warnings))


def failure(
    data: Data, code: str, message: str, *, retryable: bool, suggestion: str = "", warnings: Sequence[str] = ()
) -> Envelope[Data]:
    """The command did nothing.

    Args:
        data: An empty result of the command's shape.
        code: Stable identity of the problem.
        message: One sentence that names the thing.
        retryable: Whether the same call may succeed later without any change of its input.
        suggestion: What to do next.
        warnings: What else there is to know.
    """
    error = EnvelopeError(code=code, message=message, retryable=retryable, suggestion=suggestion)
    return Envelope(ok=False, data=data, error=error, warnings=tuple(warnings))


def failure_of(data: Data, error: LorebaseError) -> Envelope[Data]:
    """An error of the tree as a failed command, at the border where envelopes are spoken."""
    return failure(data, error.code, error.message, retryable=error.retryable, suggestion=error.remedy)
