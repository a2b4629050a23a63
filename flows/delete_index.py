"""The deployable flow that frees the index of a revision that is not live. Its original and its history stay."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from flows.governed import RevisionOptions, done_for_revision, flow_caller
from lorebase.governance.context import Capability
from lorebase.governance.model import Task
from lorebase.governed_knowledge import GovernedKnowledge


def _run_name() -> str:
    options = RevisionOptions.model_validate(flow_run.parameters["options"], from_attributes=True)
    return f"delete index of {options.revision_id}"


@flow(name="delete-index", flow_run_name=_run_name)
async def delete_index(options: RevisionOptions) -> dict[str, Any]:
    """Ask for the index of a revision to be freed, and do it; a rollback to it needs a reindex first.

    Args:
        options: The revision.
    """
    return await done_for_revision(options, _requested)


def _requested(knowledge: GovernedKnowledge, options: RevisionOptions) -> Task:
    caller = flow_caller(options, Capability.PROCESS)
    revision = knowledge.governance.revisions.get(caller, options.revision_id)
    return knowledge.governance.processing.delete_index(
        caller,
        revision.id,
        version=revision.version,
        idempotency_key=f"flow-{caller.request_id or revision.version}-{revision.id}",
        reason="flow delete-index",
    )
