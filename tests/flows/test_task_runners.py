"""Builds whose task runs other processes do: the same base for every task runner, and one of its processes killed."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lorebase.artifacts.lease import acquire_lease
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConfigurationError, ConflictError, RateLimitedError, UnavailableError
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.model import ExecutionSpec
from lorebase.runs.groups import GroupWork, RunTraits, StepWork
from lorebase.runs.journal import RunJournal
from lorebase.runs.records import RecipeRunRecord
from lorebase.runs.step import Step
from lorebase.workspace import Workspace
from lorebase.workspace_config import VectorStoreConfig, WorkspaceConfig
from steps.embed_chunks import EmbedChunks
from steps.extract_entities import ExtractEntities
from steps.index_full_text import IndexFullText
from steps.split_documents import SplitDocuments
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import FULL_TEXT, HYBRID, PrefectServer, Project
from tests.flows.test_build import build

SECRET = "sk-never-to-be-sent"
DOCUMENTS = 12

SPREAD = HYBRID + "execution: {{task_runner: {runner}, workers: 2, chunks_per_task_run: 5}}\n"


READ = """
name: {name}
sources: [{{folder: documents}}]
models:
  embedding: {{provider: fake, model: hashes, dimensions: 384}}
  chat: {{provider: fake, model: talks}}
procedures:
  - name: read
    steps:
      - parse_documents: {{}}
      - split_documents: {{max_tokens: 60}}
      - embed_chunks: {{batch_texts: 1}}
      - extract_entities: {{}}
      - collect_faq: {{}}
      - index_faq: {{}}
partitions: 16
execution: {{task_runner: processes, workers: 2, chunks_per_task_run: 60}}
"""
"""Two steps that ask the model at the same time in other processes, and one that stays in the process of the flow."""

MANY = 200
AT_ONCE = 3


def recipe_for(name: str, runner: str) -> str:
    return SPREAD.format(name=name, embed="batch_texts: 2", runner=runner)


def write_documents(project: Project) -> None:
    project.write(**{f"bird{number}": f"Bird number {number} stands in marsh {number}." for number in range(DOCUMENTS)})


def newest_record(project: Project, name: str) -> RecipeRunRecord:
    journal = RunJournal(Workspace.load(project.workspace).object_store, BaseLayout(name))
    run_id = journal.latest_run_id()
    assert run_id is not None
    return journal.read(run_id)


def manifests_of(project: Project, name: str) -> dict[str, bytes]:
    """Bytes of the manifest of every artifact that is live."""
    store = Workspace.load(project.workspace).object_store
    snapshot = SnapshotStore(store, BaseLayout(name)).require_live()
    return {artifact: store.get(reference.manifest_key) for artifact, reference in snapshot.artifacts.items()}


def runs_in(project: Project, name: str) -> dict[str, int]:
    """Task runs of each step."""
    return {record.step_name: record.counts.task_runs for record in newest_record(project, name).step_records}


@pytest.mark.parametrize(("runner", "package"), [("processes", ""), ("dask", "prefect_dask"), ("ray", "prefect_ray")])
async def test_another_task_runner_builds_what_threads_build(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer, runner: str, package: str
) -> None:
    """B-023."""
    if package:
        pytest.importorskip(package, reason=f"the extra {runner} is not installed")
    write_documents(project)
    project.use_endpoint(endpoint.base_url, SECRET)
    name = f"equal-{runner}"
    here = Project(project.folder / "here")
    shutil.copytree(project.folder / "documents", here.folder / "documents")
    here.use_endpoint(endpoint.base_url, SECRET)
    await build(prefect, here, recipe_for(name, "threads"))
    asked_in_threads = endpoint.stats.requests

    state = await build(prefect, project, recipe_for(name, runner))

    runs = prefect.task_runs(state, 8)
    assert state.is_completed()
    assert endpoint.stats.requests == 2 * asked_in_threads
    assert manifests_of(project, name) == manifests_of(here, name)
    assert runs_in(project, name) == runs_in(here, name)
    assert runs_in(project, name)["embed_chunks"] > 2
    assert {f"embed_chunks 1 of {runs_in(project, name)['embed_chunks']}", "embed_chunks"} <= set(runs)
    assert {run["state_name"] for run in runs.values()} == {"Completed"}
    assert SECRET not in json.dumps(runs)


async def test_all_processes_of_a_build_together_stay_within_the_limits_of_an_endpoint(
    prefect: PrefectServer, project: Project
) -> None:
    project.write(**{f"bird{number}": f"Bird number {number} stands in marsh {number}." for number in range(MANY)})
    with OpenAIServer(latency_seconds=0.02) as endpoint:
        (project.folder / "documents" / "faq.csv").write_text("question,answer\n问鹭,The heron.\nWho?,You.\n", "utf-8")
        project.workspace.mkdir()
        (project.workspace / "lorebase.yaml").write_text(
            f"endpoints: {{fake: {{base_url: '{endpoint.base_url}', max_concurrency: {AT_ONCE}, max_attempts: 1}}}}\n",
            encoding="utf-8",
        )
        endpoint.script("crowd", times=None, limit=AT_ONCE)
        endpoint.script("chat", times=None, content='{"entities": []}')

        state = await build(prefect, project, READ.format(name="crowd"))

        assert state.is_completed(), state.message
        counts = {record.step_name: record.counts for record in newest_record(project, "crowd").step_records}
        assert counts["extract_entities"].task_runs > 2
        assert [counts[name].model_calls for name in ("embed_chunks", "extract_entities")] >= [MANY, MANY]
        assert counts["index_faq"].model_calls > 0
        assert endpoint.stats.requests == sum(count.model_calls for count in counts.values())
        assert endpoint.stats.most_in_flight == AT_ONCE  # so nothing was refused


def test_what_a_deployment_says_of_the_task_runner_takes_the_place_of_what_the_recipe_says() -> None:
    from flows.compile import BuildSettings

    recipe = parse_recipe(recipe_for("any", "dask"))

    chosen = BuildSettings(task_runner="processes").execution_of(recipe)
    kept = BuildSettings().execution_of(recipe)

    assert (chosen.task_runner, chosen.workers, chosen.chunks_per_task_run) == ("processes", 2, 5)
    assert kept == recipe.execution


def test_where_task_runs_run_is_no_part_of_what_a_recipe_is() -> None:
    assert parse_recipe(recipe_for("any", "dask")).fingerprint == parse_recipe(recipe_for("any", "ray")).fingerprint


async def test_an_address_that_no_runner_takes_is_refused() -> None:
    from flows.task_runners import started_task_runner

    with pytest.raises(ConfigurationError, match="'threads' has no address"):
        async with started_task_runner(ExecutionSpec(), "tcp://127.0.0.1:8786"):
            pass


async def test_a_cluster_that_does_not_answer_is_named_with_its_address() -> None:
    dask = pytest.importorskip("dask", reason="the extra dask is not installed")
    from flows.task_runners import started_task_runner

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(UnavailableError, match=r"'dask' did not start at 'tcp://127.0.0.1:1'.*Look whether the cluster"),
    ):
        async with started_task_runner(ExecutionSpec(task_runner="dask"), "tcp://127.0.0.1:1"):
            pass


@pytest.mark.skipif(importlib.util.find_spec("prefect_ray") is not None, reason="the extra ray is installed")
async def test_a_runner_that_is_not_installed_names_its_extra() -> None:
    from flows.task_runners import started_task_runner

    with pytest.raises(ConfigurationError, match=r"lorebase\[ray\]"):
        async with started_task_runner(ExecutionSpec(task_runner="ray")):
            pass


def work_of(step: Step) -> StepWork:
    return StepWork("step", 0, step, "f" * 32, "t" * 32, (), traits=RunTraits("run-1"))


def other_processes(workspace: Workspace, recipe: str) -> Any:
    from blocks import LorebaseObjectStore
    from flows.execution_elsewhere import OtherProcesses

    results = LorebaseObjectStore(url=str(workspace.folder))
    given = (parse_recipe(recipe), workspace, str(workspace.folder), results)
    return OtherProcesses(None, *given, at_once=2)  # type: ignore[arg-type]  # nothing is run


def test_embedded_indexes_are_written_by_the_process_of_the_flow_and_those_of_a_server_by_any(tmp_path: Path) -> None:
    server = WorkspaceConfig(vector_store=VectorStoreConfig(uri="http://127.0.0.1:19530"))
    recipe = FULL_TEXT.format(name="any")

    embedded = other_processes(Workspace(tmp_path), recipe)
    served = other_processes(Workspace(tmp_path, server), recipe)

    assert (embedded.take(work_of(IndexFullText())), served.take(work_of(IndexFullText()))) == (False, True)
    assert embedded.take(work_of(SplitDocuments()))


def test_steps_that_spend_a_budget_stay_in_the_process_that_counts_it(tmp_path: Path) -> None:
    """BQ-12."""
    limited = other_processes(Workspace(tmp_path), READ.format(name="any") + "budget: {max_model_calls: 3}\n")

    assert not limited.take(work_of(EmbedChunks()))
    assert not limited.take(work_of(ExtractEntities()))
    assert limited.take(work_of(ExtractEntities(mode="rules")))
    assert limited.take(work_of(SplitDocuments()))


async def test_a_worker_that_works_in_another_workspace_is_found_out(tmp_path: Path) -> None:
    elsewhere = other_processes(Workspace(tmp_path), FULL_TEXT.format(name="any"))

    with pytest.raises(ConfigurationError, match="not in this object store"):
        await elsewhere.record_of(work_of(SplitDocuments()), GroupWork("g1", "1 of 1", ()))


def test_an_order_is_small_and_holds_no_secret(tmp_path: Path) -> None:
    from flows.task_runners_worker import GroupOrder

    project = Project(tmp_path)
    project.use_endpoint("http://127.0.0.1:1/v1", SECRET)
    recipe = recipe_for("any", "dask")

    sent = pickle.dumps(
        GroupOrder("k", recipe, str(tmp_path), str(project.workspace), work_of(EmbedChunks()), GroupWork("g", "1", ()))
    )

    assert SECRET.encode() not in sent
    assert len(sent) < len(recipe) + 2000


async def test_an_error_of_another_process_arrives_though_its_cause_cannot_be_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import task_runners_worker

    importlib.import_module("tblib.pickling_support").install()  # Dask does so: errors are pickled with their causes

    class OfAModelClient(Exception):  # noqa: N818 (loaded after Dask, and made as the openai client makes its own)
        def __init__(self, message: str, *, status: int) -> None:
            super().__init__(message, status)

    async def fail(_: object) -> None:
        raise RateLimitedError("The endpoint fake is busy.", endpoint="fake") from OfAModelClient("slow", status=429)

    monkeypatch.setattr(task_runners_worker, "do_group", fail)
    order = task_runners_worker.GroupOrder(
        "k", FULL_TEXT.format(name="any"), str(tmp_path), str(tmp_path), work_of(EmbedChunks()), GroupWork("g", "1", ())
    )
    with pytest.raises(RateLimitedError) as raised:
        await task_runners_worker.run_ordered_group.fn(order)

    arrived = pickle.loads(pickle.dumps(raised.value))

    assert isinstance(arrived, RateLimitedError)
    assert (arrived.message, arrived.facts) == ("The endpoint fake is busy.", {"endpoint": "fake"})


def test_no_group_begins_for_a_run_that_has_lost_its_lease(tmp_path: Path) -> None:
    """BQ-08."""
    from flows.task_runners_worker import require_lease_of

    store, layout = Workspace(tmp_path).object_store, BaseLayout("any")
    acquire_lease(store, layout.lease, holder="run-1", now=lambda: datetime(2026, 1, 1, tzinfo=UTC), seconds=30)

    require_lease_of(store, layout, "run-1")
    with pytest.raises(ConflictError, match="does not hold the lease"):
        require_lease_of(store, layout, "run-2")
    minute_ago = time.time() - 60
    os.utime(tmp_path / "objects" / layout.lease, (minute_ago, minute_ago))
    with pytest.raises(ConflictError, match="run-1 had it last"):
        require_lease_of(store, layout, "run-1")
