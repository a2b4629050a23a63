"""Replies that are paid for: kept by request, given again to an equal one, asked for once by callers side by side."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from dataclasses import replace
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.errors import LorebaseError, NotFoundError
from lorebase.fingerprint import fingerprint
from lorebase.models.chat import ChatModel, ChatProfile, ChatReply, ChatRequest
from lorebase.models.chat_stream import STOP, FinishChunk, FinishReason, StreamChunk, TextDelta, TokenUsage, UsageChunk
from lorebase.models.ports import ModelUsage


class ReplyObjects(Protocol):
    """Named byte strings, blocking: the two calls of an object store that a call ledger makes."""

    def get(self, key: str) -> bytes:
        """The object.

        Raises:
            NotFoundError: There is none.
        """
        ...

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Write it whole or not at all."""
        ...

    def delete(self, keys: list[str]) -> None:
        """Remove objects; one that is not there is no error."""
        ...


class MemoryObjects:
    """Reply objects that end with the process."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def get(self, key: str) -> bytes:
        """The object."""
        if key not in self._objects:
            raise NotFoundError(f"There is no object {key}.")
        return self._objects[key]

    def keys(self) -> list[str]:
        """Names of what there is."""
        return list(self._objects)

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Keep it."""
        del durable
        self._objects[key] = content

    def delete(self, keys: list[str]) -> None:
        """Forget objects."""
        for key in keys:
            self._objects.pop(key, None)


class Settling(Protocol):
    """Is told what a call took."""

    def settle(self, usage: ModelUsage) -> None:
        """Say what the call took in the end."""
        ...


CallGate = Callable[[ChatRequest], AbstractAsyncContextManager[Settling]]
"""Entered before a call is paid for, left when its reply is kept: where a budget refuses."""


@runtime_checkable
class RemembersReplies(Protocol):
    """A chat model that gives an equal request its old reply, and can be told which replies were good."""

    async def discard(self, request: ChatRequest) -> None:
        """Forget the reply to a request: it was of no use."""
        ...

    async def keep(self, request: ChatRequest, reply: ChatReply) -> None:
        """Take a reply, got in another way, for the reply to this request."""
        ...


class _KeptReply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str
    finish: str


class CallLedger:
    """Replies by key, over reply objects. Safe for several event loops and threads.

    Args:
        objects: Where replies are kept.
        folder: Before their keys.
        reads: Whether kept replies are given out; otherwise they are only written, as a build does that does all anew.
    """

    def __init__(self, objects: ReplyObjects | None = None, folder: str = "calls", *, reads: bool = True) -> None:
        self._objects = objects or MemoryObjects()
        self._folder = folder
        self._reads = reads
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[ChatReply | None]] = {}
        self._usage = ModelUsage()

    @property
    def usage(self) -> ModelUsage:
        """What went through it so far: calls that were paid for, their tokens, and calls that it answered."""
        with self._lock:
            return self._usage

    async def reply(self, key: str, ask: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
        """The kept reply, that of an equal call under way, or that of `ask`.

        A call under way that fails fails for everybody who waits for it; one that is cancelled is made again by one of
        those who waited.

        Args:
            key: Identity of model and request.
            ask: Makes the call and keeps its reply.
        """
        while True:
            with self._lock:
                flight = self._under_way.get(key)
                is_mine = flight is None
                if flight is None:
                    flight = self._under_way[key] = Future()
                    flight.set_running_or_notify_cancel()  # from here on a waiter that is cancelled cancels only itself
            if is_mine:
                return self._counted(await self._make(key, flight, ask))
            try:
                joined = await asyncio.wrap_future(flight)
            except LorebaseError as error:
                raise copy(error) from error
            if joined is not None:
                return self._counted(_as_cached(joined))

    async def _make(
        self, key: str, flight: Future[ChatReply | None], ask: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        outcome: ChatReply | LorebaseError | None = None
        try:
            outcome = await self.kept(key) or await ask()
        except LorebaseError as error:
            outcome = error
            raise
        else:
            return outcome
        finally:
            with self._lock:
                del self._under_way[key]
            if isinstance(outcome, LorebaseError):
                flight.set_exception(outcome)
            else:
                flight.set_result(outcome)

    async def kept(self, key: str) -> ChatReply | None:
        """The kept reply; None where there is none, or it is damaged."""
        if not self._reads:
            return None
        try:
            content = await asyncio.to_thread(self._objects.get, self._object(key))
            kept = _KeptReply.model_validate_json(content)
        except (NotFoundError, ValidationError):
            return None
        return ChatReply.of(kept.text, ModelUsage(cached_calls=1), kept.finish)

    async def keep(self, key: str, reply: ChatReply) -> None:
        """Keep a reply. It need not survive a loss of power: then it is asked for once more."""
        content = _KeptReply(text=reply.text, finish=reply.finish).model_dump_json().encode()
        await asyncio.to_thread(self._objects.put, self._object(key), content, durable=False)

    async def discard(self, key: str) -> None:
        """Forget a reply."""
        await asyncio.to_thread(self._objects.delete, [self._object(key)])

    def _object(self, key: str) -> str:
        return f"{self._folder}/{key[:2]}/{key}.json"

    def _counted(self, reply: ChatReply) -> ChatReply:
        with self._lock:
            self._usage += reply.usage
        return reply


class LedgeredChat:
    """A chat model over a call ledger: an equal request to an equal model is paid for once.

    Truncated replies are never kept, and what raises is no reply.

    Args:
        model: Who answers what the ledger does not know.
        ledger: May be shared with other models.
        gate: Entered around each call that is paid for.
    """

    def __init__(self, model: ChatModel, ledger: CallLedger, gate: CallGate | None = None) -> None:
        self._model = model
        self._ledger = ledger
        self._gate = gate or _open_gate

    @property
    def profile(self) -> ChatProfile:
        """That of the model."""
        return self._model.profile

    @property
    def max_concurrency(self) -> int:
        """That of the model."""
        return self._model.max_concurrency

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The kept reply, with a usage of one cached call, or the model's."""
        key = self._key(request)

        async def ask() -> ChatReply:
            async with self._gate(request) as place:
                reply = await self._model.complete(request)
                place.settle(reply.usage)
                if not reply.truncated:
                    await self._ledger.keep(key, reply)
                return reply

        return await self._ledger.reply(key, ask)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        """The kept reply in one piece, or the model's; a stream that stops by itself is kept."""
        key = self._key(request)
        kept = await self._ledger.kept(key)
        if kept is not None:
            yield TextDelta(0, kept.text)
            yield UsageChunk(TokenUsage())
            yield FinishChunk(FinishReason(kept.finish))
            return
        texts: list[str] = []
        async with self._gate(request) as place:
            async for chunk in self._model.stream(request):
                match chunk:
                    case TextDelta():
                        texts.append(chunk.text)
                    case UsageChunk():
                        place.settle(chunk.usage.as_model_usage(1))
                    case FinishChunk() if chunk.reason.kind == STOP and "".join(texts).strip():
                        await self._ledger.keep(key, ChatReply("".join(texts)))
                    case _:
                        pass
                yield chunk

    async def discard(self, request: ChatRequest) -> None:
        """Forget the reply to a request."""
        await self._ledger.discard(self._key(request))

    async def keep(self, request: ChatRequest, reply: ChatReply) -> None:
        """Take a reply for the reply to this request."""
        await self._ledger.keep(self._key(request), reply)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def _key(self, request: ChatRequest) -> str:
        return fingerprint("chat-call", self._model.profile.profile_id, request.fingerprint)


def _as_cached(reply: ChatReply) -> ChatReply:
    return replace(reply, usage=ModelUsage(cached_calls=1))


class _Nobody:
    def settle(self, usage: ModelUsage) -> None:
        del usage


@asynccontextmanager
async def _open_gate(request: ChatRequest) -> AsyncIterator[Settling]:
    del request
    yield _Nobody()
