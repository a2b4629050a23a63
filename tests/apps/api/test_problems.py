"""What callers get instead of an answer."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from apps.api.app import create_app
from apps.api.problems import problem_of
from lorebase import errors
from lorebase.governance.codes import HTTP_STATUS
from tests.apps.api.callers import OWN
from tests.apps.api.conftest import SETTINGS
from tests.fakes.workspace import FakeWorkspace

MEDIA_TYPE = "application/problem+json"


def kinds_of(kind: type[errors.LorebaseError]) -> Iterator[type[errors.LorebaseError]]:
    yield kind
    for further in kind.__subclasses__():
        yield from kinds_of(further)


@pytest.mark.parametrize("code", HTTP_STATUS)
def test_every_code_of_the_catalogue_has_its_status(code: str) -> None:
    """KQ-23."""
    kind = next((kind for kind in kinds_of(errors.LorebaseError) if kind.code == code), errors.NotFoundError)

    found = problem_of(kind("It went wrong."), "r1")

    assert found.code == code
    assert found.status == HTTP_STATUS[code]


def test_a_model_or_store_that_fails_is_never_told_as_no_evidence_and_never_quoted() -> None:
    """K-069, KX-16."""
    dependency_errors = list(kinds_of(errors.DependencyError))

    found = [problem_of(kind("https://user:secret@host said: private text"), "r1") for kind in dependency_errors]

    assert {problem.status for problem in found} == {503}
    assert {problem.code for problem in found} == {"DEPENDENCY_UNAVAILABLE", "RETRIEVAL_TIMEOUT"}
    assert not any("secret" in problem.model_dump_json() for problem in found)


def test_what_an_operator_has_to_mend_is_an_internal_error_without_its_message() -> None:
    found = problem_of(errors.ConfigurationError("secret-path"), "r1")

    assert found.status == 500
    assert found.code == "INTERNAL_ERROR"
    assert "secret-path" not in found.model_dump_json()


def test_every_fault_of_a_request_is_listed_with_its_place_and_without_what_was_sent(client: TestClient) -> None:
    body = {"base_id": "", "knowledge_key": "k", "titel": "PRIVATE"}

    refused = client.post("/v1/items", json=body, headers=OWN)

    assert refused.status_code == 400
    assert refused.headers["content-type"] == MEDIA_TYPE
    assert refused.json()["code"] == "VALIDATION_ERROR"
    assert {fault["field"] for fault in refused.json()["errors"]} == {"body.base_id", "body.title", "body.titel"}
    assert "PRIVATE" not in refused.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "NOT_FOUND"),
        ("GET", "/nothing", 404, "NOT_FOUND"),
        ("GET", "/v1/items/", 404, "NOT_FOUND"),
        ("PUT", "/v1/items", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/v1/items/abc", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/items/9223372036854775808", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/items?page_num=0", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/items/9223372036854775807", 404, "NOT_FOUND"),
    ],
)
def test_what_the_router_refuses_is_a_problem_too(
    client: TestClient, method: str, path: str, status: int, code: str
) -> None:
    refused = client.request(method, path, headers=OWN)

    assert refused.status_code == status
    assert refused.headers["content-type"] == MEDIA_TYPE
    assert refused.json()["code"] == code
    assert refused.json()["request_id"] == refused.headers["x-request-id"]


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_a_body_that_is_no_json_is_the_callers_fault(client: TestClient, body: bytes) -> None:
    refused = client.post("/v1/items", content=body, headers={**OWN, "Content-Type": "application/json"})

    assert refused.status_code == 400
    assert refused.json()["code"] == "VALIDATION_ERROR"


def test_a_body_of_another_type_is_refused(client: TestClient) -> None:
    refused = client.post("/v1/items", content=b"a=b", headers={**OWN, "Content-Type": "text/plain"})

    assert refused.status_code == 415
    assert refused.json()["code"] == "UNSUPPORTED_TYPE"


def test_a_body_over_the_limit_is_refused_whether_its_length_is_announced_or_not(client: TestClient) -> None:
    large = b" " * (SETTINGS.max_body_bytes + 1)
    headers = {**OWN, "Content-Type": "application/json"}

    announced = client.post("/v1/items", content=large, headers=headers)
    streamed = client.post("/v1/items", content=iter([large]), headers=headers)

    assert [announced.status_code, streamed.status_code] == [413, 413]
    assert [announced.json()["code"], streamed.json()["code"]] == ["BODY_TOO_LARGE", "BODY_TOO_LARGE"]


def test_a_file_over_the_limit_is_refused_whether_its_length_is_announced_or_not(client: TestClient) -> None:
    item = client.post(
        "/v1/items", json={"base_id": "handbook", "knowledge_key": "large", "title": "t"}, headers=OWN
    ).json()
    path = f"/v1/items/{item['id']}/file?file_name=a.txt"
    piece, headers = b"x" * (1 << 20), {**OWN, "Content-Type": "text/plain"}

    announced = client.post(path, content=b"", headers={**headers, "Content-Length": str(60 << 20)})
    streamed = client.post(path, content=(piece for _ in range(51)), headers=headers)

    assert [announced.status_code, streamed.status_code] == [413, 413]
    assert {announced.json()["code"], streamed.json()["code"]} == {"FILE_TOO_LARGE"}


def test_a_defect_is_answered_logged_and_told_nothing_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(FakeWorkspace(tmp_path), SETTINGS)

    @app.get("/defect")
    async def defect() -> None:
        raise ZeroDivisionError("PRIVATE")

    with TestClient(app) as client, caplog.at_level(logging.ERROR):
        answer = client.get("/defect", headers={"X-Request-ID": "defect-1"})

    assert answer.status_code == 500
    assert answer.json()["code"] == "INTERNAL_ERROR"
    assert "PRIVATE" not in answer.text
    assert "request defect-1 failed" in caplog.text


@pytest.mark.parametrize("given", ["a b", "x" * 65, "a/../b", ""])
def test_a_request_id_that_is_not_well_formed_is_replaced(client: TestClient, given: str) -> None:
    answer = client.get("/health/live", headers={"X-Request-ID": given})

    assert answer.headers["x-request-id"] != given
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])
