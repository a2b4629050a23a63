"""A docling-serve that answers what it was told to, over HTTP on the loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """What a client sent."""

    path: str
    api_key: str | None
    file_name: str
    content: bytes
    options: dict[str, list[str]]


@dataclass
class FakeDoclingServe:
    """Answers every conversion with `status` and `answer`; keeps the requests."""

    url: str = ""
    status: int = 200
    answer: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)


@contextmanager
def running_docling_serve() -> Iterator[FakeDoclingServe]:
    """Start the fake on a free port and stop it at the end."""
    fake = FakeDoclingServe()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fake.requests.append(_request(self.path, self.headers.get("X-Api-Key"), self.headers["Content-Type"], body))
            payload = fake.answer if isinstance(fake.answer, bytes) else json.dumps(fake.answer).encode()
            self.send_response(fake.status)
            for name, value in {**fake.headers, "Content-Length": str(len(payload))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _request(path: str, api_key: str | None, content_type: str, body: bytes) -> Request:
    message = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    request = Request(path, api_key, "", b"", {})
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if name == "files":
            request.file_name, request.content = part.get_filename(), payload
        else:
            request.options.setdefault(name, []).append(payload.decode())
    return request
