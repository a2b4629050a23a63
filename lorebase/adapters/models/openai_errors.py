"""What the openai client raises, as Lorebase's errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import openai

from lorebase.adapters.models.endpoint_errors import (
    StatusAnswer,
    no_answer_of_the_api,
    problem_of,
    said_by,
    unreachable,
)
from lorebase.errors import DependencyError

_NEVER_SENT = ("ConnectError", "ConnectTimeout")  # httpx and httpx2 have classes of these names
_UNNAMED_FAILURE = 500


def translated(error: openai.APIError, *, endpoint: str, model: str, secret: str, now: datetime) -> DependencyError:
    """The error of the tree that stands for `error`.

    Args:
        error: What one attempt raised.
        endpoint: Name of the endpoint in the workspace.
        model: The model that was asked for.
        secret: The API key; it is struck out of whatever the endpoint said.
        now: Against which a Retry-After date is read.
    """
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        said = said_by(status, _message_of(error.body) or error.message, secret)
        answer = StatusAnswer(status, said, error.code or "", error.response.headers)
        return problem_of(answer, endpoint=endpoint, model=model, now=now)
    if isinstance(error, openai.APIConnectionError):
        return unreachable(endpoint, reached=type(error.__cause__).__name__ not in _NEVER_SENT)
    if isinstance(error.body, Mapping):  # an error in place of an answer, or within a stream, under status 200
        return problem_of(answer_of_body(error.body, secret), endpoint=endpoint, model=model, now=now)
    return no_answer_of_the_api(endpoint)


def answer_of_body(body: Mapping[str, object], secret: str) -> StatusAnswer:
    """An error object of the API; its code may be an HTTP status, and without one it counts as a failed service."""
    code = body.get("code")
    is_status = isinstance(code, int) or (isinstance(code, str) and code.isdecimal())
    status = int(str(code)) if is_status else _UNNAMED_FAILURE
    return StatusAnswer(status, said_by(status, _message_of(body), secret), "" if is_status else str(code or ""))


def _message_of(body: object) -> object:
    return body.get("message") if isinstance(body, Mapping) else None
