"""One real Prefect server for all tests here, and how to ask it. Prefect is imported by the tests alone."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from flows.local_server import with_prefect, workspace_server
from tests.fakes.openai_server import OpenAIServer

ResultT = TypeVar("ResultT")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("prefect"))
            # Prefect's background clients leave their connections to the garbage collector.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@dataclass(frozen=True)
class PrefectServer:
    """A server, as tests ask it."""

    url: str
    folder: Path

    async def run(self, act: Callable[[], Awaitable[ResultT]]) -> ResultT:
        return await with_prefect(self.url, act, log_level="CRITICAL")

    def get(self, path: str) -> Any:
        return httpx.get(f"{self.url}{path}", timeout=30).raise_for_status().json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return httpx.post(f"{self.url}{path}", json=body, timeout=30).raise_for_status().json()

    def flow_run(self, state: Any) -> dict[str, Any]:
        return self.get(f"/flow_runs/{state.state_details.flow_run_id}")

    def task_runs(self, state: Any, count: int) -> dict[str, dict[str, Any]]:
        """Task runs of a flow run by name, once the server has recorded `count` of them to their end."""
        selected = {"flow_runs": {"id": {"any_": [str(state.state_details.flow_run_id)]}}}
        deadline = time.monotonic() + 30
        while True:
            runs = self.post("/task_runs/filter", selected)
            settled = all(run["state_type"] not in {"PENDING", "RUNNING", "SCHEDULED"} for run in runs)
            if (len(runs) >= count and settled) or time.monotonic() > deadline:
                return {run["name"]: run for run in sorted(runs, key=lambda run: run["expected_start_time"])}
            time.sleep(0.2)

    def artifacts(self, state: Any) -> dict[str, dict[str, Any]]:
        selected = {"flow_runs": {"id": {"any_": [str(state.state_details.flow_run_id)]}}}
        return {found["key"]: found for found in self.post("/artifacts/filter", selected) if found["key"]}


def upstream_of(run: dict[str, Any], runs: dict[str, dict[str, Any]]) -> set[str]:
    """Names of the task runs that a task run waited for."""
    names = {found["id"]: name for name, found in runs.items()}
    return {names[given["id"]] for given in run["task_inputs"].get("wait_for", ())}


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    folder = tmp_path_factory.mktemp("prefect-workspace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # whatever the server would fetch, it does not get there
        patch.setenv("NO_PROXY", "127.0.0.1")
        with workspace_server(folder) as url:
            patch.undo()
            yield PrefectServer(url, folder)


@pytest.fixture
def endpoint() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


FULL_TEXT = """
name: {name}
sources: [{{folder: documents}}]
procedures:
  - use: full_text_index
"""

HYBRID = """
name: {name}
sources: [{{folder: documents}}]
models: {{embedding: {{provider: fake, model: hashes, dimensions: 384}}}}
procedures:
  - name: index
    steps:
      - parse_documents: {{}}
      - split_documents: {{max_tokens: 60}}
      - embed_chunks: {{{embed}}}
      - index_vectors: {{}}
      - index_full_text: {{}}
"""


@dataclass
class Project:
    """A folder with documents, a recipe and a workspace."""

    folder: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def write(self, **texts: str) -> None:
        (self.folder / "documents").mkdir(exist_ok=True)
        for name, text in texts.items():
            (self.folder / "documents" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")

    def recipe(self, text: str) -> str:
        path = self.folder / "recipe.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def use_endpoint(self, base_url: str, api_key: str) -> None:
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / "lorebase.yaml").write_text(
            f"endpoints: {{fake: {{base_url: '{base_url}', api_key: '{api_key}', max_attempts: 1}}}}\n",
            encoding="utf-8",
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write(heron="The heron stands in the marsh.", kestrel="The kestrel hovers above the field.")
    return made
