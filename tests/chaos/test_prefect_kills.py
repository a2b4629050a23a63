"""A build through Prefect whose process is killed: the next one shows what was finished as reused."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.runs.journal import RunJournal
from lorebase.workspace import Workspace
from tests.chaos.scene import wait_until
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import HYBRID, PrefectServer, Project, endpoint, prefect, project
from tests.flows.test_build import build

__all__ = ["endpoint", "prefect", "project"]  # fixtures, imported from the suite of the flows

PROGRAM = Path(__file__).parent.parent / "flows" / "building_process.py"
NAME = "killed-flow"
LAYOUT = BaseLayout(NAME)
pytestmark = [
    pytest.mark.long,  # a killed flow's lease runs out after 45 seconds
    pytest.mark.xdist_group("prefect"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # Prefect's background clients
]


def step_has(status: str, step_name: str) -> Callable[[ObjectStore], bool]:
    def holds(store: ObjectStore) -> bool:
        journal = RunJournal(store, LAYOUT)
        run_id = journal.latest_run_id()
        steps = journal.read(run_id).step_records if run_id else ()
        return any(step.step_name == step_name and step.status == status for step in steps)

    return holds


@pytest.mark.parametrize(
    ("moment", "reused"),
    [
        (step_has("succeeded", "parse_documents"), {"parse_documents"}),
        (step_has("running", "embed_chunks"), {"parse_documents", "split_documents"}),
        (step_has("succeeded", "index_full_text"), {"parse_documents", "split_documents", "index_full_text"}),
    ],
)
async def test_a_flow_that_is_killed_goes_on_with_its_finished_task_runs_reused(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer, moment: Callable[[ObjectStore], bool],
    reused: set[str],
) -> None:  # fmt: skip
    """B-024, BQ-04."""
    project.use_endpoint(endpoint.base_url, "any")
    endpoint.script("stall", times=None)
    recipe = HYBRID.format(name=NAME, embed="")
    store = Workspace.load(project.workspace).object_store
    errors = (project.folder / "errors.log").open("wb")
    building = subprocess.Popen(  # noqa: ASYNC220 (nothing else waits meanwhile)
        [sys.executable, str(PROGRAM), prefect.url, project.recipe(recipe), str(project.workspace)],
        stdout=subprocess.DEVNULL,
        stderr=errors,
    )
    try:
        wait_until(lambda: moment(store) or building.poll() is not None, seconds=120)
    finally:
        building.kill()
        building.wait()
        errors.close()
    endpoint._state.scripts.clear()

    state = await build(prefect, project, recipe, wait_seconds=60)

    runs = prefect.task_runs(state, 5)
    shown = {name for name, run in runs.items() if run["state_name"] in {"Reused", "Cached"}}
    assert building.returncode == -signal.SIGKILL, (project.folder / "errors.log").read_text()[-3000:]
    assert state.is_completed()
    assert reused <= shown, {name: run["state_name"] for name, run in runs.items()}
