"""The server of a workspace: shared by its users, gone with the last of them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import ssl
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.local_server import with_prefect, workspace_server
from tests.flows.conftest import PrefectServer

FIRST_USER = """
import sys, time
from pathlib import Path
from flows.local_server import workspace_server
with workspace_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(300)
"""


def test_a_server_is_shared_outlives_the_killed_process_that_started_it_and_ends_with_its_last_user(
    prefect: PrefectServer, tmp_path: Path
) -> None:
    home = tmp_path / "prefect"
    home.mkdir()
    _copy_database(prefect.folder / "prefect" / "prefect.db", home / "prefect.db")
    (home / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9/api", "pid": os.getpid()}))
    first = subprocess.Popen([sys.executable, "-c", FIRST_USER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    try:
        with first.stdout:
            started = first.stdout.readline().strip()
        with workspace_server(tmp_path) as url:
            first.send_signal(signal.SIGKILL)
            first.wait()
            time.sleep(1.5)
            health = httpx.get(f"{url}/health", timeout=30).status_code
    finally:
        first.kill()
        first.wait()

    assert (url, health) == (started, 200)
    assert _is_gone(json.loads((home / "server.json").read_text())["pid"])


def test_it_keeps_everything_below_the_workspace_and_listens_on_loopback(prefect: PrefectServer) -> None:
    home = prefect.folder / "prefect"

    settings = prefect.get("/admin/settings")

    assert (home / "prefect.db").is_file()
    assert prefect.url.startswith("http://127.0.0.1:")
    assert settings["server"]["analytics_enabled"] is False
    assert settings["server"]["services"]["task_run_recorder"]["batch_size"] == 100
    assert settings["home"] == str(home)


def test_a_second_use_in_the_same_process_finds_the_same_server(prefect: PrefectServer) -> None:
    with workspace_server(prefect.folder) as url:
        pass

    assert url == prefect.url
    assert httpx.get(f"{url}/health", timeout=30).is_success


async def test_prefects_own_lines_below_a_warning_stay_off_the_console(
    prefect: PrefectServer, capfd: pytest.CaptureFixture[str]
) -> None:
    from prefect import flow, get_run_logger

    @flow(name="talks")
    async def talks() -> None:
        get_run_logger().info("it goes on")
        get_run_logger().warning("it goes wrong")

    state = await with_prefect(prefect.url, lambda: talks(return_state=True))

    selected = {"logs": {"flow_run_id": {"any_": [str(state.state_details.flow_run_id)]}}}
    kept = [line["message"] for line in prefect.post("/logs/filter", selected)]
    assert "it goes on" in kept
    assert "it goes wrong" in kept
    assert "it goes on" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("configured", "kept"), [("http://127.0.0.1:9/api", "user:word"), ("http://127.0.0.1:8/api", None)]
)
async def test_credentials_go_to_the_server_that_they_are_configured_for_alone(
    configured: str, kept: str | None
) -> None:
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    async def act() -> Any:
        return PREFECT_API_AUTH_STRING.value()

    with temporary_settings(updates={PREFECT_API_URL: configured, PREFECT_API_AUTH_STRING: "user:word"}):
        found = await with_prefect("http://127.0.0.1:9/api", act)

    assert found == kept


@pytest.mark.parametrize(("address", "is_one"), [("http://127.0.0.1:9/api", True), ("https://host/api", False)])
async def test_clients_of_a_server_without_tls_read_one_authority(address: str, *, is_one: bool) -> None:
    from prefect.settings import PREFECT_API_SSL_CERT_FILE

    async def act() -> int:
        return len(ssl.create_default_context(cafile=PREFECT_API_SSL_CERT_FILE.value()).get_ca_certs())

    assert (await with_prefect(address, act) == 1) is is_one


def _copy_database(source: Path, target: Path) -> None:
    """A database with its tables: making them takes a server most of its first start."""
    with closing(sqlite3.connect(source)) as full, closing(sqlite3.connect(target)) as copy:
        full.backup(copy)


def _is_gone(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.2)
    return False
