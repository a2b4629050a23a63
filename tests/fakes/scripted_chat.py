"""A chat model that answers by a function of the request, counts what it is asked, and fails on order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from lorebase.errors import LorebaseError
from lorebase.models.chat import ChatProfile, ChatReply, ChatRequest
from lorebase.models.chat_stream import (
    ERROR,
    STOP,
    FinishChunk,
    FinishReason,
    LlmFailure,
    StreamChunk,
    TextDelta,
    TokenUsage,
    UsageChunk,
)
from lorebase.models.token_estimate import estimate_tokens

SCRIPTED = ChatProfile("fake", "scripted")
Answer = str | LorebaseError | ChatReply
"""A text, an error to raise, or a whole reply."""


def echo(request: ChatRequest) -> Answer:
    """The last thing the user said."""
    return request.turns[-1].text


class ScriptedChat:
    """A `ChatModel` without a model.

    Args:
        answer: Gives the answer to a request. A sequence of answers is used up in order; the last one stays.
        profile: What it calls itself.
        max_concurrency: What it says it takes on at once.

    Attributes:
        requests: Everything it was asked, in order.
        closed: Whether it was closed.
    """

    def __init__(
        self,
        answer: Callable[[ChatRequest], Answer] | Sequence[Answer] = echo,
        *,
        profile: ChatProfile = SCRIPTED,
        max_concurrency: int = 8,
    ) -> None:
        self._answer = answer
        self._profile = profile
        self._max_concurrency = max_concurrency
        self.requests: list[ChatRequest] = []
        self.closed = False

    @property
    def profile(self) -> ChatProfile:
        return self._profile

    @property
    def max_concurrency(self) -> int:
        return self._max_concurrency

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    async def complete(self, request: ChatRequest) -> ChatReply:
        answer = self._next(request)
        if isinstance(answer, LorebaseError):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        return ChatReply.of(answer, _tokens(request, answer).as_model_usage(1), STOP)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        answer = self._next(request)
        if isinstance(answer, LorebaseError):
            yield FinishChunk(FinishReason(ERROR, LlmFailure(answer.code, answer.message)))
            return
        text, finish = (answer.text, answer.finish) if isinstance(answer, ChatReply) else (answer, STOP)
        for start in range(0, len(text), 8):
            yield TextDelta(0, text[start : start + 8])
        yield UsageChunk(_tokens(request, text))
        yield FinishChunk(FinishReason(finish))

    async def close(self) -> None:
        self.closed = True

    def _next(self, request: ChatRequest) -> Answer:
        self.requests.append(request)
        if callable(self._answer):
            return self._answer(request)
        return self._answer[min(self.calls, len(self._answer)) - 1]


def _tokens(request: ChatRequest, text: str) -> TokenUsage:
    sent = estimate_tokens(request.system) + sum(estimate_tokens(turn.text) for turn in request.turns)
    return TokenUsage(sent, estimate_tokens(text))
