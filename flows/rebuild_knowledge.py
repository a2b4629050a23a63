"""The deployable flow that rebuilds a registered base: source, classification, extraction, cards, compilation."""

from __future__ import annotations

from typing import Any, Literal

from prefect import flow
from prefect.runtime import flow_run
from pydantic import BaseModel, ConfigDict, Field

from flows.events import BuildEvents
from flows.execution import PrefectExecutor
from flows.reporting import PrefectProgress
from flows.results import result_storage
from flows.watching import Broadcast, with_watchers
from flows.workspaces import opened_workspace
from lorebase.errors import BuildFailedError
from lorebase.registered_bases import open_bases, rebuild_base, rebuild_config
from lorebase.registry.rebuilding import RebuildReport


class RebuildOptions(BaseModel):
    """Which registered base is rebuilt, how, and where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str = Field(title="Knowledge base", description="Id of the base in the registry.", min_length=1)
    workspace: str = Field(
        ".lorebase",
        title="Workspace",
        description="Folder of the workspace, or block:NAME of a saved LorebaseWorkspace block.",
    )
    mode: Literal["rebuild", "resume"] = Field(
        "rebuild",
        title="Mode",
        description="rebuild derives everything again, from kept replies of models; resume goes on from what is "
        "finished.",
    )
    wait_seconds: float = Field(
        0, ge=0, title="Wait for another build", description="Seconds to wait for another build of the base to end."
    )
    run_id: str | None = Field(None, title="Run id", description="Id of the run; by default a new one.")


def _run_name() -> str:
    """What a run is called, such as "rebuild handbook"."""
    options = RebuildOptions.model_validate(flow_run.parameters["options"], from_attributes=True)
    return f"rebuild {options.base}"


@flow(name="rebuild-knowledge", flow_run_name=_run_name)
async def rebuild_knowledge(options: RebuildOptions) -> dict[str, Any]:
    """Derive a registered base again, each result in its own layer. Where people publish, nothing becomes visible.

    Args:
        options: Which base is rebuilt, how, and where.
    """
    async with opened_workspace(options.workspace) as workspace, result_storage(workspace) as results:
        report = await rebuild_base(
            open_bases(workspace).runtime_of(options.base),
            config=rebuild_config(resume=options.mode == "resume", wait_seconds=options.wait_seconds),
            executor=PrefectExecutor(options.base, results=results),
            progress=with_watchers(Broadcast((PrefectProgress(options.base), BuildEvents()))),
            run_id=options.run_id,
        )
    return succeeded(report).model_dump(mode="json")


def succeeded(report: RebuildReport) -> RebuildReport:
    """The report of a rebuild that succeeded.

    Raises:
        BuildFailedError: It did not; the facts hold the warnings word for word.
    """
    if report.status == "succeeded":
        return report
    raise BuildFailedError(
        f"The rebuild of {report.base_id!r} failed: {report.error or report.status}",
        remedy="Mend it and rebuild again: what is paid for stays paid for.",
        run_id=report.run_id,
        warnings=list(report.warnings),
    )
