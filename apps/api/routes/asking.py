"""Searching a base without governance, and asking any base; a client that goes away stops the work."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.sse import format_sse_event
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from apps.api.connected import while_connected
from apps.api.inputs import BaseName, Body
from apps.api.services import Caller, Services, ServicesOf
from lorebase.answering.over_retrieval import AnsweredQuestion, AskOptions
from lorebase.governance.context import Capability
from lorebase.knowledge_base import KnowledgeBase
from lorebase.operation import Cancellation, OperationContext
from lorebase.presentation.reply_events import Delivery, publish_reply_events
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.request import DEFAULT_TOP_K, MAX_QUERY_CHARS, MAX_TOP_K

router = APIRouter(prefix="/v1/bases", tags=["asking"])

Ask = Callable[[OperationContext[None]], Awaitable[AnsweredQuestion]]

Mode = Literal[
    "vector_search", "full_text_search", "hybrid_search", "graph_search", "rerank_search", "rewrite_search",
    "multihop_search", "card_search", "faq_search",
]  # fmt: skip


STREAM_EVENT: dict[str, Any] = {
    "type": "object",
    "description": "One server-sent event; `data` is JSON.",
    "properties": {
        "event": {
            "type": "string",
            "enum": ["bubble_start", "text_delta", "bubble_end", "completed", "answered"],
        },
        "data": {"type": "string"},
    },
    "required": ["event", "data"],
}


class SearchRequest(Body):
    """What is searched for."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS, examples=["谁批准出国差旅？"])
    mode: Mode = "hybrid_search"
    top_k: int = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)


class AskRequest(Body):
    """What is asked."""

    question: str = Field(min_length=1, max_length=MAX_QUERY_CHARS, examples=["Who approves travel abroad?"])
    mode: Mode | None = Field(None, description="Query mode of the search; by default the best that asks no model.")
    generator: Literal["auto", "chat", "extractive"] = "auto"
    review: Literal["required", "optional", "off"] | None = None
    max_calls: int = Field(20, ge=0, le=200, description="Most calls to the chat model.")
    routes: bool = Field(default=True, description="Whether a text that asks for another thing is told what to use.")

    def as_options(self) -> AskOptions:
        """The options as the answerer takes them."""
        return AskOptions.model_validate(self.model_dump(exclude={"question"}))


@router.post("/{name}/search")
async def search_base(
    request: Request, name: BaseName, body: SearchRequest, caller: Caller, services: ServicesOf
) -> QueryResult:
    """Search what is live of a base; every result says where it stands."""
    base = await _base_of(caller, services, name)

    async def search() -> QueryResult:
        async with services.searching():
            return await base.query(body.query, mode=body.mode, top_k=body.top_k)

    return await while_connected(request, search(), seconds=services.settings.search_seconds)


@router.post("/{name}/ask")
async def ask_base(
    request: Request, name: BaseName, body: AskRequest, caller: Caller, services: ServicesOf
) -> AnsweredQuestion:
    """Answer a question with numbered citations, or say that there is no evidence.

    Where the caller's organisation has governed items in the base, what is live of them answers; otherwise what was
    built. Where a person has to answer, `takeover` says whether operators were told.
    """
    ask = await _asking_of(caller, services, name, body)
    return await _answered(request, ask, services, Cancellation())


@router.post(
    "/{name}/ask/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": STREAM_EVENT}}}},
)
async def stream_answer(
    request: Request, name: BaseName, body: AskRequest, caller: Caller, services: ServicesOf
) -> StreamingResponse:
    """Answer a question as server-sent events: bubbles and text deltas, `completed`, then `answered` with the whole.

    The stream begins when the answer has passed its checks; until then errors have their own status.
    """
    ask = await _asking_of(caller, services, name, body)
    signal = Cancellation()
    answered = await _answered(request, ask, services, signal)
    return StreamingResponse(_events(answered, signal), media_type="text/event-stream")


async def _base_of(caller: Caller, services: Services, name: str) -> KnowledgeBase:
    caller.require(Capability.READ)
    return await services.bases.of(caller, name)


async def _asking_of(caller: Caller, services: Services, name: str, body: AskRequest) -> Ask:
    """Who answers: governed knowledge where the organisation has any in the base."""
    options = body.as_options()
    if await run_in_threadpool(services.governance.items.has_any, caller, name):
        governed = services.knowledge.asking
        return lambda context: governed.ask(caller, name, body.question, options=options, context=context)
    base = await _base_of(caller, services, name)
    return lambda context: base.ask(body.question, options=options, context=context)


async def _answered(request: Request, ask: Ask, services: Services, signal: Cancellation) -> AnsweredQuestion:
    work = ask(OperationContext(app=None, signal=signal))
    async with services.indexes.used():
        return await while_connected(request, work, seconds=services.settings.ask_seconds, signal=signal)


async def _events(answered: AnsweredQuestion, signal: Cancellation) -> AsyncGenerator[bytes, None]:
    """The events on the wire; the server ends this generator when the client goes away."""
    events = publish_reply_events(answered.text, OperationContext(app=None, signal=signal), delivery=Delivery())
    try:
        async for event in events:
            yield format_sse_event(event=event.type, data_str=event.model_dump_json())
    finally:
        signal.cancel("the stream has ended")
        await events.aclose()
    yield format_sse_event(event="answered", data_str=answered.model_dump_json())
