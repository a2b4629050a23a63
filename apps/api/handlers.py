"""Which answer each kind of exception becomes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from apps.api.problems import (
    CODE_OF_STATUS,
    INTERNAL_ERROR,
    FieldError,
    headers_of,
    problem,
    problem_of,
    problem_response,
)
from lorebase.errors import LorebaseError


def register_handlers(app: FastAPI) -> None:
    """Let every error leave as a problem document."""
    app.add_exception_handler(LorebaseError, _of_lorebase)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)


async def _of_lorebase(request: Request, error: Exception) -> Response:
    assert isinstance(error, LorebaseError)  # noqa: S101 (registered for nothing else; tells the type checker)
    return problem_response(problem_of(error, request.state.request_id), headers_of(error))


async def _of_validation(request: Request, error: Exception) -> Response:
    """Every fault of a request at once. What was sent is not repeated: it may be private, and it may be long."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 (as above)
    faults = [_field_error(fault) for fault in error.errors()]
    named = ", ".join(dict.fromkeys(fault.field for fault in faults))
    found = problem(
        "VALIDATION_ERROR",
        400,
        f"The request has {len(faults)} fault(s): {named}."[:1000],
        request_id=request.state.request_id,
        remedy="Mend what `errors` lists; /openapi.json says what is allowed.",
        faults=faults,
    )
    return problem_response(found)


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (as above)
    code = CODE_OF_STATUS.get(error.status_code, INTERNAL_ERROR)
    found = problem(code, error.status_code, error.detail, request_id=request.state.request_id)
    return problem_response(found, error.headers)


def _field_error(fault: dict[str, Any]) -> FieldError:
    field = ".".join(str(part)[:80] for part in fault["loc"])
    return FieldError(field=field, message=str(fault["msg"])[:300], code=str(fault["type"]))
