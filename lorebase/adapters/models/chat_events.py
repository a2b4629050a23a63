"""The events of a streamed chat completion as chunks: thought told from text, then the usage, then one finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import openai

from lorebase.adapters.models.chat_answers import CONTENT_FILTER, finish_of, text_of, usage_of
from lorebase.adapters.models.endpoint_errors import Fault, no_answer_of_the_api
from lorebase.adapters.models.openai_client import OpenAIEndpoint
from lorebase.errors import DependencyError, RateLimitedError, RefusedError, UnavailableError
from lorebase.models.chat_stream import (
    ERROR,
    STOP,
    FinishChunk,
    FinishReason,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    UsageChunk,
)
from lorebase.models.thinking import Part, ThinkingSplitter
from lorebase.models.token_estimate import estimate_tokens

_TEXT_BLOCK, _REASONING_BLOCK = 1, 0


class StreamReader:
    """Turns events into chunks.

    Args:
        expected_input_tokens: Stands for the usage of an endpoint that tells none.

    Attributes:
        usage: What the answer took; complete once `end` was called.
    """

    def __init__(self, expected_input_tokens: int) -> None:
        self.usage = TokenUsage()
        self._expected_input_tokens = expected_input_tokens
        self._told: TokenUsage | None = None
        self._finish = ""
        self._refusal = ""
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._splitter = ThinkingSplitter()

    def feed(self, event: Any) -> Iterator[StreamChunk]:  # noqa: ANN401 (built by the client without validation)
        """The chunks of one event."""
        self._told = usage_of(_as_mapping(getattr(event, "usage", None))) or self._told
        choices = getattr(event, "choices", None) or []
        if not choices:
            return
        choice = choices[0]
        delta = getattr(choice, "delta", None)
        thought = text_of(getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None))
        if thought:
            yield self._chunk(("reasoning", thought))
        self._refusal += text_of(getattr(delta, "refusal", None))
        for part in self._splitter.feed(text_of(getattr(delta, "content", None))):
            yield self._chunk(part)
        if getattr(choice, "finish_reason", None):
            self._finish = self._finish or finish_of(choice.finish_reason)

    def end(self) -> Iterator[StreamChunk]:
        """The last text, the usage, and the finish."""
        for part in self._splitter.end():
            yield self._chunk(part)
        self.usage = self._told or TokenUsage(
            self._expected_input_tokens,
            estimate_tokens("".join(self._texts)),
            reasoning_tokens=estimate_tokens("".join(self._thoughts)),
        )
        yield UsageChunk(self.usage)
        yield FinishChunk(self._reason())

    def _chunk(self, part: Part) -> StreamChunk:
        kind, text = part
        if kind == "reasoning":
            self._thoughts.append(text)
            return ReasoningDelta(_REASONING_BLOCK, text)
        self._texts.append(text)
        return TextDelta(_TEXT_BLOCK, text)

    def _reason(self) -> FinishReason:
        has_text = any(text.strip() for text in self._texts)
        if not self._finish:
            return FinishReason(ERROR, LlmFailure("INCOMPLETE_RESPONSE", "The stream ended without a finish."))
        if self._finish == CONTENT_FILTER:
            return FinishReason(ERROR, LlmFailure("DECLINED", "A content filter withheld the answer."))
        if self._refusal and not has_text:
            return FinishReason(ERROR, LlmFailure("DECLINED", "The model declined to answer."))
        if self._finish == ERROR:
            return FinishReason(ERROR, LlmFailure("PROVIDER_ERROR", "The model failed while it answered."))
        if self._finish == STOP and not has_text:
            return FinishReason(ERROR, LlmFailure("EMPTY_RESPONSE", "The model gave no text."))
        return FinishReason(self._finish)


class EventStream:
    """A stream whose first event has come.

    Args:
        events: The client's stream.
        endpoint: Whose errors they are.
        model: For the errors.
    """

    def __init__(self, events: Any, endpoint: OpenAIEndpoint, model: str) -> None:  # noqa: ANN401 (the client's generic)
        self._events = events
        self._iterator: AsyncIterator[Any] = aiter(events)
        self._endpoint = endpoint
        self._model = model
        self._first: Any = None

    @classmethod
    async def begun(cls, events: Any, endpoint: OpenAIEndpoint, model: str) -> EventStream:  # noqa: ANN401 (as above)
        """Wait for the first event, so that what fails before it can be sent again."""
        stream = cls(events, endpoint, model)
        try:
            stream._first = await stream._next()
        except BaseException:
            await events.close()
            raise
        return stream

    async def chunks(self, reader: StreamReader, *, until: float) -> AsyncGenerator[StreamChunk, None]:
        """All chunks.

        Args:
            reader: Turns events into chunks.
            until: The event loop's time at which the answer has to be whole.

        Raises:
            DependencyError: The connection broke off, the endpoint failed, or the time was over.
        """
        try:
            event = self._first
            while event is not None:
                for chunk in reader.feed(event):
                    yield chunk
                event = await self._next_until(until)
        finally:
            await self._events.close()
        for chunk in reader.end():
            yield chunk

    async def _next_until(self, until: float) -> Any:  # noqa: ANN401 (as above)
        scope = asyncio.timeout_at(until)
        try:
            async with scope:
                return await self._next()
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise UnavailableError(
                f"The endpoint {self._endpoint.name!r} did not finish its answer in time.",
                remedy="Look whether it is overloaded, or raise timeout_seconds of the endpoint.",
                dependency=self._endpoint.name,
            ) from error

    async def _next(self) -> Any:  # noqa: ANN401 (as above)
        """The next event; None at the end."""
        try:
            return await anext(self._iterator, None)
        except openai.APIError as error:
            raise self._endpoint.problem(error, self._model) from error
        except ValueError as error:  # an event that is no JSON
            raise no_answer_of_the_api(self._endpoint.name) from error


def failure_of(error: DependencyError) -> LlmFailure:
    """An error as the finish of a stream tells it."""
    status = error.facts.get("status")
    code = error.code
    if isinstance(error, RateLimitedError):
        code = "RATE_LIMIT"
    elif isinstance(error, RefusedError) and status in (401, 403):
        code = "AUTH"
    elif isinstance(error, RefusedError) and status == 429:  # noqa: PLR2004 (HTTP statuses are names)
        code = "QUOTA"
    elif isinstance(error, RefusedError) and error.facts.get("fault") == Fault.TOO_MANY_TOKENS:
        code = "CONTEXT_WINDOW_EXCEEDED"
    wait = error.facts.get("retry_after_seconds")
    return LlmFailure(
        code, str(error), status if isinstance(status, int) else None, wait if isinstance(wait, float) else None
    )


def _as_mapping(usage: Any) -> object:  # noqa: ANN401 (as above)
    return usage.model_dump() if hasattr(usage, "model_dump") else usage
