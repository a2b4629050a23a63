"""A server under many clients opens a connection for each thread that asks, and keeps it for the next question."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import event

from apps.api.app import create_app
from lorebase.adapters.databases import KEPT_CONNECTIONS
from lorebase.workspace_config import DatabaseConfig
from tests.apps.api.callers import OWN
from tests.apps.api.conftest import SETTINGS
from tests.fakes.workspace import FakeWorkspace
from tests.governance.conftest import address_on

CLIENTS = 50
REQUESTS = 200


@pytest.fixture(params=["postgresql", "mariadb"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeWorkspace]:
    with address_on(request.param, tmp_path) as url:
        made = FakeWorkspace(tmp_path / "ws")
        made.config = made.config.model_copy(update={"database": DatabaseConfig(url=SecretStr(url))})
        yield made


def test_fifty_clients_are_answered_over_connections_that_stay_open(workspace: FakeWorkspace) -> None:
    opened: list[object] = []
    with TestClient(create_app(workspace, SETTINGS)) as client, ThreadPoolExecutor(CLIENTS) as clients:
        event.listen(workspace.database.engine, "connect", lambda *_: opened.append(1))

        def ask(number: int) -> int:
            path = "/v1/items" if number % 2 else "/v1/bases"  # governed knowledge, and the registry
            return client.get(path, headers=OWN).status_code

        statuses = set(clients.map(ask, range(REQUESTS)))

    assert statuses == {200}
    assert 1 <= len(opened) <= min(2 * SETTINGS.threads, KEPT_CONNECTIONS)
