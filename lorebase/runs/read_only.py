"""Models and indexes as a plan may use them: it asks what they know, and changes and pays for nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lorebase.errors import BuildFailedError
from lorebase.index.ports import (
    Candidate,
    EntityFields,
    EntityKind,
    Filter,
    IndexStore,
    LexicalIndex,
    TextEntity,
    VectorEntity,
    VectorIndex,
)
from lorebase.models.chat import ChatModel, ChatProfile, ChatReply, ChatRequest
from lorebase.models.chat_stream import StreamChunk
from lorebase.models.ports import Embedder, EmbeddingBatch, EmbeddingProfile


class UncalledEmbedder:
    """An embedder that counts tokens and refuses to embed.

    Args:
        embedder: The model.
        width_is_known: Whether its profile says its width; otherwise the width is 0, which no built artifact has.
    """

    def __init__(self, embedder: Embedder, *, width_is_known: bool = True) -> None:
        self._embedder = embedder
        self._profile = embedder.profile if width_is_known else replace(embedder.profile, dimensions=0)

    @property
    def profile(self) -> EmbeddingProfile:
        """The vector space of the model."""
        return self._profile

    @property
    def max_concurrency(self) -> int:
        """That of the model."""
        return self._embedder.max_concurrency

    def count_tokens(self, text: str) -> int:
        """Tokens as the model counts them."""
        return self._embedder.count_tokens(text)

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Refuse."""
        raise _called(len(texts))

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Refuse."""
        raise _called(len(texts))

    async def close(self) -> None:
        """Give the model's connections back."""
        await self._embedder.close()


class UncalledChat:
    """A chat model that says what it is and refuses to answer.

    Args:
        chat: The model.
    """

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    @property
    def profile(self) -> ChatProfile:
        """That of the model."""
        return self._chat.profile

    @property
    def max_concurrency(self) -> int:
        """That of the model."""
        return self._chat.max_concurrency

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Refuse."""
        raise _called(len(request.turns))

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        """Refuse."""
        raise _called(len(request.turns))

    async def close(self) -> None:
        """Give the model's connections back."""
        await self._chat.close()


def _called(texts: int) -> BuildFailedError:
    return BuildFailedError(
        f"A step sent {texts} texts to its model while it was only planned.",
        remedy="Give the step a `plan_partitions` of its own that says what it would send.",
    )


class ReadOnlyIndexStore:
    """Indexes that answer what they hold and let writes fall.

    Args:
        base: The indexes.
        is_empty: Whether nothing was ever built: then they are not even opened, because opening makes files.
    """

    def __init__(self, base: IndexStore, *, is_empty: bool) -> None:
        self._base = base
        self._is_empty = is_empty

    def vectors(self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks") -> VectorIndex:
        """The vector index of a base."""
        is_empty = self._is_empty or dimensions == 0
        return _ReadOnlyVectors(None if is_empty else self._base.vectors(base_name, profile_id, dimensions, kind=kind))

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> LexicalIndex:
        """The lexical index of a base."""
        return _ReadOnlyWords(None if self._is_empty else self._base.lexical(base_name, kind=kind))

    async def close(self) -> None:
        """Close the indexes."""
        await self._base.close()


class _ReadOnlyIndex:
    def __init__(self, index: VectorIndex | LexicalIndex | None) -> None:
        self._index = index

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        del searchable
        return len(chunk_ids)

    async def delete(self, where: Filter) -> int:
        return await self.count(where)

    async def count(self, where: Filter) -> int:
        return await self._index.count(where) if self._index else 0

    async def fields(self, where: Filter) -> list[EntityFields]:
        return await self._index.fields(where) if self._index else []

    async def drop(self) -> None:
        return

    async def require_supported(self) -> None:
        if self._index:
            await self._index.require_supported()

    async def close(self) -> None:
        if self._index:
            await self._index.close()


class _ReadOnlyVectors(_ReadOnlyIndex):
    def __init__(self, index: VectorIndex | None) -> None:
        super().__init__(index)
        self._vectors = index

    async def upsert(self, entities: Sequence[VectorEntity]) -> None:
        del entities

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        return await self._vectors.search(vector, where, limit) if self._vectors else []


class _ReadOnlyWords(_ReadOnlyIndex):
    def __init__(self, index: LexicalIndex | None) -> None:
        super().__init__(index)
        self._words = index

    async def upsert(self, entities: Sequence[TextEntity]) -> None:
        del entities

    async def search(self, text: str, where: Filter, limit: int) -> list[Candidate]:
        return await self._words.search(text, where, limit) if self._words else []
