"""A chat model over any endpoint that speaks OpenAI's chat completions API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, TypeVar, cast

from openai import AsyncOpenAI

from lorebase.adapters.models.chat_answers import ChatAnswer, read_chat_answer, reply_of
from lorebase.adapters.models.chat_dialect import DialectMemory
from lorebase.adapters.models.chat_events import EventStream, StreamReader, failure_of
from lorebase.adapters.models.endpoint_queue import CallCount
from lorebase.adapters.models.openai_client import OpenAIEndpoint
from lorebase.errors import DependencyError, RefusedError
from lorebase.models.chat import ChatProfile, ChatReply, ChatRequest, expected_usage
from lorebase.models.chat_stream import ERROR, FinishChunk, FinishReason, StreamChunk
from lorebase.models.ports import ModelUsage
from lorebase.models.token_estimate import estimate_tokens

ResultT = TypeVar("ResultT")


class OpenAIChat:
    """Chat model over an `OpenAIEndpoint`.

    Args:
        profile: What answers.
        endpoint: Where requests go.
    """

    def __init__(self, profile: ChatProfile, endpoint: OpenAIEndpoint) -> None:
        self._profile = profile
        self._endpoint = endpoint
        self._memory = DialectMemory(endpoint.config, profile.model)

    def __repr__(self) -> str:
        return f"OpenAIChat({self._profile.model!r}, {self._endpoint!r})"

    @property
    def profile(self) -> ChatProfile:
        """What answers."""
        return self._profile

    @property
    def max_concurrency(self) -> int:
        """As many as the endpoint is configured for."""
        return self._endpoint.config.max_concurrency

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The whole answer; a schema is enforced as far as the endpoint can."""
        count = CallCount()

        async def send(client: AsyncOpenAI, body: dict[str, Any]) -> ChatAnswer:
            completions = cast("Any", client.chat.completions)  # its overloads do not take a body as one mapping
            response = await completions.with_raw_response.create(**body, extra_headers=_headers(request))
            answer = read_chat_answer(response.content, self._endpoint.name)
            if not isinstance(answer, ChatAnswer):
                raise self._endpoint.problem_of_body(answer, self._profile.model)
            return answer

        try:
            async with self._asked(request, send, count, stream=False) as answer:
                usage = self._usage(request, answer, count)
        except DependencyError as error:
            error.facts["calls"] = count.calls
            raise
        return reply_of(answer, usage, endpoint=self._endpoint.name, model=self._profile.model)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        """The answer piece by piece. It is sent again only as long as nothing of it has come."""
        count = CallCount()
        seconds = self._endpoint.config.timeout_seconds
        began_at: list[float] = []

        async def send(client: AsyncOpenAI, body: dict[str, Any]) -> EventStream:
            began_at.append(asyncio.get_running_loop().time())
            completions = cast("Any", client.chat.completions)
            events = await completions.create(**body, extra_headers=_headers(request))
            return await EventStream.begun(events, self._endpoint, self._profile.model)

        try:
            async with self._asked(request, send, count, stream=True) as events:
                reader = StreamReader(expected_usage(self._profile, request).input_tokens)
                async with aclosing(events.chunks(reader, until=began_at[0] + seconds)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                self._endpoint.charge(reader.usage.as_model_usage(0).output_tokens)
        except DependencyError as error:
            yield FinishChunk(FinishReason(ERROR, failure_of(error)))

    async def close(self) -> None:
        """Give the running event loop's connections back."""
        await self._endpoint.close()

    @asynccontextmanager
    async def _asked(
        self,
        request: ChatRequest,
        send: Callable[[AsyncOpenAI, dict[str, Any]], Awaitable[ResultT]],
        count: CallCount,
        *,
        stream: bool,
    ) -> AsyncIterator[ResultT]:
        """What `send` gave, in the best dialect that the endpoint takes."""
        dialect = self._memory.dialect
        tokens = expected_usage(self._profile, request).input_tokens
        while True:
            body = dialect.body_of(request, self._profile, stream=stream)

            async def in_dialect(client: AsyncOpenAI, body: dict[str, Any] = body) -> ResultT:
                return await send(client, body)

            async with AsyncExitStack() as stack:
                opening = self._endpoint.opened(in_dialect, model=self._profile.model, tokens=tokens, count=count)
                try:
                    result = await stack.enter_async_context(opening)
                except RefusedError as refusal:
                    other = dialect.after(refusal, body)
                    if other is None:
                        raise
                    dialect = other
                    continue
                self._memory.remember(dialect)
                yield result
                return

    def _usage(self, request: ChatRequest, answer: ChatAnswer, count: CallCount) -> ModelUsage:
        """What the endpoint says, or an estimate that would rather be too high; the limiter is told of it."""
        if answer.usage is not None:
            usage = answer.usage.as_model_usage(count.calls)
        else:
            sent = expected_usage(self._profile, request).input_tokens
            usage = ModelUsage(count.calls, sent, estimate_tokens(answer.text) + estimate_tokens(answer.reasoning))
        self._endpoint.charge(usage.output_tokens)
        return usage


def _headers(request: ChatRequest) -> dict[str, str]:
    return {"X-Session-Id": request.session_id} if request.session_id else {}
