"""The organisation's dictionary of tags."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from apps.api.inputs import Body, Change, PathId, QueryReason, QueryVersion, Reason
from apps.api.pages import FIRST_PAGE, PAGE_SIZE, PageNum, PageOf, PageSize
from apps.api.services import Caller, ServicesOf
from lorebase.governance.model import Tag

router = APIRouter(prefix="/v1/tags", tags=["tags"])


class NewTag(Body):
    """A tag to add."""

    name: str = Field(min_length=1, max_length=64, examples=["差旅"])
    description: str = Field("", max_length=255)
    reason: Reason = ""


class RenamedTag(Change):
    """Another name for a tag."""

    name: str = Field(min_length=1, max_length=64)


@router.post("", status_code=201)
def add_tag(body: NewTag, caller: Caller, services: ServicesOf) -> Tag:
    """Add a tag."""
    return services.governance.tags.add(caller, body.name, description=body.description, reason=body.reason)


@router.get("")
def list_tags(
    caller: Caller, services: ServicesOf, page_num: PageNum = FIRST_PAGE, page_size: PageSize = PAGE_SIZE
) -> PageOf[Tag]:
    """The dictionary, by name."""
    return PageOf[Tag].of(services.governance.tags.list(caller, page_number=page_num, page_size=page_size))


@router.patch("/{tag_id}")
def rename_tag(tag_id: PathId, body: RenamedTag, caller: Caller, services: ServicesOf) -> Tag:
    """Rename a tag; revisions keep the names they carry."""
    return services.governance.tags.rename(caller, tag_id, body.name, version=body.version, reason=body.reason)


@router.delete("/{tag_id}", status_code=204)
def delete_tag(
    tag_id: PathId, version: QueryVersion, caller: Caller, services: ServicesOf, reason: QueryReason = ""
) -> None:
    """Take a tag out of the dictionary; its name becomes free."""
    services.governance.tags.delete(caller, tag_id, version=version, reason=reason)
