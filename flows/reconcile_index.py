"""The deployable flow that brings the index of a governed base in line with its releases and manifests."""

from __future__ import annotations

from typing import Any

from prefect import flow
from pydantic import Field

from flows.governed import OrganOptions, flow_caller, governed_knowledge
from lorebase.governance.context import Capability


class ReconcileOptions(OrganOptions):
    """The base that is looked at."""

    base: str = Field(title="Knowledge base", description="Its name.", min_length=1)
    reindex: bool = Field(
        default=False,
        title="Index again",
        description="Make tasks that index again what only that can mend, as after a change of the embedding model.",
    )


@flow(name="reconcile-index")
async def reconcile_index(options: ReconcileOptions) -> dict[str, Any]:
    """Compare every entity of the organisation in the base with the rows, and repair what differs.

    Args:
        options: The base.
    """
    async with governed_knowledge(options) as knowledge:
        caller = flow_caller(options, Capability.PUBLISH, Capability.PROCESS)
        report = await knowledge.reconciling.reconcile_base(
            caller, options.base, reason="flow reconcile-index", reindex=options.reindex
        )
        return report.model_dump(mode="json")
