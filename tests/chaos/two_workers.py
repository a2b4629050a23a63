"""A Prefect server on PostgreSQL, two deployments of two bases, and two process workers that serve them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import yaml
from sqlalchemy import create_engine, make_url, text

from lorebase.artifacts.lease import read_lease
from lorebase.artifacts.store import BaseLayout
from lorebase.workspace import Workspace
from tests.conftest import free_port
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import HYBRID, PrefectServer, Project

ROOT = Path(__file__).parents[2]
PREFECT = (sys.executable, "-m", "prefect", "--no-prompt")
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@dataclass(frozen=True)
class TwoWorkers:
    """A server with the deployments `one` and `two`, which two workers serve."""

    server: PrefectServer
    project: Project
    workers: tuple[subprocess.Popen[bytes], ...]

    def start(self, name: str, **options: Any) -> str:
        """Id of a new flow run of a deployment."""
        deployment = self.server.get(f"/deployments/name/build-knowledge-base/{name}")
        chosen = {"recipe": f"recipes/{name}.yaml", "workspace": f"workspace-{name}", **options}
        path = f"/deployments/{deployment['id']}/create_flow_run"
        run_id: str = self.server.post(path, {"parameters": {"options": chosen}})["id"]
        return run_id

    def ended(self, run_id: str, *, seconds: float = 150.0) -> dict[str, Any]:
        """A flow run at its end, or as it is when the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            run: dict[str, Any] = self.server.get(f"/flow_runs/{run_id}")
            if run["state_type"] in ENDED or time.monotonic() > deadline:
                return run
            time.sleep(0.5)

    def lease_is_free(self, name: str) -> bool:
        """Whether nobody holds the lease of a base."""
        store = Workspace.load(self.project.folder / f"workspace-{name}").object_store
        lease = read_lease(store, BaseLayout(name).lease)
        return lease is not None and lease.expires_at <= lease.acquired_at

    def logs(self) -> str:
        """The ends of the workers' logs."""
        return "".join(path.read_text(errors="replace")[-3000:] for path in self.project.folder.glob("worker-*.log"))


@contextmanager
def two_workers(folder: Path, model: OpenAIServer) -> Iterator[TwoWorkers]:
    """Everything started, and ended at the end.

    Args:
        folder: An empty folder.
        model: Serves the embedding model.
    """
    project = _project(folder, model)
    with ExitStack() as stack:
        url = stack.enter_context(_server(folder, stack.enter_context(_database())))
        server = PrefectServer(url, folder)
        environment = _environment(folder, url)
        for name in ("one", "two"):
            _set_up(server, folder / f"workspace-{name}")
        done = subprocess.run(
            [*PREFECT, "deploy", "--all"], cwd=folder, env=environment, capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, done.stdout + done.stderr
        workers = tuple(stack.enter_context(_worker(folder, environment, number)) for number in (1, 2))
        yield TwoWorkers(server, project, workers)


def _project(folder: Path, model: OpenAIServer) -> Project:
    project = Project(folder)
    project.write(heron="The heron stands in the marsh.")
    (folder / "recipes").mkdir()
    file = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    first = file["deployments"][0]
    file["deployments"] = [{**first, "name": name, "schedules": []} for name in ("one", "two")]
    (folder / "prefect.yaml").write_text(yaml.safe_dump(file))
    endpoints = f"endpoints: {{fake: {{base_url: '{model.base_url}', api_key: any, max_attempts: 1}}}}\n"
    for name in ("one", "two"):
        recipe = HYBRID.format(name=name, embed="").replace("folder: documents", "folder: ../documents")
        (folder / "recipes" / f"{name}.yaml").write_text(recipe)
        (folder / f"workspace-{name}").mkdir()
        (folder / f"workspace-{name}" / "lorebase.yaml").write_text(endpoints)
    return project


@contextmanager
def _database() -> Iterator[str]:
    given = os.environ.get("LOREBASE_TEST_POSTGRES_URL")
    if not given:
        pytest.skip("LOREBASE_TEST_POSTGRES_URL is not set: no PostgreSQL here")
    name = f"lorebase_prefect_{uuid4().hex[:12]}"
    engine = create_engine(make_url(given).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(given).set(drivername="postgresql+asyncpg", database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        engine.dispose()


@contextmanager
def _server(folder: Path, database: str) -> Iterator[str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    environment = _environment(folder, url) | {
        "PREFECT_API_DATABASE_CONNECTION_URL": database,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "2",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    }
    command = [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    with _running(command, folder, environment, "server.log"):
        wait_until(lambda: _is_healthy(url), lambda: (folder / "server.log").read_text(errors="replace")[-3000:])
        yield url


def _is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).is_success
    except httpx.HTTPError:
        return False


@contextmanager
def _worker(folder: Path, environment: dict[str, str], number: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [*PREFECT, "worker", "start", "--pool", "lorebase", "--type", "process", "--limit", "1"]
    with _running([*command, "--name", f"worker-{number}"], folder, environment, f"worker-{number}.log") as process:
        yield process


@contextmanager
def _running(
    command: list[str], folder: Path, environment: dict[str, str], log: str
) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / log).open("wb") as lines:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=lines, stderr=lines)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(folder: Path, url: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        "PREFECT_API_URL": url,
        "PREFECT_HOME": str(folder / "client"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "LOREBASE_HOME": str(folder),
        "DO_NOT_TRACK": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
    }


def _set_up(server: PrefectServer, workspace: Path) -> None:
    from flows.setup import set_up_lorebase

    asyncio.run(server.run(lambda: set_up_lorebase(str(workspace))))


def wait_until(is_so: Callable[[], bool], said: Callable[[], str], *, seconds: float = 150.0) -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, said()
        time.sleep(0.2)
