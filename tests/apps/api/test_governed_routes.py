"""The way of a topic through the HTTP interface."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from tests.apps.api.callers import OWN, REVIEWER, gateway


def made_item(client: TestClient, key: str) -> dict[str, Any]:
    body = {"base_id": "handbook", "knowledge_key": key, "title": "差旅费报销"}
    answer = client.post("/v1/items", json=body, headers=OWN)
    assert answer.status_code == 201, answer.text
    return answer.json()


def made_draft(client: TestClient, key: str) -> dict[str, Any]:
    item = made_item(client, key)
    draft = client.post(f"/v1/items/{item['id']}/revisions", json={"tags": ["差旅"]}, headers=OWN).json()
    body = {"version": draft["version"], "entries": [{"question": "几天?", "answer": f"三天 {key}"}]}
    return client.put(f"/v1/revisions/{draft['id']}/faq", json=body, headers=OWN).json()


def test_a_topic_goes_from_draft_through_review_to_processing(client: TestClient) -> None:
    draft = made_draft(client, "through-review")
    path = f"/v1/revisions/{draft['id']}"

    submitted = client.post(f"{path}/submit", json={"version": draft["version"]}, headers=OWN).json()
    approved = client.post(f"{path}/approve", json={"version": submitted["version"]}, headers=REVIEWER).json()
    task = client.post(f"{path}/process", json={"version": approved["version"]}, headers=OWN)
    again = client.post(f"{path}/process", json={"version": approved["version"]}, headers=OWN)

    assert [draft["status"], submitted["status"], approved["status"]] == ["DRAFT", "REVIEWING", "APPROVED"]
    assert task.status_code == 202
    assert task.json()["kind"] == "PROCESS"
    assert again.json()["id"] == task.json()["id"]


def test_ids_are_texts_and_are_taken_back_in_bodies(client: TestClient) -> None:
    """Numbers above 2^53 change on their way through a browser."""
    draft = made_draft(client, "text-ids")

    remark = client.post(
        "/v1/feedback", json={"revision_id": draft["id"], "kind": "WRONG_ANSWER", "note": "过期"}, headers=OWN
    )

    assert isinstance(draft["id"], str)
    assert remark.status_code == 201
    assert remark.json()["revision_id"] == draft["id"]


def test_a_list_is_a_page_with_ten_records_unless_asked_otherwise(client: TestClient) -> None:
    """KX-20."""
    for number in range(11):
        made_item(client, f"page-{number}")

    page = client.get("/v1/items", headers=OWN).json()
    small = client.get("/v1/items?page_num=2&page_size=3", headers=OWN).json()

    assert page["page_num"] == 1
    assert page["page_size"] == 10
    assert len(page["records"]) == 10
    assert page["total"] >= 11
    assert page["total_pages"] == -(-page["total"] // 10)
    assert len(small["records"]) == 3


def test_a_command_is_recorded_with_request_trace_and_reason(client: TestClient) -> None:
    """K-029."""
    item = made_item(client, "recorded")
    headers = {**OWN, "X-Request-ID": "request-7", "X-Trace-ID": "trace-7"}

    deleted = client.delete(f"/v1/items/{item['id']}?version={item['version']}&reason=obsolete", headers=headers)
    history = client.get(f"/v1/items/{item['id']}/history", headers=OWN).json()["records"]

    assert deleted.status_code == 204
    assert history[0]["request_id"] == "request-7"
    assert history[0]["trace_id"] == "trace-7"
    assert history[0]["reason"] == "obsolete"
    assert history[0]["operator"] == "author"


def test_the_second_of_two_editors_gets_a_version_conflict_with_both_versions(client: TestClient) -> None:
    draft = made_draft(client, "second-editor")
    change = {"version": draft["version"], "description": "first"}
    client.patch(f"/v1/revisions/{draft['id']}", json=change, headers=OWN)

    second = client.patch(f"/v1/revisions/{draft['id']}", json=change, headers=OWN)

    assert second.status_code == 409
    assert second.json()["code"] == "VERSION_CONFLICT"
    assert second.json()["facts"]


def test_who_lacks_a_capability_is_told_which(client: TestClient) -> None:
    """KX-19."""
    reader = gateway(capabilities="knowledge.read")

    refused = client.post("/v1/tags", json={"name": "差旅"}, headers=reader)

    assert refused.status_code == 403
    assert refused.json()["code"] == "FORBIDDEN"
    assert "knowledge.edit" in refused.json()["detail"]


def test_a_file_with_a_chinese_name_is_taken_in_and_given_back_byte_for_byte(client: TestClient) -> None:
    item = made_item(client, "file")
    content = "# 差旅\n\n三天之内报销。".encode()

    taken = client.post(
        f"/v1/items/{item['id']}/file",
        params={"file_name": "差旅费报销制度.md"},
        content=content,
        headers={**OWN, "Content-Type": "text/markdown"},
    )
    original = client.get(f"/v1/revisions/{taken.json()['id']}/original", headers=OWN)

    assert taken.status_code == 201, taken.text
    assert taken.json()["file_name"] == "差旅费报销制度.md"
    assert original.content == content
    assert original.headers["content-disposition"].startswith("attachment")
    assert original.headers["content-type"] == "application/octet-stream"


def test_the_same_file_again_asks_for_a_choice_and_says_where_it_is(client: TestClient) -> None:
    """K-034."""
    first, second = made_item(client, "twice-1"), made_item(client, "twice-2")
    headers = {**OWN, "Content-Type": "text/plain"}
    path = "/v1/items/{}/file?file_name=same.txt"
    taken = client.post(path.format(first["id"]), content=b"the same", headers=headers)

    asked = client.post(path.format(second["id"]), content=b"the same", headers=headers)
    chosen = client.post(path.format(second["id"]) + "&on_duplicate=NEW_REVISION", content=b"the same", headers=headers)

    assert asked.status_code == 409
    assert asked.json()["code"] == "DUPLICATE_SOURCE"
    assert [match["revision_id"] for match in asked.json()["facts"]["matches"]] == [taken.json()["id"]]
    assert chosen.status_code == 201


def test_a_file_that_is_not_what_it_says_is_refused(client: TestClient) -> None:
    item = made_item(client, "liar")

    refused = client.post(
        f"/v1/items/{item['id']}/file?file_name=a.pdf",
        content=b"no pdf",
        headers={**OWN, "Content-Type": "application/pdf"},
    )

    assert refused.status_code == 415
    assert refused.json()["code"] == "MIME_MISMATCH"


def test_tags_are_added_renamed_and_deleted(client: TestClient) -> None:
    tag = client.post("/v1/tags", json={"name": "报销"}, headers=OWN).json()

    renamed = client.patch(f"/v1/tags/{tag['id']}", json={"version": 0, "name": "费用"}, headers=OWN).json()
    deleted = client.delete(f"/v1/tags/{tag['id']}?version={renamed['version']}", headers=OWN)

    assert renamed["name"] == "费用"
    assert deleted.status_code == 204
    assert deleted.content == b""
