"""What the flows of governed knowledge share: they open it, and nothing they say holds a word of a document.

Their parameters and results are names and ids, because Prefect keeps and shows those. An exception may quote a
document, a request or a key, so only its code leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from prefect.runtime import flow_run
from pydantic import BaseModel, ConfigDict, Field

from flows.workspaces import open_workspace
from lorebase.errors import GovernedWorkError, LorebaseError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import Task
from lorebase.governed_knowledge import GovernedKnowledge


class GovernedOptions(BaseModel):
    """Where a flow works."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace: str = Field(
        ".lorebase", title="Workspace", description="Its folder, or block:NAME of a saved LorebaseWorkspace block."
    )


class OrganOptions(GovernedOptions):
    """Where a flow works, and for which organisation."""

    organ_id: int = Field(1, ge=1, lt=1 << 63, title="Organisation")


class RevisionOptions(OrganOptions):
    """The revision that a flow works on."""

    revision_id: int = Field(ge=1, lt=1 << 63, title="Revision", description="Its id.")


@asynccontextmanager
async def governed_knowledge(options: GovernedOptions) -> AsyncIterator[GovernedKnowledge]:
    """Governed knowledge of the options' workspace.

    Raises:
        GovernedWorkError: Whatever went wrong, by its code alone.
    """
    try:
        async with await GovernedKnowledge.open(await open_workspace(options.workspace)) as knowledge:
            yield knowledge
    except LorebaseError as error:
        raise _sanitised(error.code) from None
    except Exception as error:  # noqa: BLE001 (nothing goes on: it is raised without its words)
        raise _sanitised(type(error).__name__) from None


async def done_for_revision(
    options: RevisionOptions, request: Callable[[GovernedKnowledge, RevisionOptions], Task]
) -> dict[str, Any]:
    """Ask for work on a revision and do it; work that goes on already is waited for by none.

    Args:
        options: The revision.
        request: Makes the task, or finds it; blocks.
    """
    async with governed_knowledge(options) as knowledge:
        task = await asyncio.to_thread(request, knowledge, options)
        return outcome_of(await knowledge.worker(worker_name()).run_next(task.id) or task)


def flow_caller(options: OrganOptions, *capabilities: Capability) -> PrincipalContext:
    """The flow run as a caller: who may run the flow may do what it does."""
    run_id = str(flow_run.id or "")
    return PrincipalContext(
        organ_id=options.organ_id,
        user_id="flow",
        capabilities=frozenset({Capability.READ, *capabilities}),
        trace_id=run_id,
        request_id=run_id,
    )


def worker_name() -> str:
    """A worker's name for this flow run."""
    return f"flow-{flow_run.id or 'local'}"


def outcome_of(task: Task) -> dict[str, Any]:
    """How a task ended: ids, states and a code of the catalogue."""
    return {
        "task_id": str(task.id),
        "kind": task.kind.value,
        "revision_id": str(task.revision_id),
        "status": task.status.value,
        "attempts": task.attempts,
        "error_code": task.error_code,
    }


def _sanitised(cause: str) -> GovernedWorkError:
    return GovernedWorkError(
        f"The work on governed knowledge failed: {cause}.",
        remedy="Look at the task, and run the command on the machine to see more.",
        cause=cause,
    )
