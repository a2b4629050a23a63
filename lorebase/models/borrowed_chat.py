"""A chat model that passes everything on to another, for those that count or bound its calls."""

from __future__ import annotations

from collections.abc import AsyncIterator

from lorebase.models.call_ledger import RemembersReplies
from lorebase.models.chat import ChatModel, ChatProfile, ChatReply, ChatRequest
from lorebase.models.chat_stream import StreamChunk


class BorrowedChat:
    """Somebody else's chat model: used here, closed by its owner.

    Args:
        model: Who is asked.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def profile(self) -> ChatProfile:
        """That of the model."""
        return self._model.profile

    @property
    def max_concurrency(self) -> int:
        """That of the model."""
        return self._model.max_concurrency

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The model's answer."""
        return await self._model.complete(request)

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        """The model's stream."""
        return self._model.stream(request)

    async def discard(self, request: ChatRequest) -> None:
        """Let a model with a memory forget a reply."""
        if isinstance(self._model, RemembersReplies):
            await self._model.discard(request)

    async def keep(self, request: ChatRequest, reply: ChatReply) -> None:
        """Let a model with a memory keep a reply."""
        if isinstance(self._model, RemembersReplies):
            await self._model.keep(request, reply)

    async def close(self) -> None:
        """Nothing to give back."""
