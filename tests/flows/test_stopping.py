"""A build whose process is asked to stop, or killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lorebase.artifacts.store import BaseLayout
from lorebase.runs.journal import RunJournal
from lorebase.workspace import Workspace
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import HYBRID, PrefectServer, Project

PROGRAM = Path(__file__).parent / "building_process.py"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_asked_to_stop_is_recorded_as_cancelled(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer, number: signal.Signals
) -> None:
    project.use_endpoint(endpoint.base_url, "any")
    endpoint.script("stall", times=None)
    recipe = project.recipe(HYBRID.format(name="stopped", embed=""))
    log = project.folder / "log"
    with log.open("wb") as lines:
        building = subprocess.Popen(
            [sys.executable, str(PROGRAM), prefect.url, recipe, str(project.workspace)], stdout=lines, stderr=lines
        )
    try:
        _wait_until_asked(endpoint, building, log)
        building.send_signal(number)
        code = building.wait(timeout=60)
    finally:
        building.kill()
        building.wait()

    journal = RunJournal(Workspace.load(project.workspace).object_store, BaseLayout("stopped"))
    record = journal.read(journal.latest_run_id() or "")
    steps = {step.step_name: step.status for step in record.step_records}
    (flow_run,) = prefect.post("/flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
    summary = prefect.get("/artifacts/stopped-summary/latest")["data"]
    assert code != 0
    assert flow_run["state_type"] == "CRASHED"
    assert summary.startswith("# stopped: cancelled")
    assert record.status == "cancelled", log.read_text()[-4000:]
    assert (steps["split_documents"], steps["embed_chunks"]) == ("succeeded", "cancelled")


def _wait_until_asked(endpoint: OpenAIServer, building: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while endpoint.stats.requests == 0:
        assert building.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < deadline
        time.sleep(0.1)
