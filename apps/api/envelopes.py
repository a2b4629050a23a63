"""Answers of the registry on the wire: its envelope after a success, a problem after a failure."""

from __future__ import annotations

from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from apps.api.problems import problem, problem_response
from lorebase.errors import NotFoundError
from lorebase.registry.envelope import Envelope
from lorebase.registry.keeping import BASE_NOT_FOUND, not_found_message

_CONFLICTS: Final = frozenset(
    {
        "BUILTIN_IMMUTABLE", "CONTENT_ELSEWHERE", "DEFAULT_BASE_IMMUTABLE", "DUPLICATE_BASE_ID", "DUPLICATE_LABEL",
        "DUPLICATE_TYPE_ID", "FALLBACK_REQUIRED", "SOURCE_TYPE_LIMIT", "TYPE_IN_USE",
    }
)  # fmt: skip

Data = TypeVar("Data")


def answered(envelope: Envelope[Data], request: Request, base_id: str = "") -> Envelope[Data] | Response:
    """The envelope, or its error as a problem with the registry's own code.

    Args:
        envelope: What the registry answered.
        request: What it answered to.
        base_id: The base that was named.

    Raises:
        NotFoundError: There is no such base; as for a base that is not the caller's.
    """
    error = envelope.error
    if error is None:
        return envelope
    if error.code == BASE_NOT_FOUND:
        raise NotFoundError(not_found_message(base_id))
    found = problem(
        error.code,
        _status_of(error.code),
        error.message,
        request_id=request.state.request_id,
        retryable=error.retryable,
        remedy=error.suggestion,
    )
    return problem_response(found)


def _status_of(code: str) -> int:
    if code in _CONFLICTS:
        return 409
    return 404 if code.endswith("_NOT_FOUND") else 400
