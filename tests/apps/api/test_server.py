"""`lorebase serve` as a process: it starts, answers over a socket, tells what it did, and ends when it is told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.conftest import free_port


def test_a_server_answers_logs_and_ends_well(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "apps.cli.main", "serve", "--port", str(port), "-w", str(tmp_path / "workspace")]
    variables = {**os.environ, "LOREBASE_API_SECRET": "a-secret-of-the-gateway"}
    caller = {"X-API-SECRET": "a-secret-of-the-gateway", "X-ORGAN-ID": "1", "X-USER-ID": "ben"}
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        server = subprocess.Popen(command, stdout=out, stderr=err, env=variables)
    try:
        url = f"http://127.0.0.1:{port}"
        ready = _wait_until_ready(url, server)
        nobody = httpx.get(f"{url}/v1/items")
        listed = httpx.get(f"{url}/v1/items", headers={**caller, "X-CAPABILITIES": "knowledge.read"})
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    finally:
        server.kill()
        server.wait()

    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert ready.json()["status"] == "ready"
    assert nobody.status_code == 401
    assert listed.json()["records"] == []
    assert [(line["path"], line["status"]) for line in lines if line["path"] == "/v1/items"] == [
        ("/v1/items", 401),
        ("/v1/items", 200),
    ]
    assert "a-secret-of-the-gateway" not in (tmp_path / "out").read_text() + (tmp_path / "err").read_text()
    assert "Traceback" not in (tmp_path / "err").read_text()
    assert server.returncode in {0, -signal.SIGTERM}


def test_help_does_not_import_the_interface() -> None:
    code = "import sys, apps.cli.main; sys.exit('fastapi' in sys.modules or 'uvicorn' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == 0


def _wait_until_ready(url: str, server: subprocess.Popen[bytes]) -> httpx.Response:
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            return httpx.get(f"{url}/health/ready")
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError("the server did not start")
