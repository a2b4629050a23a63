"""A loopback HTTP proxy before an S3 store that refuses, delays and cuts requests, as a seed or a rule says."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit

from tests.fakes.loopback_proxy import LoopbackProxy

Fault = Literal[
    "", "refuse", "slow", "cut before", "cut after", "half answer", "expired", "forbidden", "hang", "half head"
]
"""Nothing; 503; a delay; the connection closed before the store sees the request, after it has done it, or half way
through its answer; expired credentials as AWS says it (400) and as others do (403); no answer and no end; the
connection closed in the middle of the answer's headers."""

_REFUSALS = {
    "refuse": ("503 Slow Down", "SlowDown", "Slow down."),
    "expired": ("400 Bad Request", "ExpiredToken", "The provided token has expired."),
    "forbidden": ("403 Forbidden", "ExpiredToken", "The provided token has expired."),
}
SLOW_SECONDS = 0.1


class FlakyProxy(LoopbackProxy):
    """Serves in a thread of this process.

    Args:
        target: Address of the store.
        fault_of: Decides by method and path, called for one request after the other.
    """

    def __init__(self, target: str, fault_of: Callable[[str, str], Fault]) -> None:
        super().__init__()
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 80)
        self._fault_of = fault_of
        self.faults: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._answer(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection may carry another."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        if b"\r\nexpect: 100-continue" in head.lower():
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(_content_length(head))
        fault = self._fault_of(method, path)
        if fault:
            self.faults[fault] += 1
        if fault == "hang":
            await self._stop.wait()
        if fault in _REFUSALS:
            writer.write(_refusal(*_REFUSALS[fault]))
            await writer.drain()
            return False
        if fault == "cut before":
            return False
        if fault == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        answer = await self._ask(_without_hop_headers(head), body)
        if fault == "cut after":
            return False
        ends = {"half answer": len(answer) // 2, "half head": answer.find(b"Date: ") + len("Date: Mon, 30")}
        writer.write(answer[: ends.get(fault, len(answer))])
        await writer.drain()
        return False

    async def _ask(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*self._target)
        try:
            writer.write(head + body)
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def _refusal(status: str, code: str, message: str) -> bytes:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    told = ("Content-Type: application/xml", f"Content-Length: {len(body)}", "Connection: close")
    headers = (f"HTTP/1.1 {status}", *told)
    return ("\r\n".join([*headers, "", body])).encode()


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def _without_hop_headers(head: bytes) -> bytes:
    """The head for the store: one request a connection, the body at once."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in {b"connection", b"expect"}]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""])
