"""Asking a governed base over HTTP: each organisation is answered from its own live revisions alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.apps.api.callers import OWN, STRANGER, gateway
from tests.apps.api.conftest import run_tasks
from tests.fakes.workspace import FakeWorkspace

ASK = "/v1/bases/demo/ask"
DUE = "When are travel reports due?"


def published(
    client: TestClient, workspace: FakeWorkspace, author: Mapping[str, str], entry: dict[str, str]
) -> dict[str, Any]:
    """A published revision of one FAQ entry in the base `demo`."""

    def made(method: str, path: str, body: dict[str, Any], headers: Mapping[str, str] = author) -> dict[str, Any]:
        answer = client.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    item = made("POST", "/v1/items", {"base_id": "demo", "knowledge_key": entry["question"], "title": "FAQ"})
    draft = made("POST", f"/v1/items/{item['id']}/revisions", {})
    path = f"/v1/revisions/{draft['id']}"
    draft = made("PUT", f"{path}/faq", {"version": draft["version"], "entries": [entry]})
    submitted = made("POST", f"{path}/submit", {"version": draft["version"]})
    reviewer = gateway(organ_id=int(author["X-ORGAN-ID"]), user_id="reviewer")
    approved = made("POST", f"{path}/approve", {"version": submitted["version"]}, reviewer)
    made("POST", f"{path}/process", {"version": approved["version"]})
    run_tasks(workspace)
    made("POST", f"{path}/publish", {"expected_version": 0})
    return draft


@pytest.fixture(scope="module")
def revisions(client: TestClient, workspace: FakeWorkspace) -> dict[str, dict[str, Any]]:
    """Revisions of two organisations under the same key, with different answers."""
    own = {"question": DUE, "answer": "Travel reports are due within 30 days."}
    foreign = {"question": DUE, "answer": "Travel reports are due within 77 days."}
    return {
        "own": published(client, workspace, OWN, own),
        "foreign": published(client, workspace, STRANGER, foreign),
    }


def test_each_organisation_is_answered_from_its_own_revisions(
    client: TestClient, revisions: dict[str, dict[str, Any]]
) -> None:
    """K-062, X-01, X-04."""
    own = client.post(ASK, json={"question": DUE}, headers=OWN).json()
    foreign = client.post(ASK, json={"question": DUE}, headers=STRANGER).json()

    assert (own["source_status"], foreign["source_status"]) == ("ready", "ready")
    assert "30 days" in own["text"]
    assert "77 days" in foreign["text"]
    assert {source["revision_id"] for source in own["sources"]} == {revisions["own"]["id"]}
    assert {source["revision_id"] for source in foreign["sources"]} == {revisions["foreign"]["id"]}
    assert own["sources"][0]["document"]["revision_number"] == 1


def test_what_was_built_beside_governed_knowledge_stays_out_of_its_answers(
    client: TestClient, revisions: dict[str, dict[str, Any]]
) -> None:
    """X-09: the snapshot of the same name says who approves travel abroad, but nobody has published that."""
    answered = client.post(ASK, json={"question": "Who approves travel abroad?"}, headers=OWN).json()

    assert "head of department" not in answered["text"]
    assert {source["revision_id"] for source in answered["sources"]} <= {revisions["own"]["id"]}


@pytest.mark.usefixtures("revisions")
def test_an_organisation_without_items_sees_no_governed_base(client: TestClient) -> None:
    """K-062, KQ-23."""
    nobody = gateway(organ_id=9)

    known = client.post(ASK, json={"question": DUE}, headers=nobody)
    absent = client.post("/v1/bases/absent/ask", json={"question": DUE}, headers=nobody)

    assert (known.status_code, known.json()["code"]) == (404, "NOT_FOUND")
    assert known.json()["code"] == absent.json()["code"]


@pytest.mark.usefixtures("revisions")
def test_a_governed_answer_streams_and_ends_with_the_whole(client: TestClient) -> None:
    answer = client.post(f"{ASK}/stream", json={"question": DUE}, headers=OWN)

    last = answer.text.strip().split("\n\n")[-1]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "event: answered" in last
    (data,) = (line.removeprefix("data: ") for line in last.splitlines() if line.startswith("data: "))
    assert "30 days" in json.loads(data)["text"]


@pytest.mark.usefixtures("revisions")
def test_modes_that_governed_knowledge_does_not_have_are_refused(client: TestClient) -> None:
    refused = client.post(ASK, json={"question": DUE, "mode": "graph_search"}, headers=OWN)

    assert (refused.status_code, refused.json()["code"]) == (409, "UNSUPPORTED_MODE")


@pytest.mark.usefixtures("revisions")
def test_a_caller_without_the_right_to_read_is_refused(client: TestClient) -> None:
    refused = client.post(ASK, json={"question": DUE}, headers=gateway(capabilities="knowledge.publish"))

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
