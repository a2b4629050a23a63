"""A local OpenAI-compatible server that answers deterministically, counts what it is asked, and misbehaves on order.

In a test:

    with OpenAIServer() as server:
        server.script("throttle", times=2, retry_after="1")
        ...  # server.base_url, server.stats

As a process of its own: `python -m tests.fakes.openai_server --port 0 [--latency-seconds 0.05]` prints its base URL on
the first line; `GET /_stats` and `POST /_script` do what `stats` and `script` do.

What it can be told (`kind`), each for the next `times` requests (None: for ever) and, with `marker`, only for requests
one of whose texts contains it:

| kind | what happens |
|---|---|
| throttle | 429; `retry_after` goes into the header of that name, `message` into the body |
| crowd | 429 for a request that comes while `limit` are under way |
| error | `status` with `message` and `code` |
| unauthorized, unknown_model | 401, 404 as OpenAI words them |
| stall | the request is taken and never answered |
| cut | half of the answer, then the connection is gone |
| reorder | the items of the answer stand in reverse order |
| base64 | vectors are base64, whatever format was asked for |
| wrong_width | vectors of `width` numbers |
| nan_row | the marked texts' vectors hold a bare NaN |
| nan_error | 500 "unsupported value: NaN" while a marked text is in the request |
| missing_item, double_item | an index is missing, or there twice |
| no_json | 200 with a web page |
| refuse_dimensions | 400 if the request has the field `dimensions` |
| max_tokens | 400 if the request has more than `limit` tokens (bytes / 4) over all texts |
| chat | the answer of a chat completion is `content`, after `reasoning`, ending with `finish`; see its other fields |
| refuse_field | 400 with `message` if a chat request has the `field`; `content` narrows it to one value of its `type` |
| error_body | a chat completion that is `{"error": {"message", "code": status}}` under status 200 |
| no_choices, no_finish | a chat completion without choices; a stream that ends without a finish |
| scores | a reranking answers `scores` in the order of the texts, and no more |
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Any, Self

import numpy as np
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.fakes.hash_vectors import DIMENSIONS, hash_vectors
from tests.fakes.openai_server_chat import (
    CHAT_KINDS,
    Script,
    chat_answer,
    chat_completion,
    chat_events,
    refused_field,
    rerank_answer,
    tokens_of,
)


@dataclass(slots=True)
class Stats:
    """What the server was asked. `seen` counts each text by the first 16 characters of its SHA-256."""

    requests: int = 0
    answered: int = 0
    inputs: int = 0
    tokens: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    largest_request_inputs: int = 0
    chat_requests: int = 0
    messages: list[list[dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    authorizations: Counter[str] = field(default_factory=Counter)

    def seen_times(self, text: str) -> int:
        return self.seen[_digest(text)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _State:
    def __init__(self, latency_seconds: float, dimensions: int) -> None:
        self.latency_seconds = latency_seconds
        self.dimensions = dimensions
        self.stats = Stats()
        self.scripts: list[Script] = []
        self.keep_bodies = True
        self.lock = threading.Lock()

    def take(self, texts: Sequence[str], *, chat: bool) -> Script | None:
        with self.lock:
            for script in self.scripts:
                if script.kind == "crowd" and self.stats.in_flight <= script.limit:
                    continue
                if (script.kind in CHAT_KINDS) <= chat and script.applies_to(texts):
                    if script.times is not None:
                        script.times -= 1
                    return script
        return None

    def began(self, texts: Sequence[str], body: dict[str, Any], authorization: str) -> None:
        with self.lock:
            stats = self.stats
            stats.requests += 1
            stats.inputs += len(texts)
            stats.tokens += tokens_of(texts)
            stats.in_flight += 1
            stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
            stats.largest_request_inputs = max(stats.largest_request_inputs, len(texts))
            stats.seen.update(map(_digest, texts))
            stats.authorizations[authorization] += 1
            if self.keep_bodies:
                stats.bodies.append({key: value for key, value in body.items() if key not in ("input", "messages")})

    def ended(self) -> None:
        with self.lock:
            self.stats.in_flight -= 1
            self.stats.answered += 1


def _error(status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None) -> Response:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return JSONResponse(body, status, headers=headers)


def _refusal(  # noqa: PLR0911 (one row of the table above each)
    script: Script | None, texts: Sequence[str], body: dict[str, Any]
) -> Response | None:
    """The answer of the kinds that are an HTTP error."""
    match script:
        case Script(kind="throttle"):
            headers = {"Retry-After": script.retry_after} if script.retry_after is not None else None
            return _error(429, script.message or "Rate limit reached", "rate_limit_exceeded", headers)
        case Script(kind="crowd"):
            return _error(429, f"More than {script.limit} requests at once", "rate_limit_exceeded")
        case Script(kind="error"):
            return _error(script.status, script.message or "scripted error", script.code or None)
        case Script(kind="unauthorized"):
            return _error(401, "Incorrect API key provided: sk-12**********89.", "invalid_api_key")
        case Script(kind="unknown_model"):
            return _error(404, f"The model `{body.get('model')}` does not exist", "model_not_found")
        case Script(kind="nan_error"):
            return _error(500, "failed to encode response: json: unsupported value: NaN")
        case Script(kind="no_json"):
            return Response("<html><body>Welcome</body></html>", media_type="text/html")
        case Script(kind="refuse_dimensions") if "dimensions" in body:
            return _error(400, f"Model {body.get('model')} does not support matryoshka representation.")
        case Script(kind="max_tokens") if tokens_of(texts) > script.limit:
            said = f"Requested {tokens_of(texts)} tokens, max {script.limit} tokens per request"
            return _error(400, said, "max_tokens_per_request")
    return None


def _embeddings_body(script: Script | None, texts: Sequence[str], dimensions: int, model: str) -> bytes:
    kind = script.kind if script else ""
    rows = hash_vectors(texts, script.width if script and kind == "wrong_width" else dimensions)
    if kind == "nan_row" and script:
        for index, text in enumerate(texts):
            if script.marker is None or script.marker in text:
                rows[index, 0] = np.nan
    embeddings: list[Any] = list(rows)
    if kind == "base64":
        embeddings = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows]
    data = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(embeddings)]
    match kind:
        case "reorder":
            data.reverse()
        case "missing_item":
            data.pop()
        case "double_item":
            data.append(data[0])
        case _:
            pass
    tokens = tokens_of(texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    content = orjson.dumps(
        {"object": "list", "data": data, "model": model, "usage": usage}, option=orjson.OPT_SERIALIZE_NUMPY
    )
    return content.replace(b"[null,", b"[NaN,") if kind == "nan_row" else content  # what orjson writes for NaN is null


def _half_of(content: bytes) -> Response:
    async def half() -> AsyncIterator[bytes]:
        yield content[: len(content) // 2]
        raise ConnectionAbortedError("scripted cut")

    return StreamingResponse(half(), headers={"content-length": str(len(content))}, media_type="application/json")


async def _until_the_client_leaves(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Routes:
    def __init__(self, state: _State) -> None:
        self._state = state

    async def embeddings(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        state = self._state
        state.began(texts, body, request.headers.get("authorization", ""))
        try:
            script = state.take(texts, chat=False)
            if script and script.kind == "stall":
                await _until_the_client_leaves(request)
            await asyncio.sleep(state.latency_seconds)
            refusal = _refusal(script, texts, body)
            if refusal is not None:
                return refusal
            content = _embeddings_body(script, texts, body.get("dimensions") or state.dimensions, body["model"])
            if script and script.kind == "cut":
                return _half_of(content)
            return Response(content, media_type="application/json")
        finally:
            state.ended()

    async def chat(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        texts = [str(message.get("content") or "") for message in body["messages"]]
        state = self._state
        state.began(texts, body, request.headers.get("authorization", ""))
        state.stats.chat_requests += 1
        if state.keep_bodies:
            state.stats.messages.append(body["messages"])
            state.stats.headers.append(dict(request.headers))
        try:
            script = state.take(texts, chat=True)
            if script and script.kind == "stall":
                await _until_the_client_leaves(request)
            await asyncio.sleep(state.latency_seconds)
            refusal = _refusal(script, texts, body)
            if refusal is not None:
                return refusal
            refusal = refused_field(script, body)
            if refusal:
                return _error(400, refusal)
            answer = chat_answer(script, texts[-1])
            if body.get("stream"):
                events = chat_events(script, body, texts, answer)
                return StreamingResponse(events, media_type="text/event-stream")
            content = orjson.dumps(chat_completion(script, body, texts, answer))
            return (
                _half_of(content)
                if script and script.kind == "cut"
                else Response(content, media_type="application/json")
            )
        finally:
            state.ended()

    async def rerank(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        texts = [body["query"], *body["documents"]]
        state = self._state
        state.began(texts, body, request.headers.get("authorization", ""))
        try:
            script = state.take(texts, chat=False)
            if script and script.kind == "stall":
                await _until_the_client_leaves(request)
            await asyncio.sleep(state.latency_seconds)
            refusal = _refusal(script, texts, body)
            return refusal if refusal is not None else JSONResponse(rerank_answer(script, body))
        finally:
            state.ended()

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "hash-384", "object": "model"}]})

    async def stats(self, request: Request) -> Response:
        with self._state.lock:
            stats = {each.name: getattr(self._state.stats, each.name) for each in fields(Stats)}
            return Response(orjson.dumps(stats), media_type="application/json")

    async def script(self, request: Request) -> Response:
        order = orjson.loads(await request.body())
        with self._state.lock:
            self._state.scripts.append(Script(**order))
        return Response(status_code=204)


def _application(state: _State) -> Starlette:
    routes = _Routes(state)
    return Starlette(
        routes=[
            Route("/v1/embeddings", routes.embeddings, methods=["POST"]),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/rerank", routes.rerank, methods=["POST"]),
            Route("/v1/models", routes.models),
            Route("/_stats", routes.stats),
            Route("/_script", routes.script, methods=["POST"]),
        ]
    )


class OpenAIServer:
    """The server in a thread of this process, on a free port of the loopback interface."""

    def __init__(self, *, latency_seconds: float = 0.0, dimensions: int = DIMENSIONS, port: int = 0) -> None:
        self._state = _State(latency_seconds, dimensions)
        self._socket = socket.create_server(("127.0.0.1", port))
        config = uvicorn.Config(
            _application(self._state),
            log_level=100,  # a scripted cut is an exception that uvicorn would print
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the fake server did not start")
            time.sleep(0.005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    @property
    def stats(self) -> Stats:
        return self._state.stats

    def script(self, kind: str, **order: Any) -> None:
        """Add an order; the first in the list that applies to a request is carried out."""
        with self._state.lock:
            self._state.scripts.append(Script(kind, **order))

    def wait(self) -> None:
        """Serve until the thread ends."""
        self._thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description="A local OpenAI-compatible server for tests and benchmarks.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-seconds", type=float, default=0.0)
    parser.add_argument("--dimensions", type=int, default=DIMENSIONS)
    arguments = parser.parse_args()
    server = OpenAIServer(
        latency_seconds=arguments.latency_seconds, dimensions=arguments.dimensions, port=arguments.port
    )
    with server:
        print(server.base_url, flush=True)
        server.wait()


if __name__ == "__main__":
    main()
