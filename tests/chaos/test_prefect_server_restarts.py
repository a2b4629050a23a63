"""The Prefect server is killed and started again during a build: the build ends, and the next one goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from lorebase.artifacts.lease import lease_in_force
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.workspace import Workspace
from tests.chaos.scene import wait_until
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.seaweedfs import free_port
from tests.flows.conftest import HYBRID, PrefectServer, Project
from tests.flows.test_build import build

PROGRAM = Path(__file__).parent.parent / "flows" / "building_process.py"
NAME = "server-restarted"
DOCUMENTS = 12
pytestmark = [
    pytest.mark.xdist_group("prefect"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # Prefect's background clients
    pytest.mark.timeout(600),
]


class KillableServer:
    """A Prefect server over a SQLite file, which stays where it is when the server is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/api"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {
            "PREFECT_HOME": str(self._folder),
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
            "DO_NOT_TRACK": "1",
        }
        command = [sys.executable, "-m", "prefect", "--no-prompt", "server", "start"]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(self._port), "--no-ui"],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        wait_until(self._is_healthy, seconds=120)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=5).is_success
        except httpx.HTTPError:
            return False


@pytest.mark.parametrize("seconds_away", [0, 10])
def test_a_build_whose_prefect_server_is_killed_ends_and_nothing_it_paid_for_is_paid_for_again(
    tmp_path: Path, seconds_away: int
) -> None:
    """B-024."""
    project = Project(tmp_path)
    project.write(**{f"heron{number}": f"Heron {number} stands in the marsh." for number in range(DOCUMENTS)})
    (tmp_path / "server").mkdir()
    server = KillableServer(tmp_path / "server")
    recipe = HYBRID.format(name=NAME, embed="batch_texts: 1")
    with OpenAIServer(latency_seconds=1.0) as model:
        project.use_endpoint(model.base_url, "any")
        try:
            server.start()
            with (tmp_path / "build.log").open("wb") as log:
                building = subprocess.Popen(
                    [sys.executable, str(PROGRAM), server.url, project.recipe(recipe), str(project.workspace)],
                    stdout=log, stderr=log,
                )  # fmt: skip
            try:
                wait_until(lambda: model.stats.requests >= 2 or building.poll() is not None, seconds=120)
                server.kill()
                time.sleep(seconds_away)
                server.start()
                building.wait(300)
            finally:
                building.kill()
                building.wait()
            state = asyncio.run(build(PrefectServer(server.url, tmp_path), project, recipe, wait_seconds=60))
            limits = httpx.post(f"{server.url}/v2/concurrency_limits/filter", json={}, timeout=30).json()
        finally:
            server.kill()

    store = Workspace.load(project.workspace).object_store
    assert building.returncode in {0, 1}, (tmp_path / "build.log").read_text()[-3000:]
    assert state.is_completed()
    assert SnapshotStore(store, BaseLayout(NAME)).require_live().documents == DOCUMENTS
    assert lease_in_force(store, BaseLayout(NAME).lease) is None
    assert [limit["active_slots"] for limit in limits if limit["active_slots"]] == []
    assert max(model.stats.seen.values()) == 1
