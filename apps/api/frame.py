"""The outermost frame of every request: its ids, its line in the access log, and the last answer to a defect."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apps.api.problems import INTERNAL_ERROR, problem, problem_response
from lorebase import tracing
from lorebase.clock import Clock

logger = logging.getLogger(__name__)
access_log = logging.getLogger("lorebase.access")

REQUEST_ID_HEADER: Final = "X-Request-ID"
TRACE_ID_HEADER: Final = "X-Trace-ID"
_WELL_FORMED: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""W3C Trace Context, 3.2."""

_FIXED_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class RequestFrame:
    """Gives every request its ids and every response its headers; nothing leaves it unanswered.

    A request id that is well formed is kept, so that a repeated command can be told from a new one.

    Args:
        app: What answers.
        new_id: Makes ids for requests that bring none.
        clock: Measures how long a request takes.
    """

    def __init__(self, app: ASGIApp, *, new_id: Callable[[], str], clock: Clock) -> None:
        self._app = app
        self._new_id = new_id
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = _well_formed(headers.get(REQUEST_ID_HEADER)) or self._new_id()
        state["trace_id"] = _trace_of(headers) or state["request_id"]
        sending = _Sending(send, state["request_id"])
        began = self._clock.monotonic()
        try:
            with tracing.scope("lorebase.request", request_id=state["request_id"], request_trace_id=state["trace_id"]):
                await self._answer(scope, receive, sending)
        finally:
            self._log(scope, sending, self._clock.monotonic() - began)

    async def _answer(self, scope: Scope, receive: Receive, sending: _Sending) -> None:
        request_id = scope["state"]["request_id"]
        try:
            await self._app(scope, receive, sending)
        except Exception:  # the border: a defect is logged and answered, and the server goes on with other requests
            logger.exception("request %s failed", request_id)
            if sending.status:
                raise
            detail = "The request was not carried out; the operator's log says why."
            await problem_response(problem(INTERNAL_ERROR, 500, detail, request_id=request_id))(scope, receive, sending)

    def _log(self, scope: Scope, sending: _Sending, seconds: float) -> None:
        """One line: never a body, a query text, a header's value or a secret."""
        state = scope["state"]
        principal = state.get("principal")
        route = scope.get("route")
        line = {
            "at": self._clock.now().isoformat(timespec="milliseconds"),
            "request_id": state["request_id"],
            "trace_id": state["trace_id"],
            "method": scope["method"],
            "route": getattr(route, "path", ""),
            "path": scope["path"],
            "status": sending.status,
            "milliseconds": round(seconds * 1000, 1),
            "bytes": sending.bytes_sent,
            "organ_id": str(principal.organ_id) if principal else "",
            "user_id": principal.user_id if principal else "",
        }
        access_log.info("%s", orjson.dumps(line).decode())


class _Sending:
    """Sends with the fixed headers, and remembers what was sent."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0
        self.bytes_sent = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID_HEADER] = self._request_id
            for name, value in _FIXED_HEADERS.items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body":
            self.bytes_sent += len(message.get("body", b""))
        await self._send(message)


def _trace_of(headers: Headers) -> str:
    parent = _TRACE_PARENT.fullmatch(headers.get("traceparent", ""))
    return _well_formed(headers.get(TRACE_ID_HEADER)) or (parent.group(1) if parent else "")


def _well_formed(value: str | None) -> str:
    return value if value is not None and _WELL_FORMED.fullmatch(value) else ""
