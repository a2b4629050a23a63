"""The page of the description comes whole from this server: closed networks can read it, nobody learns who reads."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute, Route

_HOST = re.compile(r"(?:https?:)?//([\w.-]+)")


def test_no_page_names_a_foreign_host(client: TestClient) -> None:
    pages = [route for route in client.app.routes if is_page(route)]  # type: ignore[attr-defined]  # FastAPI's

    texts = [client.get(route.path).text for route in pages]

    assert {route.path for route in pages} >= {"/docs", "/openapi.json"}
    assert [host for text in texts for host in _HOST.findall(text)] == []


def is_page(route: BaseRoute) -> bool:
    """Whether a browser can open it as it is; answers of `/v1` hold texts of documents."""
    return isinstance(route, Route) and not isinstance(route, APIRoute) and "GET" in (route.methods or ())


def test_what_the_page_loads_is_served_here_and_a_browser_may_load_nothing_else(client: TestClient) -> None:
    page = client.get("/docs")

    loaded = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)
    answers = {urlsplit(urljoin("/docs", path)).path: client.get(path) for path in loaded}

    assert {path.rpartition(".")[2] for path in answers} == {"js", "css"}
    assert all(answer.status_code == 200 and len(answer.text) > 100_000 for answer in answers.values())
    assert page.headers["Content-Security-Policy"] == "default-src 'self' 'unsafe-inline'; img-src 'self' data:"
    assert '"validatorUrl": null' in page.text


def test_the_page_works_below_a_path_of_a_gateway(client: TestClient) -> None:
    below = TestClient(client.app, root_path="/knowledge")

    page = below.get("/docs").text

    assert "/knowledge/openapi.json" in page
    assert "/knowledge/docs/files/swagger-ui-bundle.js" in page
    assert below.get("/knowledge/docs/files/swagger-ui.css").status_code == 200
