"""From a recipe to the Prefect flow that builds it, and the build that every such flow runs."""

from __future__ import annotations

from typing import Any, Literal

from prefect import Flow, flow
from pydantic import BaseModel, ConfigDict, Field

from flows.drafting import draft_sources
from flows.events import BuildEvents
from flows.execution import PrefectExecutor
from flows.execution_elsewhere import OtherProcesses
from flows.observing import observed
from flows.reporting import PrefectProgress
from flows.results import result_storage
from flows.task_runners import groups_at_once, started_task_runner
from flows.watching import Broadcast, with_watchers
from flows.workspaces import opened_workspace
from lorebase.errors import BuildFailedError
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.model import ExecutionSpec, KnowledgeRecipe
from lorebase.runs.builder import KnowledgeBaseBuilderConfig
from lorebase.runs.planning import WEIGHT_OF_A_TASK_RUN
from lorebase.runs.records import RecipeRunRecord, StepCounts


class BuildSettings(BaseModel):
    """How and where one recipe is built."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace: str = Field(
        ".lorebase",
        title="Workspace",
        description="Folder of the workspace, or block:NAME of a saved LorebaseWorkspace block.",
    )
    mode: Literal["resume", "rebuild"] = Field(
        "resume",
        title="Mode",
        description="resume goes on from what is finished; rebuild does everything again.",
    )
    wait_seconds: float = Field(
        0,
        ge=0,
        title="Wait for another build",
        description="Seconds to wait for another build of the same knowledge base to end before giving up.",
    )
    stop_on_error: bool = Field(
        default=True, title="Stop at the first failure", description="Whether the first step that fails ends the build."
    )
    run_id: str | None = Field(None, title="Run id", description="Id of the run; by default a new one.")
    organ_id: int = Field(
        1, ge=1, lt=1 << 63, title="Organisation", description="Whose drafts a governed recipe makes."
    )
    task_runner: Literal["threads", "processes", "dask", "ray"] | None = Field(
        None, title="Task runner", description="Where task runs run; by default what the recipe says."
    )
    workers: int | None = Field(
        None,
        ge=1,
        le=1024,
        title="Workers",
        description="Processes of the task runner; by default what the recipe says.",
    )
    cluster_address: str = Field(
        "",
        title="Cluster",
        description="Address of a Dask scheduler or Ray cluster that runs already; without one it is started here.",
    )

    issue_limit: int | None = Field(
        None,
        ge=0,
        title="Issue limit",
        description="Issues above which the event lorebase.build.issues-above-limit is emitted; by default none is.",
    )

    def execution_of(self, recipe: KnowledgeRecipe) -> ExecutionSpec:
        """The recipe's execution, with what is said here in place of what it says."""
        said = {"task_runner": self.task_runner, "workers": self.workers}
        given = {name: value for name, value in said.items() if value is not None}
        return recipe.execution.model_copy(update=given)


def compile_recipe(recipe: KnowledgeRecipe) -> Flow[[BuildSettings], Any]:
    """The Prefect flow that builds a recipe; its task runs are the recipe's steps.

    Raises:
        InvalidRecipeError: The recipe has faults.
    """
    recipe.validate()

    async def build(settings: BuildSettings = BuildSettings()) -> dict[str, Any]:  # noqa: B008 (frozen)
        return await run_build(recipe, settings)

    build.__doc__ = recipe.description or f"Build the knowledge base {recipe.name}."
    return flow(name=f"build-{recipe.name}", version=recipe.fingerprint[:12], validate_parameters=True)(build)


async def run_build(recipe: KnowledgeRecipe, settings: BuildSettings) -> dict[str, Any]:
    """Build a recipe in the flow run that this is called in; a governed one becomes drafts.

    Returns:
        A small summary: run id, status, snapshot id, counts.

    Raises:
        BuildFailedError: A step failed; the first cause is its message.
        ConflictError: Another build of the base goes on.
        ConfigurationError: The task runner is not installed.
        LorebaseError: As `RecipeBuilder.build`.
    """
    if recipe.governance == "reviewed":
        return await draft_sources(recipe, settings.workspace, settings.organ_id)
    execution, cluster = settings.execution_of(recipe), settings.cluster_address
    config = KnowledgeBaseBuilderConfig(
        rebuild=settings.mode == "rebuild",
        stop_on_error=settings.stop_on_error,
        wait_seconds=settings.wait_seconds,
        task_run_weight=execution.chunks_per_task_run or WEIGHT_OF_A_TASK_RUN,
    )
    with observed():
        async with (
            opened_workspace(settings.workspace) as workspace,
            result_storage(workspace) as results,
            started_task_runner(execution, cluster) as runner,
        ):
            executor = PrefectExecutor(recipe.name, results=results)
            if runner is not None:
                at_once = groups_at_once(execution, cluster)
                elsewhere = OtherProcesses(runner, recipe, workspace, settings.workspace, results, at_once=at_once)
                executor = PrefectExecutor(recipe.name, results=results, concurrency=at_once, elsewhere=elsewhere)
            result = await KnowledgeBase(recipe.name, workspace).rebuild(
                recipe,
                config=config,
                executor=executor,
                progress=with_watchers(Broadcast((PrefectProgress(recipe.name), BuildEvents(settings.issue_limit)))),
                run_id=settings.run_id,
            )
    record = result.record
    if record.status != "succeeded":
        raise _failure_of(recipe.name, record)
    return _summary_of(record)


def _failure_of(base_name: str, record: RecipeRunRecord) -> BuildFailedError:
    failed = next((step for step in record.step_records if step.status == "failed"), None)
    error = record.error or (failed.error if failed else None)
    where = f" at {failed.step_name}" if failed else ""
    return BuildFailedError(
        f"The build of {base_name!r} failed{where}: {error.message if error else record.status}",
        remedy=(error.remedy if error else "") or "Mend it and build again: what is finished stays finished.",
        run_id=record.run_id,
        cause=error.code if error else "",
    )


def _summary_of(record: RecipeRunRecord) -> dict[str, Any]:
    totals = sum((step.counts for step in record.step_records), StepCounts())
    return {
        "run_id": record.run_id,
        "status": record.status,
        "snapshot_id": record.snapshot_id,
        "queries": list(record.capabilities.queries),
        "steps": {step.step_name: step.status for step in record.step_records},
        "artifacts": {name: reference.rows for name, reference in record.artifacts.items()},
        "task_runs": totals.task_runs,
        "model_calls": totals.model_calls,
        "input_tokens": totals.input_tokens,
        "issues_by_code": record.issues_by_code,
    }
