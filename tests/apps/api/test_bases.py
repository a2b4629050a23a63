"""The registry of knowledge bases over HTTP."""

from __future__ import annotations

from fastapi.testclient import TestClient

from tests.apps.api.callers import OWN, STRANGER, gateway

CONTRACT = {
    "id": "contract",
    "label": "合同",
    "description": "双方签署的合同、协议和补充条款",
    "signals": ["合同", "contract"],
    "excludes": ["发票"],
}


def test_a_base_is_created_shown_changed_listed_and_deleted(client: TestClient) -> None:
    """DQ-09."""
    created = client.post("/v1/bases", json={"id": "rules", "name": "员工手册"}, headers=OWN)
    changed = client.patch("/v1/bases/rules", json={"description": "For everybody"}, headers=OWN)
    shown = client.get("/v1/bases/rules", headers=OWN).json()
    listed = client.get("/v1/bases", headers=OWN).json()
    deleted = client.delete("/v1/bases/rules", headers=OWN)

    assert (created.status_code, changed.status_code) == (201, 200)
    assert set(shown) == {"ok", "data", "error", "warnings"}
    assert (shown["data"]["name"], shown["data"]["description"]) == ("员工手册", "For everybody")
    assert [base["id"] for base in listed["data"]] == ["rules"]
    assert deleted.json()["data"] == {"deleted": True}


def test_where_a_base_lies_on_the_servers_disk_is_not_told(client: TestClient) -> None:
    client.post("/v1/bases", json={"id": "placed"}, headers=OWN)

    shown = client.get("/v1/bases/placed", headers=OWN)

    assert shown.json()["data"]["root_dir"] == ""


def test_a_source_type_is_added_changed_and_removed(client: TestClient) -> None:
    client.post("/v1/bases", json={"id": "typed"}, headers=OWN)

    added = client.post("/v1/bases/typed/source-types", json=CONTRACT, headers=OWN)
    changed = client.patch("/v1/bases/typed/source-types/contract", json={"enabled": False}, headers=OWN)
    listed = client.get("/v1/bases/typed/source-types", headers=OWN).json()
    removed = client.delete("/v1/bases/typed/source-types/contract", headers=OWN)

    assert added.status_code == 201
    assert changed.json()["data"]["enabled"] is False
    assert "contract" in {known["id"] for known in listed["data"]}
    assert removed.json()["data"] == {"deleted": True}


def test_a_refusal_of_the_registry_is_a_problem_with_its_own_code(client: TestClient) -> None:
    client.post("/v1/bases", json={"id": "taken"}, headers=OWN)

    twice = client.post("/v1/bases", json={"id": "taken"}, headers=OWN)
    no_type = client.patch("/v1/bases/taken/source-types/nothing", json={"label": "x"}, headers=OWN)
    builtin = client.delete("/v1/bases/taken/card-types/faq", headers=OWN)
    no_id = client.post("/v1/bases", json={"id": "员工"}, headers=OWN)

    assert (twice.status_code, twice.json()["code"]) == (409, "DUPLICATE_BASE_ID")
    assert (no_type.status_code, no_type.json()["code"]) == (404, "TYPE_NOT_FOUND")
    assert (builtin.status_code, builtin.json()["code"]) == (409, "BUILTIN_IMMUTABLE")
    assert (no_id.status_code, no_id.json()["code"]) == (400, "INVALID_BASE_ID")


def test_a_recipe_cannot_be_set_from_outside(client: TestClient) -> None:
    """A recipe names folders of the operator's machine."""
    refused = client.post("/v1/bases", json={"id": "evil", "recipe": {"inline": "sources: [/etc]"}}, headers=OWN)

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "body.recipe"


def test_another_organisation_sees_no_base_and_can_make_none(client: TestClient) -> None:
    """X-02."""
    client.post("/v1/bases", json={"id": "ours"}, headers=OWN)

    listed = client.get("/v1/bases", headers=STRANGER)
    made = client.post("/v1/bases", json={"id": "theirs"}, headers=STRANGER)
    searched = client.post("/v1/bases/demo/search", json={"query": "travel"}, headers=STRANGER)

    assert listed.json()["data"] == []
    assert (made.status_code, searched.status_code) == (404, 404)


def test_a_reader_cannot_change_a_base(client: TestClient) -> None:
    refused = client.post("/v1/bases", json={"id": "read"}, headers=gateway(capabilities="knowledge.read"))

    assert refused.status_code == 403
