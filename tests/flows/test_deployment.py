"""From prefect.yaml to a finished build: a real server, a real worker, triggered over REST as CI would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from lorebase.artifacts.store import BaseLayout
from lorebase.runs.journal import RunJournal
from lorebase.workspace import Workspace
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import FULL_TEXT, HYBRID, PrefectServer, Project

ROOT = Path(__file__).parents[2]
NAME = "build-knowledge-base/quickstart"
PREFECT = (sys.executable, "-m", "prefect", "--no-prompt")


@dataclass(frozen=True)
class Deployed:
    """A project whose deployments a worker serves, its deployment `quickstart`, and the worker's log."""

    project: Project
    deployment: dict[str, Any]
    log: Path


@pytest.fixture(scope="module")
def deployed(prefect: PrefectServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The deployments of a copy of the project, and a worker that serves them."""
    project = Project(tmp_path_factory.mktemp("deployed"))
    project.write(heron="The heron stands in the marsh.")
    shutil.copy(ROOT / "prefect.yaml", project.folder)
    (project.folder / "recipes").mkdir()
    for name, recipe in (
        ("quickstart", FULL_TEXT.format(name="deployed")),
        ("slow", HYBRID.format(name="slow", embed="")),
    ):
        text = recipe.replace("folder: documents", "folder: ../documents")
        (project.folder / "recipes" / f"{name}.yaml").write_text(text)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        "PREFECT_API_URL": prefect.url,
        "PREFECT_HOME": str(project.folder / "client"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "LOREBASE_HOME": str(project.folder),
        "DO_NOT_TRACK": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
    }
    _set_up(prefect, project)
    done = subprocess.run(
        [*PREFECT, "deploy", "--all"], cwd=project.folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    log = project.folder / "worker.log"
    with log.open("wb") as lines:
        worker = subprocess.Popen(
            [*PREFECT, "worker", "start", "--pool", "lorebase", "--type", "process"],
            cwd=project.folder,
            env=environment,
            stdout=lines,
            stderr=lines,
        )
    try:
        yield Deployed(project, prefect.get(f"/deployments/name/{NAME}"), log)
    finally:
        worker.terminate()
        try:
            worker.wait(timeout=20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def test_a_deployment_builds_when_it_is_triggered_over_rest(prefect: PrefectServer, deployed: Deployed) -> None:
    path = f"{prefect.url}/deployments/{deployed.deployment['id']}/create_flow_run"
    options = {"recipe": "recipes/quickstart.yaml", "workspace": "kept"}

    refused = _post(path, {"parameters": {"options": {**options, "mode": "backwards"}}})
    first = _post(path, {"parameters": {"options": options}, "idempotency_key": "commit-1"})
    again = _post(path, {"parameters": {"options": options}, "idempotency_key": "commit-1"})
    ended = _ended(prefect, first.json()["id"])

    selected = {"flow_runs": {"id": {"any_": [ended["id"]]}}}
    found = {artifact["key"]: artifact for artifact in prefect.post("/artifacts/filter", selected)}
    assert refused.status_code == 409
    assert "backwards" in refused.text
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert ended["state_type"] == "COMPLETED", deployed.log.read_text(errors="replace")[-4000:]
    assert "- `full_text_search`" in found["deployed-summary"]["data"]
    assert (deployed.project.folder / "kept" / "objects").is_dir()


def test_a_run_that_is_cancelled_in_prefect_is_recorded_as_cancelled(
    prefect: PrefectServer, deployed: Deployed, endpoint: OpenAIServer
) -> None:
    deployed.project.use_endpoint(endpoint.base_url, "any")
    endpoint.script("stall", times=None)
    path = f"{prefect.url}/deployments/{deployed.deployment['id']}/create_flow_run"
    options = {"recipe": "recipes/slow.yaml", "workspace": "workspace"}
    run = _post(path, {"parameters": {"options": options}, "idempotency_key": "slow-1"}).json()
    _wait_until(lambda: endpoint.stats.requests > 0, deployed.log)

    prefect.post(f"/flow_runs/{run['id']}/set_state", {"state": {"type": "CANCELLING"}})

    ended = _ended(prefect, run["id"])
    store = Workspace.load(deployed.project.workspace).object_store
    journal = RunJournal(store, BaseLayout("slow"))
    _wait_until(lambda: journal.read(journal.latest_run_id() or "").status != "running", deployed.log)
    assert ended["state_type"] == "CANCELLED"
    assert journal.read(journal.latest_run_id() or "").status == "cancelled"


def test_the_trigger_command_starts_one_run_a_key_and_prints_the_report_of_its_build(
    prefect: PrefectServer, deployed: Deployed
) -> None:
    """B-026."""
    given = ("--param", "options.workspace=triggered", "--idempotency-key", "commit-2", "--wait", "--json")

    first = _trigger(prefect, NAME, *given)
    again = _trigger(prefect, NAME, *given)

    started, followed = json.loads(first.stdout), json.loads(again.stdout)
    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert (started["outcome"], started["is_new"], followed["is_new"]) == ("Completed", True, False)
    assert started["flow_run_id"] == followed["flow_run_id"]
    assert started["report"]["status"] == "succeeded"
    assert started["report"]["counts"]["documents"] == 1
    assert "Completed" in first.stderr


def test_the_trigger_command_exits_with_the_code_of_what_failed(prefect: PrefectServer, deployed: Deployed) -> None:
    (deployed.project.folder / "recipes" / "elsewhere.yaml").write_text(
        HYBRID.format(name="elsewhere", embed="").replace("folder: documents", "folder: ../documents")
    )
    gone = "endpoints: {fake: {base_url: 'http://127.0.0.1:9/v1', api_key: any, max_attempts: 1}}"
    (deployed.project.folder / "unreachable").mkdir()
    (deployed.project.folder / "unreachable" / "lorebase.yaml").write_text(gone)

    failed = _trigger(
        prefect, NAME, "-p", "options.recipe=recipes/elsewhere.yaml", "-p", "options.workspace=unreachable", "--wait"
    )

    absent = _trigger(prefect, NAME, "-p", "options.recipe=recipes/absent.yaml", "--wait")

    assert failed.returncode == 4, failed.stdout + failed.stderr
    assert "embed_chunks" in failed.stdout
    assert absent.returncode == 2, absent.stdout + absent.stderr
    assert "absent.yaml" in absent.stdout


def test_the_trigger_command_names_what_it_cannot_start(prefect: PrefectServer, deployed: Deployed) -> None:
    unknown = _trigger(prefect, "build-knowledge-base/nowhere")
    refused = _trigger(prefect, NAME, "--param", "options.mode=backwards")
    malformed = _trigger(prefect, NAME, "--param", "backwards")

    assert [run.returncode for run in (unknown, refused, malformed)] == [2, 2, 2]
    assert "There is no deployment 'build-knowledge-base/nowhere'" in unknown.stderr
    assert "backwards" in refused.stderr
    assert "NAME=VALUE" in malformed.stderr


def test_a_deployment_holds_what_its_file_says(deployed: Deployed) -> None:
    kept = deployed.deployment

    assert kept["entrypoint"] == "flows.build.build_knowledge_base"
    assert kept["pull_steps"] in (None, [])
    assert kept["enforce_parameter_schema"] is True
    assert kept["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert kept["global_concurrency_limit"]["limit"] == 1
    assert kept["job_variables"]["env"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert [(one["slug"], one["schedule"]["cron"], one["active"]) for one in kept["schedules"]] == [
        ("nightly", "0 3 * * *", False)
    ]


def test_every_entrypoint_of_the_file_is_an_importable_flow() -> None:
    from prefect import Flow
    from prefect.flows import load_flow_from_entrypoint

    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]

    loaded = [load_flow_from_entrypoint(deployment["entrypoint"]) for deployment in deployments]

    assert all(isinstance(flow, Flow) for flow in loaded)
    assert all("/" not in deployment["entrypoint"] for deployment in deployments)


def _set_up(prefect: PrefectServer, project: Project) -> None:
    import asyncio

    from flows.setup import set_up_lorebase

    asyncio.run(prefect.run(lambda: set_up_lorebase(str(project.workspace))))


def _trigger(prefect: PrefectServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "apps.cli.main", "trigger", *arguments],
        env={**os.environ, "PREFECT_API_URL": prefect.url},
        capture_output=True,
        text=True,
        timeout=180,
    )


def _post(path: str, body: dict[str, Any]) -> httpx.Response:
    """Post as CI does: a server that is busy for a moment is asked again, which the idempotency key makes safe."""
    for _ in range(20):
        answer = httpx.post(path, json=body, timeout=30)
        if answer.status_code != 503:
            return answer
        time.sleep(0.5)
    raise AssertionError(answer.text)


def _ended(prefect: PrefectServer, flow_run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 120
    while True:
        run: dict[str, Any] = prefect.get(f"/flow_runs/{flow_run_id}")
        if run["state_type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"} or time.monotonic() > deadline:
            return run
        time.sleep(0.5)


def _wait_until(is_so: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-4000:]
        time.sleep(0.2)
