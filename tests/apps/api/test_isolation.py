"""What belongs to another organisation does not exist, on every path that the interface has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.apps.api.callers import OWN, REVIEWER, STRANGER
from tests.apps.api.conftest import run_tasks
from tests.apps.api.test_openapi import DESCRIPTION
from tests.fakes.workspace import FakeWorkspace

ABSENT = {"name": "absent", "type_id": "absent"}
ABSENT_ID = "9223372036854775807"

WITHOUT_ID = frozenset(
    {
        "POST /v1/items", "GET /v1/items", "GET /v1/revisions", "GET /v1/tasks", "GET /v1/feedback", "POST /v1/tags",
        "GET /v1/tags", "GET /v1/bases", "POST /v1/bases",
    }
)  # fmt: skip
"""Operations that name nothing that exists."""


@dataclass(frozen=True)
class Operation:
    """One operation of the description."""

    method: str
    path: str
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


OPERATIONS = [
    Operation(method.upper(), path, facts)
    for path, methods in DESCRIPTION["paths"].items()
    for method, facts in methods.items()
    if path.startswith("/v1/")
]


@pytest.fixture(scope="module")
def ids(client: TestClient, workspace: FakeWorkspace) -> dict[str, str]:
    """Something of each kind that belongs to organisation 1."""

    def made(method: str, path: str, body: dict[str, Any], headers: Mapping[str, str] = OWN) -> dict[str, Any]:
        answer = client.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    item = made("POST", "/v1/items", {"base_id": "demo", "knowledge_key": "isolated", "title": "MARIGOLD"})
    draft = made("POST", f"/v1/items/{item['id']}/revisions", {"description": "MARIGOLD"})
    entry = {"question": "MARIGOLD", "answer": "MARIGOLD"}
    draft = made("PUT", f"/v1/revisions/{draft['id']}/faq", {"version": draft["version"], "entries": [entry]})
    path = f"/v1/revisions/{draft['id']}"
    submitted = made("POST", f"{path}/submit", {"version": draft["version"]})
    approved = made("POST", f"{path}/approve", {"version": submitted["version"]}, REVIEWER)
    task = made("POST", f"{path}/process", {"version": approved["version"]})
    run_tasks(workspace)
    made("POST", f"{path}/publish", {"expected_version": 0})
    cited = made("POST", "/v1/retrieval", {"base_id": "demo", "query": "MARIGOLD"})["evidence"][0]
    remark = made("POST", "/v1/feedback", {"revision_id": draft["id"], "kind": "WRONG_ANSWER", "note": "MARIGOLD"})
    tag = made("POST", "/v1/tags", {"name": "MARIGOLD"})
    made("POST", "/v1/bases", {"id": "demo", "name": "MARIGOLD"})
    return {
        "item_id": item["id"],
        "revision_id": draft["id"],
        "task_id": task["id"],
        "feedback_id": remark["id"],
        "tag_id": tag["id"],
        "name": "demo",
        "base_id": "demo",
        "type_id": "faq",
        "chunk_id": cited["chunk_id"],
        "work": "process",
    }


def example_of(schema: dict[str, Any], ids: Mapping[str, str], name: str = "") -> Any:
    """A small value that a schema allows, naming what is in `ids` wherever it can."""
    if name in ids:
        return ids[name]
    if "$ref" in schema:
        schema = DESCRIPTION["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    match schema.get("enum", schema.get("type")):
        case [first, *_]:
            return first
        case "object":
            named = {key for key in schema.get("properties", {}) if key in ids}
            wanted = named | set(schema.get("required", ()))
            return {key: example_of(schema["properties"][key], ids, key) for key in wanted}
        case "array":
            return [example_of(schema["items"], ids)]
        case "integer":
            return schema.get("minimum", 0)
        case _:
            return "x"


def answer_of(client: TestClient, operation: Operation, ids: Mapping[str, str], headers: Mapping[str, str]) -> Any:
    parameters = operation.facts.get("parameters", ())
    in_path = {given["name"]: ids[given["name"]] for given in parameters if given["in"] == "path"}
    in_query = {
        given["name"]: example_of(given["schema"], ids, given["name"])
        for given in parameters
        if given["in"] == "query" and (given.get("required") or given["name"] in ids)
    }
    content = operation.facts.get("requestBody", {}).get("content", {})
    sent: dict[str, Any] = {}
    if "application/json" in content:
        sent = {"json": example_of(content["application/json"]["schema"], ids)}
    elif content:
        sent = {"content": b"text", "headers": {"Content-Type": "text/plain"}}
    return client.request(
        operation.method,
        operation.path.format_map(in_path),
        params=in_query,
        **{**sent, "headers": {**headers, **sent.get("headers", {}), "X-Request-ID": "same"}},
    )


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_foreign_ids_are_not_found_and_told_as_absent_ones(
    client: TestClient, ids: dict[str, str], operation: Operation
) -> None:
    """KQ-23, KX-19."""
    absent = {name: ABSENT.get(name, "absent" if name == "base_id" else ABSENT_ID) for name in ids} | {
        "work": "process"
    }

    named = {**ids, "base_id": "theirs"} if operation.name in WITHOUT_ID else ids

    foreign = answer_of(client, operation, named, STRANGER)
    missing = answer_of(client, operation, absent, STRANGER)

    assert "MARIGOLD" not in foreign.text
    if operation.name in WITHOUT_ID:
        assert foreign.status_code in {200, 201, 404}, foreign.text
        return
    assert (foreign.status_code, foreign.json()["code"]) == (404, "NOT_FOUND"), foreign.text
    assert without_ids(foreign.text, ids) == without_ids(missing.text, absent)
    assert foreign.headers["content-type"] == missing.headers["content-type"]


def test_two_organisations_in_one_base_find_only_their_own(client: TestClient, ids: dict[str, str]) -> None:
    """X-02, K-062."""
    theirs = {"base_id": ids["base_id"], "knowledge_key": "theirs", "title": "Theirs"}
    question = {"base_id": ids["base_id"], "query": "MARIGOLD"}
    client.post("/v1/items", json=theirs, headers=STRANGER)

    own = client.post("/v1/retrieval", json=question, headers=OWN).json()
    foreign = client.post("/v1/retrieval", json=question, headers=STRANGER).json()

    assert (own["answerable"], foreign["answerable"]) == (True, False)
    assert foreign["reason"] == "NO_EVIDENCE"


def test_none_of_that_changed_anything(client: TestClient, ids: dict[str, str]) -> None:
    own = client.get(f"/v1/items/{ids['item_id']}", headers=OWN).json()
    revision = client.get(f"/v1/revisions/{ids['revision_id']}", headers=OWN).json()
    remarks = client.get("/v1/feedback", headers=OWN).json()

    assert (own["title"], own["version"]) == ("MARIGOLD", 0)
    assert revision["status"] == "PUBLISHED"
    assert remarks["total"] == 1


def test_the_walk_reaches_the_services(client: TestClient, ids: dict[str, str]) -> None:
    """The owner is not told NOT_FOUND: the refusals above are for the stranger alone."""
    reading = [operation for operation in OPERATIONS if operation.method == "GET"]

    answers = {operation.name: answer_of(client, operation, ids, OWN).status_code for operation in reading}

    assert set(answers.values()) == {200}, answers


def without_ids(text: str, ids: Mapping[str, str]) -> str:
    pattern = "|".join(re.escape(value) for name, value in ids.items() if name != "work")
    return re.sub(pattern, "ID", text)
