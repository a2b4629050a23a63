"""What a caller gets instead of an answer: one problem document (RFC 9457) for every error, with a stable code."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from lorebase import errors
from lorebase.governance.codes import HTTP_STATUS

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
INTERNAL_ERROR: Final = "INTERNAL_ERROR"
CLIENT_GONE: Final = 499
"""Nobody reads it; the access log shows it (the number that nginx uses)."""

_CODES: Final[tuple[tuple[type[errors.LorebaseError], str, int], ...]] = (
    (errors.NotFoundError, "NOT_FOUND", 404),
    (errors.UsageError, "VALIDATION_ERROR", 400),
    (errors.UnsupportedModeError, "UNSUPPORTED_MODE", 409),
    (errors.ConflictError, "CONFLICT", 409),
    (errors.OperationCancelledError, "CANCELLED", CLIENT_GONE),
    (errors.DependencyError, "DEPENDENCY_UNAVAILABLE", 503),
)
"""Code and status of errors whose own code is not in the catalogue; the first row that fits. Others are internal."""

CODE_OF_STATUS: Final[Mapping[int, str]] = {
    400: "VALIDATION_ERROR",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "BODY_TOO_LARGE",
    415: "UNSUPPORTED_TYPE",
}
"""Code of what is refused before any service is asked."""


class FieldError(BaseModel):
    """What is wrong with one value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str = Field(description="Where it stands: `body.title`, `query.page_num`; the name alone from a service.")
    message: str
    code: str = Field("", description="Kind of fault.")


class Problem(BaseModel):
    """Why a request was not carried out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = Field(description="urn:lorebase:problem:CODE")
    title: str
    status: int
    detail: str = Field(description="One sentence that names the thing.")
    code: str = Field(description="Stable UPPER_SNAKE identity of the problem.")
    request_id: str = Field(description="As in the header X-Request-ID and in the logs.")
    retryable: bool = Field(default=False, description="Whether the same request may succeed later.")
    remedy: str = Field("", description="What to do next.")
    errors: tuple[FieldError, ...] = ()
    facts: dict[str, Any] = Field(default_factory=dict, description="Conflicts: the values behind the sentence.")


def problem(
    code: str,
    status: int,
    detail: str,
    *,
    request_id: str,
    retryable: bool = False,
    remedy: str = "",
    faults: Sequence[FieldError] = (),
    facts: Mapping[str, Any] | None = None,
) -> Problem:
    """A problem with its type and title."""
    title = "Client Closed Request" if status == CLIENT_GONE else HTTPStatus(status).phrase
    return Problem(
        type=f"urn:lorebase:problem:{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        request_id=request_id,
        retryable=retryable,
        remedy=remedy,
        errors=tuple(faults),
        facts=dict(facts or {}),
    )


def problem_of(error: errors.LorebaseError, request_id: str) -> Problem:
    """An error of the tree as a problem.

    What services and operators have to mend is said without its message, which may quote addresses or documents: that
    goes to the log, under the request's id.
    """
    code, status = _code_and_status(error)
    if isinstance(error, errors.CommandError | errors.UsageError | errors.UnsupportedModeError | errors.ConflictError):
        field = error.facts.get("field")
        return problem(
            code,
            status,
            error.message,
            request_id=request_id,
            retryable=error.retryable,
            remedy=error.remedy,
            faults=[FieldError(field=field, message=error.message, code=code)] if isinstance(field, str) else (),
            facts=error.facts if isinstance(error, errors.StateConflictError) else None,
        )
    logger.warning("request %s: %s: %s", request_id, error.code, error.message)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        detail = "A service that this request needs did not answer as it must. This is not the same as no evidence."
        return problem(code, status, detail, request_id=request_id, retryable=True, remedy="Repeat it later.")
    detail = "The request was not carried out; the operator's log says why."
    return problem(code, status, detail, request_id=request_id, retryable=error.retryable)


def problem_response(found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The problem on the wire."""
    return Response(
        orjson.dumps(found.model_dump(mode="json")), status_code=found.status, headers=headers, media_type=MEDIA_TYPE
    )


def headers_of(error: errors.LorebaseError) -> dict[str, str]:
    """Headers that go with an error: how to prove who calls, when to come back."""
    if isinstance(error, errors.UnauthenticatedError):
        return {"WWW-Authenticate": "Bearer"}
    after = error.facts.get("retry_after_seconds")
    return {"Retry-After": str(max(1, round(after)))} if isinstance(after, int | float) else {}


def _code_and_status(error: errors.LorebaseError) -> tuple[str, int]:
    if error.code in HTTP_STATUS:
        return error.code, HTTP_STATUS[error.code]
    for kind, code, status in _CODES:
        if isinstance(error, kind):
            return code, status
    return INTERNAL_ERROR, 500
