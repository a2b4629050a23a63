"""Versions of a topic's content: drafts, review, and the work that makes them searchable."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from apps.api.inputs import Body, Change, IdempotencyKey, PathId, QueryId, QueryReason, QueryVersion, Reason, Version
from apps.api.pages import FIRST_PAGE, PAGE_SIZE, PageNum, PageOf, PageSize
from apps.api.services import Caller, ServicesOf
from lorebase.governance.content import MAX_FAQ_ENTRIES, MAX_METADATA_FIELDS
from lorebase.governance.drafts import DraftFields
from lorebase.governance.model import FaqEntry, Revision, Scalar, Task
from lorebase.governance.states import RevisionState

router = APIRouter(prefix="/v1", tags=["revisions"])

Tag = Annotated[str, Field(min_length=1, max_length=64)]


class Fields(Body):
    """What a draft says about its content; what is not given stays as it is."""

    tags: tuple[Tag, ...] | None = Field(None, max_length=20, examples=[["差旅", "expenses"]])
    description: str | None = Field(None, max_length=2000)
    source_type: str | None = Field(None, max_length=64, description="Class of the document in its knowledge base.")
    metadata: dict[str, Scalar] | None = Field(None, max_length=MAX_METADATA_FIELDS)
    reason: Reason = ""

    def as_fields(self) -> DraftFields:
        """The fields as the service takes them."""
        return DraftFields(self.tags, self.description, self.source_type, self.metadata)


class ChangedFields(Fields):
    """A change of a draft's fields."""

    version: Version


class FaqContent(Change):
    """FAQ entries that become the content of a draft."""

    entries: tuple[FaqEntry, ...] = Field(min_length=1, max_length=MAX_FAQ_ENTRIES)


class Rejection(Body):
    """A revision goes back to its author."""

    version: Version
    reason: str = Field(min_length=1, max_length=1000, description="Why; the author reads it.")


@router.post("/items/{item_id}/revisions", status_code=201)
def create_draft(item_id: PathId, body: Fields, caller: Caller, services: ServicesOf) -> Revision:
    """A new draft without content."""
    return services.governance.drafts.create(caller, item_id, body.as_fields(), reason=body.reason)


@router.get("/revisions")
def list_revisions(
    caller: Caller,
    services: ServicesOf,
    item_id: QueryId = None,
    status: Annotated[RevisionState | None, Query(description="REVIEWING is the reviewers' queue.")] = None,
    page_num: PageNum = FIRST_PAGE,
    page_size: PageSize = PAGE_SIZE,
) -> PageOf[Revision]:
    """Revisions, newest first."""
    found = services.governance.revisions.list(
        caller, item_id=item_id, status=status, page_number=page_num, page_size=page_size
    )
    return PageOf[Revision].of(found)


@router.get("/revisions/{revision_id}")
def show_revision(revision_id: PathId, caller: Caller, services: ServicesOf) -> Revision:
    """One revision."""
    return services.governance.revisions.get(caller, revision_id)


@router.patch("/revisions/{revision_id}")
def edit_draft(revision_id: PathId, body: ChangedFields, caller: Caller, services: ServicesOf) -> Revision:
    """Change what a draft says about its content."""
    return services.governance.drafts.edit(
        caller, revision_id, body.as_fields(), version=body.version, reason=body.reason
    )


@router.put("/revisions/{revision_id}/faq")
def set_faq(revision_id: PathId, body: FaqContent, caller: Caller, services: ServicesOf) -> Revision:
    """Make FAQ entries the content of a draft, in place of what it had."""
    return services.governance.drafts.set_faq(
        caller, revision_id, body.entries, version=body.version, reason=body.reason
    )


@router.delete("/revisions/{revision_id}", status_code=204)
def delete_revision(
    revision_id: PathId, version: QueryVersion, caller: Caller, services: ServicesOf, reason: QueryReason = ""
) -> None:
    """Delete a revision logically; its original and its history stay."""
    services.governance.revisions.delete(caller, revision_id, version=version, reason=reason)


@router.get(
    "/revisions/{revision_id}/original",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)
def read_original(revision_id: PathId, caller: Caller, services: ServicesOf) -> Response:
    """What was taken in, byte for byte; JSON for FAQ entries. Always a download, never shown by a browser."""
    revision = services.governance.revisions.get(caller, revision_id)
    content = services.governance.revisions.original(caller, revision_id)
    name = quote(revision.file_name or f"{revision.id}.json", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Content-Security-Policy": "sandbox"}
    return Response(content, media_type="application/octet-stream", headers=headers)


class CopyRequest(Body):
    """A copy of a revision."""

    reason: Reason = ""


@router.post("/revisions/{revision_id}/copy", status_code=201)
def copy_revision(revision_id: PathId, body: CopyRequest, caller: Caller, services: ServicesOf) -> Revision:
    """A new draft with the content of another revision, in whatever state that is."""
    return services.governance.drafts.copy(caller, revision_id, reason=body.reason)


@router.post("/revisions/{revision_id}/submit")
def submit_draft(revision_id: PathId, body: Change, caller: Caller, services: ServicesOf) -> Revision:
    """Give a draft to the reviewers; its content is fixed from here on."""
    return services.governance.review.submit(caller, revision_id, version=body.version, reason=body.reason)


@router.post("/revisions/{revision_id}/approve")
def approve_revision(revision_id: PathId, body: Change, caller: Caller, services: ServicesOf) -> Revision:
    """Pass a revision."""
    return services.governance.review.approve(caller, revision_id, version=body.version, reason=body.reason)


@router.post("/revisions/{revision_id}/reject")
def reject_revision(revision_id: PathId, body: Rejection, caller: Caller, services: ServicesOf) -> Revision:
    """Give a revision back to its author."""
    return services.governance.review.reject(caller, revision_id, version=body.version, reason=body.reason)


@router.post("/revisions/{revision_id}/{work}", status_code=202)
def request_work(
    revision_id: PathId,
    work: Literal["process", "retry", "reindex", "delete-index"],
    body: Change,
    caller: Caller,
    services: ServicesOf,
    idempotency_key: IdempotencyKey = "",
) -> Task:
    """Ask for work on a revision: processing, another try of it, its index again, or its index freed."""
    processing = services.governance.processing
    commands = {
        "process": processing.start,
        "retry": processing.retry,
        "reindex": processing.reindex,
        "delete-index": processing.delete_index,
    }
    key = idempotency_key or f"{work}-{revision_id}-{body.version}"
    return commands[work](caller, revision_id, version=body.version, idempotency_key=key, reason=body.reason)
