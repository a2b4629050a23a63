"""What is refused before a body is read: callers nobody knows, bodies of another type, bodies that are too large."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apps.api.principals import Authenticator
from apps.api.problems import CODE_OF_STATUS, headers_of, problem, problem_of, problem_response
from lorebase.errors import UnauthenticatedError

GUARDED_PREFIX: Final = "/v1/"
UPLOAD_SUFFIX: Final = "/file"
"""Paths whose body is a file and not JSON; their own route watches its size."""


class Admission:
    """Lets a request through to its route.

    Args:
        app: The routes.
        authenticator: Tells who calls.
        max_body_bytes: Largest JSON body.
    """

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator, max_body_bytes: int) -> None:
        self._app = app
        self._authenticator = authenticator
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED_PREFIX):
            await self._app(scope, receive, send)
            return
        headers, state = Headers(scope=scope), scope["state"]
        try:
            state["principal"] = self._authenticator.principal_of(
                headers, request_id=state["request_id"], trace_id=state["trace_id"]
            )
        except UnauthenticatedError as error:
            refusal = problem_response(problem_of(error, state["request_id"]), headers_of(error))
            await refusal(scope, receive, send)
            return
        if scope["path"].endswith(UPLOAD_SUFFIX):
            await self._app(scope, receive, send)
            return
        if status := self._status_of_body(headers):
            details = {413: f"A body has at most {self._max_body_bytes} bytes.", 415: "The body must be JSON."}
            remedies = {413: "Send less at once.", 415: "Send it as application/json, in UTF-8."}
            refused = problem(
                CODE_OF_STATUS[status],
                status,
                details[status],
                request_id=state["request_id"],
                remedy=remedies[status],
            )
            await problem_response(refused)(scope, receive, send)
            return
        await self._app(scope, _bounded(receive, self._max_body_bytes), send)

    def _status_of_body(self, headers: Headers) -> int:
        """What the announced body is refused with; 0 where it is none or may come."""
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_body_bytes:
            return 413
        if length in {"", "0"} and "transfer-encoding" not in headers:
            return 0
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        return 0 if media_type == "application/json" else 415


def _bounded(receive: Receive, max_bytes: int) -> Receive:
    """`receive` that ends a body that grows past its limit, whatever was announced."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > max_bytes:
            raise HTTPException(413, f"A body has at most {max_bytes} bytes.")
        return message

    return bounded
