"""Topics of governed knowledge."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from apps.api.inputs import Body, Change, PathId, QueryReason, QueryVersion, Reason
from apps.api.pages import FIRST_PAGE, PAGE_SIZE, PageNum, PageOf, PageSize
from apps.api.services import Caller, ServicesOf
from lorebase.governance.model import AuditEntry, Item

router = APIRouter(prefix="/v1/items", tags=["items"])


class NewItem(Body):
    """A topic to make."""

    base_id: str = Field(min_length=1, max_length=64, examples=["handbook"], description="Its knowledge base.")
    knowledge_key: str = Field(
        min_length=1, max_length=128, examples=["travel-expenses"], description="Names it in the organisation for ever."
    )
    title: str = Field(min_length=1, max_length=255, examples=["差旅费报销"])
    description: str = Field("", max_length=2000)
    reason: Reason = ""


@router.post("", status_code=201)
def create_item(body: NewItem, caller: Caller, services: ServicesOf) -> Item:
    """Make a topic with its release row; nothing of it is live yet."""
    return services.governance.items.create(caller, **body.model_dump())


@router.get("")
def list_items(
    caller: Caller,
    services: ServicesOf,
    base_id: Annotated[str | None, Query(max_length=64, description="Only of this knowledge base.")] = None,
    deleted: Annotated[bool, Query(description="The deleted ones instead.")] = False,  # noqa: FBT002 (a query parameter)
    page_num: PageNum = FIRST_PAGE,
    page_size: PageSize = PAGE_SIZE,
) -> PageOf[Item]:
    """Topics of the organisation, oldest first."""
    found = services.governance.items.list(
        caller, base_id=base_id, deleted=deleted, page_number=page_num, page_size=page_size
    )
    return PageOf[Item].of(found)


@router.get("/{item_id}")
def show_item(item_id: PathId, caller: Caller, services: ServicesOf) -> Item:
    """One topic."""
    return services.governance.items.get(caller, item_id)


@router.delete("/{item_id}", status_code=204)
def delete_item(
    item_id: PathId, version: QueryVersion, caller: Caller, services: ServicesOf, reason: QueryReason = ""
) -> None:
    """Delete a topic logically; its history, its originals and its key stay."""
    services.governance.items.delete(caller, item_id, version=version, reason=reason)


@router.post("/{item_id}/restore")
def restore_item(item_id: PathId, body: Change, caller: Caller, services: ServicesOf) -> Item:
    """Take back the deletion of a topic."""
    return services.governance.items.restore(caller, item_id, version=body.version, reason=body.reason)


@router.get("/{item_id}/history")
def item_history(
    item_id: PathId,
    caller: Caller,
    services: ServicesOf,
    page_num: PageNum = FIRST_PAGE,
    page_size: PageSize = PAGE_SIZE,
) -> PageOf[AuditEntry]:
    """Every command on a topic and its revisions, newest first: who, when, why, in which trace."""
    found = services.governance.revisions.history(caller, item_id, page_number=page_num, page_size=page_size)
    return PageOf[AuditEntry].of(found)
