"""Searching and asking over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request

from apps.api.connected import while_connected
from lorebase.errors import OperationCancelledError, RetrievalTimeoutError, UnavailableError
from lorebase.operation import Cancellation
from tests.apps.api.callers import OWN, gateway
from tests.fakes.workspace import FakeWorkspace


def events_of(text: str) -> Iterator[tuple[str, Any]]:
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n", 1)
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.mark.parametrize(
    ("query", "document"), [("who approves travel abroad", "travel.md"), ("出国差旅由谁批准", "差旅.md")]
)
def test_a_search_finds_what_is_live_with_its_place(client: TestClient, query: str, document: str) -> None:
    found = client.post("/v1/bases/demo/search", json={"query": query, "top_k": 1}, headers=OWN)

    assert found.status_code == 200
    assert found.json()["results"][0]["document"]["name"] == document
    assert found.json()["results"][0]["citation"]["heading_path"]


def test_a_question_is_answered_with_numbered_sources(client: TestClient) -> None:
    body = {"question": "Who approves travel abroad?", "mode": "full_text_search"}

    answer = client.post("/v1/bases/demo/ask", json=body, headers=OWN)

    assert answer.status_code == 200
    assert answer.json()["status"] in {"accepted", "fallback"}
    assert answer.json()["generator"] == "extractive"


def test_a_streamed_answer_is_the_whole_answer_and_ends_with_its_sources(client: TestClient) -> None:
    """AQ-34."""
    body = {"question": "Who approves travel abroad?", "mode": "full_text_search"}
    whole = client.post("/v1/bases/demo/ask", json=body, headers=OWN).json()

    stream = client.post("/v1/bases/demo/ask/stream", json=body, headers=OWN)

    events = list(events_of(stream.text))
    text = "".join(event["text"] for name, event in events if name == "text_delta")
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert text == whole["text"]
    assert [name for name, _ in events][-2:] == ["completed", "answered"]
    assert events[-1][1] == whole


@pytest.mark.parametrize("path", ["search", "ask", "ask/stream"])
def test_errors_have_their_own_status_also_where_a_stream_was_asked_for(client: TestClient, path: str) -> None:
    body = {"query": "q"} if path == "search" else {"question": "q"}

    unknown = client.post(f"/v1/bases/nothing/{path}", json=body, headers=OWN)
    unserved = client.post(f"/v1/bases/demo/{path}", json={**body, "mode": "graph_search"}, headers=OWN)
    incapable = client.post(f"/v1/bases/demo/{path}", json=body, headers=gateway(capabilities="knowledge.edit"))

    assert (unknown.status_code, unknown.json()["code"]) == (404, "NOT_FOUND")
    assert (unserved.status_code, unserved.json()["code"]) == (409, "UNSUPPORTED_MODE")
    assert incapable.status_code == 403


@pytest.mark.parametrize("name", ["..%2Fetc", "A", "-a", "a" * 64, "a.b"])
def test_a_name_that_no_base_can_have_is_refused(client: TestClient, name: str) -> None:
    refused = client.post(f"/v1/bases/{name}/search", json={"query": "q"}, headers=OWN)

    assert refused.status_code in {400, 404}, refused.text


def request_of(*messages: dict[str, Any]) -> Request:
    """A request whose client sends these messages and then nothing more."""
    waiting = list(messages)

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


async def test_a_client_that_goes_away_stops_the_work() -> None:
    stopped, signal = asyncio.Event(), Cancellation()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(OperationCancelledError):
        await while_connected(request_of({"type": "http.disconnect"}), work(), seconds=60, signal=signal)

    assert stopped.is_set()
    assert signal.cancelled


async def test_work_over_its_time_is_a_timeout_and_never_an_empty_result() -> None:
    """K-069."""
    with pytest.raises(RetrievalTimeoutError):
        await while_connected(request_of(), asyncio.Event().wait(), seconds=0.01)


async def test_work_that_ends_gives_its_result_and_its_error() -> None:
    async def result() -> int:
        return 7

    async def failure() -> int:
        raise UnavailableError("No.")

    assert await while_connected(request_of(), result(), seconds=60) == 7
    with pytest.raises(UnavailableError):
        await while_connected(request_of(), failure(), seconds=60)


async def test_a_caller_that_is_cancelled_cancels_the_work() -> None:
    task = asyncio.create_task(while_connected(request_of(), asyncio.Event().wait(), seconds=60))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_server_lives_and_is_ready(client: TestClient, workspace: FakeWorkspace) -> None:
    live, ready = client.get("/health/live"), client.get("/health/ready")

    assert live.json() == {"status": "alive"}
    assert ready.status_code == 200
    assert ready.json() == {"status": "ready", "checks": {"database": True, "object_store": True}}
