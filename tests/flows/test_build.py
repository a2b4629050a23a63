"""A build as people see it in Prefect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConflictError
from lorebase.recipes.loading import load_recipe
from lorebase.runs.journal import RunJournal
from lorebase.workspace import Workspace
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import FULL_TEXT, HYBRID, PrefectServer, Project, upstream_of

SECRET = "sk-never-to-be-seen"


async def build(prefect: PrefectServer, project: Project, recipe: str, **options: Any) -> Any:
    """The final state of one build through Prefect."""
    from flows.build import BuildOptions, build_knowledge_base

    chosen = BuildOptions(recipe=project.recipe(recipe), workspace=str(project.workspace), **options)

    async def act() -> Any:
        return await build_knowledge_base(chosen, return_state=True)

    return await prefect.run(act)


async def test_task_runs_are_named_as_the_steps_and_wait_as_the_artifacts_do(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    project.use_endpoint(endpoint.base_url, SECRET)

    state = await build(prefect, project, HYBRID.format(name="graph", embed=""))

    runs = prefect.task_runs(state, 5)
    assert {name: upstream_of(run, runs) for name, run in runs.items()} == {
        "parse_documents": set(),
        "split_documents": {"parse_documents"},
        "embed_chunks": {"split_documents"},
        "index_vectors": {"split_documents", "embed_chunks"},
        "index_full_text": {"split_documents"},
    }
    assert {run["state_name"] for run in runs.values()} == {"Completed"}


async def test_the_flow_returns_a_small_summary(prefect: PrefectServer, project: Project) -> None:
    state = await build(prefect, project, FULL_TEXT.format(name="small"), run_id="20260101t000000000-00000000")

    summary = await state.result()
    assert summary["run_id"] == "20260101t000000000-00000000"
    assert (summary["status"], summary["snapshot_id"]) == ("succeeded", summary["run_id"])
    assert (summary["artifacts"]["source_documents"], summary["artifacts"]["full_text_index"]) == (2, 2)
    assert len(json.dumps(summary)) < 2000


async def test_a_second_build_shows_every_step_as_reused(prefect: PrefectServer, project: Project) -> None:
    await build(prefect, project, FULL_TEXT.format(name="twice"))

    state = await build(prefect, project, FULL_TEXT.format(name="twice"))

    runs = prefect.task_runs(state, 3)
    assert {name: run["state_name"] for name, run in runs.items()} == {
        "parse_documents": "Reused",
        "split_documents": "Reused",
        "index_full_text": "Reused",
    }
    assert upstream_of(runs["index_full_text"], runs) == {"split_documents"}


async def test_a_rebuild_does_every_step_again_whatever_prefect_remembers(
    prefect: PrefectServer, project: Project
) -> None:
    await build(prefect, project, FULL_TEXT.format(name="again"))

    state = await build(prefect, project, FULL_TEXT.format(name="again"), mode="rebuild")

    runs = prefect.task_runs(state, 3)
    assert {run["state_name"] for run in runs.values()} == {"Completed"}


async def test_a_partly_finished_step_shows_its_finished_groups_as_cached_and_is_sealed_by_one_task_run(
    prefect: PrefectServer, project: Project
) -> None:
    await build(prefect, project, FULL_TEXT.format(name="partly"))
    project.write(plover="The plover runs along the shore.")

    state = await build(prefect, project, FULL_TEXT.format(name="partly"))

    runs = prefect.task_runs(state, 9)
    assert runs["parse_documents reused 1 of 1"]["state_name"] == "Cached"
    assert runs["parse_documents 1 of 1"]["state_name"] == "Completed"
    assert upstream_of(runs["parse_documents"], runs) == {"parse_documents reused 1 of 1", "parse_documents 1 of 1"}
    assert upstream_of(runs["split_documents 1 of 1"], runs) == {"parse_documents"}


async def test_a_finished_group_whose_prefect_result_is_gone_shows_as_reused(
    prefect: PrefectServer, project: Project
) -> None:
    await build(prefect, project, FULL_TEXT.format(name="forgotten"))
    store = Workspace.load(project.workspace).object_store
    results = store.list("prefect-results")
    store.delete(results)
    project.write(plover="The plover runs along the shore.")

    state = await build(prefect, project, FULL_TEXT.format(name="forgotten"))

    assert len(results) == 3
    assert prefect.task_runs(state, 9)["parse_documents reused 1 of 1"]["state_name"] == "Reused"


async def test_summary_and_progress_artifacts_tell_capabilities_and_counts(
    prefect: PrefectServer, project: Project
) -> None:
    project.write(broken="")
    (project.folder / "documents" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing | here")

    state = await build(prefect, project, FULL_TEXT.format(name="shown"))

    artifacts = prefect.artifacts(state)
    summary = artifacts["shown-summary"]["data"]
    assert artifacts["shown-progress"]["data"] == 100.0
    assert "- `full_text_search`" in summary
    assert "| parse\\_documents | succeeded | it was not built before | 4 | 4 |" in summary
    assert "broken.pdf" in summary.split("## Issues")[1]


async def test_a_failing_step_fails_the_flow_run_with_its_cause(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    project.use_endpoint(endpoint.base_url, SECRET)
    endpoint.script("unauthorized", times=None)

    state = await build(prefect, project, HYBRID.format(name="failing", embed=""))

    flow_run = prefect.flow_run(state)
    runs = prefect.task_runs(state, 3)
    record = _record(project, "failing")
    assert flow_run["state_type"] == "FAILED"
    assert "BuildFailedError: The build of 'failing' failed at embed_chunks:" in flow_run["state"]["message"]
    assert runs["embed_chunks"]["state_type"] == "FAILED"
    assert record.error is not None
    assert record.error.code == "DEPENDENCY_REFUSED"
    assert "# failing: failed" in prefect.artifacts(state)["failing-summary"]["data"]


async def test_retries_happen_as_the_recipe_declares_them(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    project.use_endpoint(endpoint.base_url, SECRET)
    endpoint.script("error", times=2, status=503, message="busy")
    retry = "retry: {attempts: 3, delays_seconds: [0.1, 0.1]}"

    state = await build(prefect, project, HYBRID.format(name="retried", embed=retry))

    runs = prefect.task_runs(state, 5)
    assert (runs["embed_chunks"]["state_name"], runs["embed_chunks"]["run_count"]) == ("Completed", 3)
    assert runs["split_documents"]["run_count"] == 1


async def test_what_is_not_retryable_is_tried_once(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    project.use_endpoint(endpoint.base_url, SECRET)
    endpoint.script("unauthorized", times=None)
    retry = "retry: {attempts: 3, delays_seconds: [0.1, 0.1]}"

    state = await build(prefect, project, HYBRID.format(name="refused", embed=retry))

    assert prefect.task_runs(state, 3)["embed_chunks"]["run_count"] == 1


async def test_a_secret_stands_nowhere_in_prefect(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.use_endpoint(endpoint.base_url, "${FAKE_KEY}")
    monkeypatch.setenv("FAKE_KEY", SECRET)
    endpoint.script("unauthorized", times=None)

    state = await build(prefect, project, HYBRID.format(name="secret", embed=""))

    run_id = str(state.state_details.flow_run_id)
    told = [
        prefect.get(f"/flow_runs/{run_id}"),
        prefect.task_runs(state, 3),
        prefect.post("/artifacts/filter", {}),
        prefect.post("/logs/filter", {"logs": {"flow_run_id": {"any_": [run_id]}}}),
        prefect.post("/block_documents/filter", {"include_secrets": True}),
    ]
    store = Workspace.load(project.workspace, {"FAKE_KEY": SECRET}).object_store
    assert all(len(part) for part in told)
    assert SECRET not in json.dumps(told)
    assert all(SECRET.encode() not in store.get(key) for key in store.list("prefect-results"))


async def test_two_builds_at_once_give_one_conflict_that_fails_its_flow_run(
    prefect: PrefectServer, project: Project
) -> None:
    from lorebase.artifacts.lease import acquire_lease

    workspace = Workspace.load(project.workspace)
    with acquire_lease(
        workspace.object_store, BaseLayout("held").lease, holder="somebody", now=workspace.clock.now, seconds=60
    ):
        state = await build(prefect, project, FULL_TEXT.format(name="held"))

    with pytest.raises(ConflictError):
        await state.result()
    assert state.is_failed()
    assert "ConflictError" in prefect.flow_run(state)["state"]["message"]


async def test_an_invalid_recipe_fails_its_flow_run_and_leaves_nothing(
    prefect: PrefectServer, project: Project
) -> None:
    state = await build(prefect, project, FULL_TEXT.format(name="wrong") + "  - use: no_such_procedure\n")

    assert "InvalidRecipeError" in prefect.flow_run(state)["state"]["message"]
    assert Workspace.load(project.workspace).object_store.list("knowledge_bases") == []


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_example_recipe_compiles_into_a_flow_of_its_name(path: Path) -> None:
    from flows.compile import compile_recipe

    recipe = load_recipe(path)

    compiled = compile_recipe(recipe)

    assert compiled.name == f"build-{recipe.name}"
    assert compiled.isasync


async def test_a_compiled_recipe_builds(prefect: PrefectServer, project: Project) -> None:
    from flows.compile import BuildSettings, compile_recipe

    compiled = compile_recipe(load_recipe(Path(project.recipe(FULL_TEXT.format(name="compiled")))))

    async def act() -> Any:
        return await compiled(BuildSettings(workspace=str(project.workspace)), return_state=True)

    state = await prefect.run(act)

    assert (await state.result())["queries"] == ["full_text_search"]
    assert set(prefect.task_runs(state, 3)) == {"parse_documents", "split_documents", "index_full_text"}


def _record(project: Project, base_name: str) -> Any:
    journal = RunJournal(Workspace.load(project.workspace, {"FAKE_KEY": ""}).object_store, BaseLayout(base_name))
    run_id = journal.latest_run_id()
    assert run_id is not None
    return journal.read(run_id)
