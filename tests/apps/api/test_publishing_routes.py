"""Publishing and retrieving over HTTP: evidence, no evidence, or a dependency that is unavailable."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from lorebase.errors import UnavailableError
from tests.apps.api.callers import OWN, REVIEWER, gateway
from tests.apps.api.conftest import run_tasks
from tests.apps.api.test_governed_routes import made_draft
from tests.fakes.workspace import FakeWorkspace

QUESTION = {"base_id": "handbook", "query": "几天?"}


def made_ready(client: TestClient, workspace: FakeWorkspace, key: str) -> dict[str, Any]:
    draft = made_draft(client, key)
    path = f"/v1/revisions/{draft['id']}"
    submitted = client.post(f"{path}/submit", json={"version": draft["version"]}, headers=OWN).json()
    approved = client.post(f"{path}/approve", json={"version": submitted["version"]}, headers=REVIEWER).json()
    client.post(f"{path}/process", json={"version": approved["version"]}, headers=OWN)
    run_tasks(workspace)
    return client.get(path, headers=OWN).json()


def test_a_revision_is_published_found_cited_and_taken_offline(client: TestClient, workspace: FakeWorkspace) -> None:
    """K-046, K-068, K-074."""
    ready = made_ready(client, workspace, "published")
    before = client.post("/v1/retrieval", json=QUESTION, headers=OWN).json()

    published = client.post(f"/v1/revisions/{ready['id']}/publish", json={"expected_version": 0}, headers=OWN)
    found = client.post("/v1/retrieval", json=QUESTION, headers=OWN).json()
    evidence = found["evidence"][0]
    cited_path = f"/v1/revisions/{evidence['revision_id']}/chunks/{evidence['chunk_id']}"
    cited = client.get(cited_path, headers=OWN).json()
    client.post(f"/v1/items/{ready['item_id']}/offline", json={"expected_version": 1}, headers=OWN)
    after = client.post("/v1/retrieval", json=QUESTION, headers=OWN).json()
    withdrawn = client.get(cited_path, headers=OWN).json()

    assert ready["status"] == "READY_TO_PUBLISH"
    assert (before["answerable"], before["reason"], before["evidence"]) == (False, "NO_EVIDENCE", [])
    assert published.json()["release"]["active_revision_id"] == ready["id"]
    assert (found["answerable"], evidence["revision_id"]) == (True, ready["id"])
    assert (cited["status"], withdrawn["status"], withdrawn["text"]) == ("live", "withdrawn", "")
    assert (after["answerable"], after["reason"]) == (False, "NO_EVIDENCE")


def test_a_publish_sent_twice_under_one_request_id_is_done_once(client: TestClient, workspace: FakeWorkspace) -> None:
    """KQ-08."""
    ready = made_ready(client, workspace, "sent-twice")
    path, body = f"/v1/revisions/{ready['id']}/publish", {"expected_version": 0}

    first = client.post(path, json=body, headers={**OWN, "X-Request-ID": "publish-1"})
    again = client.post(path, json=body, headers={**OWN, "X-Request-ID": "publish-1"})
    other = client.post(path, json=body, headers={**OWN, "X-Request-ID": "publish-2"})

    assert (first.json()["is_repeat"], again.json()["is_repeat"]) == (False, True)
    assert again.json()["release"]["version"] == 1
    assert other.status_code == 409
    assert other.json()["code"] in {"INVALID_STATE", "RELEASE_CONFLICT"}


def test_a_model_that_does_not_answer_is_no_missing_evidence(
    client: TestClient, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-069, KX-16."""
    made_ready(client, workspace, "unavailable")

    async def refuse(*_: object, **__: object) -> None:
        raise UnavailableError("connect to 10.0.0.7 failed", dependency="embedding")

    monkeypatch.setattr("tests.fakes.hash_embedder.HashEmbedder.embed_queries", refuse)
    failed = client.post("/v1/retrieval", json=QUESTION, headers=OWN)

    assert failed.status_code == 503
    assert failed.json()["code"] == "DEPENDENCY_UNAVAILABLE"
    assert failed.json()["retryable"] is True
    assert "10.0.0.7" not in failed.text


def test_an_item_is_reconciled_and_nothing_is_left_to_mend(client: TestClient, workspace: FakeWorkspace) -> None:
    ready = made_ready(client, workspace, "reconciled")

    path, publisher = f"/v1/items/{ready['item_id']}/reconcile", gateway(capabilities="knowledge.publish")
    reports = [client.post(path, json=body, headers=OWN) for body in ({}, {"reindex": True})]
    mended, refused = [client.post(path, json={"reindex": said}, headers=publisher) for said in (False, True)]

    assert [report.status_code for report in (*reports, mended, refused)] == [200, 200, 200, 403]
    assert all(report.json()["is_clean"] for report in reports)


def test_a_reader_cannot_publish(client: TestClient, workspace: FakeWorkspace) -> None:
    reader = gateway(capabilities="knowledge.read")

    refused = client.post("/v1/revisions/1/publish", json={"expected_version": 0}, headers=reader)

    assert refused.status_code == 403
