"""Evidence for those who answer: from what is live of the caller's organisation, or that there is none."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from apps.api.connected import while_connected
from apps.api.inputs import Body, PathId
from apps.api.services import Caller, ServicesOf
from lorebase.governance.tags import MAX_TAG_CHARS, MAX_TAGS
from lorebase.retrieval.governed.citations import CitedChunk
from lorebase.retrieval.governed.evidence import RetrievalResult
from lorebase.retrieval.governed.request import DEFAULT_TOP_K, MAX_TOP_K, GovernedMode, RetrievalRequest
from lorebase.retrieval.request import MAX_QUERY_CHARS

router = APIRouter(prefix="/v1", tags=["retrieval"])

_SLUG = r"^[a-z0-9][a-z0-9-]{0,62}$"
_Tag = Annotated[str, Field(min_length=1, max_length=MAX_TAG_CHARS)]


class Question(Body):
    """What evidence is wanted for. The organisation is the caller's and stands nowhere in it."""

    base_id: str = Field(pattern=_SLUG, examples=["handbook"], description="The knowledge base.")
    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS, examples=["差旅费几天之内报销？"])
    top_k: int = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K, description="Most pieces of evidence.")
    all_tags: tuple[_Tag, ...] = Field((), max_length=MAX_TAGS, description="Evidence has all of these tags.")
    any_tags: tuple[_Tag, ...] = Field((), max_length=MAX_TAGS, description="Evidence has one of these tags.")
    mode: GovernedMode | None = Field(None, description="How to search; by default as the base can do best.")


@router.post("/retrieval")
async def retrieve(request: Request, body: Question, caller: Caller, services: ServicesOf) -> RetrievalResult:
    """Evidence with citations, or `NO_EVIDENCE`; a dependency that failed is 503 and never one of the two."""
    await services.require_items_in(caller, body.base_id)
    asked = RetrievalRequest.model_validate(body.model_dump())

    async def search() -> RetrievalResult:
        async with services.searching():
            return await services.knowledge.retrieval.retrieve(caller, asked)

    return await while_connected(request, search(), seconds=services.settings.search_seconds)


@router.get("/revisions/{revision_id}/chunks/{chunk_id}")
def resolve_citation(revision_id: PathId, chunk_id: PathId, caller: Caller, services: ServicesOf) -> CitedChunk:
    """What a citation stands for now: its text while it is live, otherwise that it was withdrawn."""
    return services.knowledge.citations.resolve(caller, revision_id, chunk_id)
