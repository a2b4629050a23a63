"""The deployable flow that processes one revision: parse, cut, embed, stage, compare."""

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
    return f"process revision {options.revision_id}"


@flow(name="process-revision", flow_run_name=_run_name)
async def process_revision(options: RevisionOptions) -> dict[str, Any]:
    """Ask for the work on an approved revision, or for another try, and do it; work that goes on is waited for by none.

    Args:
        options: The revision.
    """
    return await done_for_revision(options, _requested)


def _requested(knowledge: GovernedKnowledge, options: RevisionOptions) -> Task:
    return knowledge.governance.processing.ensure(
        flow_caller(options, Capability.PROCESS), options.revision_id, reason="flow process-revision"
    )
