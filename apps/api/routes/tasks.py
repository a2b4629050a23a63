"""Work on revisions outside of requests."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from apps.api.inputs import Body, PathId, QueryId, Reason
from apps.api.pages import FIRST_PAGE, PAGE_SIZE, PageNum, PageOf, PageSize
from apps.api.services import Caller, ServicesOf
from lorebase.governance.kinds import TaskStatus
from lorebase.governance.model import Task

router = APIRouter(prefix="/v1/tasks", tags=["tasks"])


class CancelTask(Body):
    """A task is taken back."""

    reason: Reason = ""


@router.get("")
def list_tasks(
    caller: Caller,
    services: ServicesOf,
    status: Annotated[TaskStatus | None, Query(description="Only in this status.")] = None,
    revision_id: QueryId = None,
    page_num: PageNum = FIRST_PAGE,
    page_size: PageSize = PAGE_SIZE,
) -> PageOf[Task]:
    """Tasks of the organisation, newest first."""
    found = services.governance.processing.list(
        caller, status=status, revision_id=revision_id, page_number=page_num, page_size=page_size
    )
    return PageOf[Task].of(found)


@router.get("/{task_id}")
def show_task(task_id: PathId, caller: Caller, services: ServicesOf) -> Task:
    """One task."""
    return services.governance.processing.get(caller, task_id)


@router.post("/{task_id}/cancel")
def cancel_task(task_id: PathId, body: CancelTask, caller: Caller, services: ServicesOf) -> Task:
    """Take back a task that no worker has begun; its revision counts as failed."""
    return services.governance.tasks.cancel(caller, task_id, reason=body.reason)
