"""The deployable flow that works on due tasks of all organisations; on a schedule it is the worker of a workspace."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.artifacts import acreate_table_artifact
from pydantic import Field

from flows.governed import GovernedOptions, governed_knowledge, outcome_of, worker_name

TASKS_KEY = "governed-tasks"


class DispatchOptions(GovernedOptions):
    """Which workspace, and how much of its work one run takes on."""

    max_tasks: int = Field(100, ge=1, le=10_000, title="Most tasks of one run")


@flow(name="dispatch-tasks")
async def dispatch_tasks(options: DispatchOptions) -> dict[str, Any]:
    """Claim due tasks by lease, one after the other, and work on each; several runs share the work.

    Args:
        options: Which workspace, and how much.
    """
    async with governed_knowledge(options) as knowledge:
        ended = await knowledge.worker(worker_name()).run_due(options.max_tasks)
    outcomes = [outcome_of(task) for task in ended]
    if outcomes:
        await acreate_table_artifact(table=outcomes, key=TASKS_KEY, description="Tasks of the latest run")
    return {"tasks": len(outcomes), "failed": sum(outcome["status"] == "FAILED" for outcome in outcomes)}
