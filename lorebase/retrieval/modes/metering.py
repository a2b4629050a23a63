"""What the models of one query take, counted where they are called; a text is embedded once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lorebase.errors import MalformedAnswerError
from lorebase.models.borrowed_chat import BorrowedChat
from lorebase.models.chat import CHAT_ROLE, ChatModel, ChatReply, ChatRequest
from lorebase.models.ports import EmbeddingBatch, EmbeddingFailure, ModelUsage
from lorebase.retrieval.ports import QueryEmbedder
from lorebase.retrieval.provenance import QueryUsage, RoleUsage

EMBEDDING_ROLE = "embedding"


class QueryMeter:
    """Adds up what the calls of one query took."""

    def __init__(self) -> None:
        self._taken: dict[str, ModelUsage] = {}

    def add(self, role: str, usage: ModelUsage) -> None:
        """Count a call."""
        self._taken[role] = self._taken.get(role, ModelUsage()) + usage

    @property
    def usage(self) -> QueryUsage:
        """All of it so far."""
        return QueryUsage(
            **{
                role: RoleUsage(
                    calls=taken.calls,
                    cached_calls=taken.cached_calls,
                    input_tokens=taken.input_tokens,
                    output_tokens=taken.output_tokens,
                )
                for role, taken in self._taken.items()
            }
        )


class MeteredChat(BorrowedChat):
    """A chat model whose calls are counted; streams are not, since queries ask for whole answers."""

    def __init__(self, model: ChatModel, meter: QueryMeter) -> None:
        super().__init__(model)
        self._meter = meter

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The model's answer."""
        reply = await self._model.complete(request)
        self._meter.add(CHAT_ROLE, reply.usage)
        return reply


class QueryEmbeddings:
    """An embedder of questions for one query: it embeds each text once, several in one call, and counts.

    Args:
        embedder: Who embeds.
        meter: Is told what it took.
    """

    def __init__(self, embedder: QueryEmbedder, meter: QueryMeter) -> None:
        self._embedder = embedder
        self._meter = meter
        self._known: dict[str, NDArray[np.float32] | EmbeddingFailure] = {}
        self._one_call = asyncio.Lock()

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for questions, in their order; what was embedded before takes nothing."""
        async with self._one_call:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                await self._embed(new)
        known = [self._known[text] for text in texts]
        width = max((len(row) for row in known if not isinstance(row, EmbeddingFailure)), default=0)
        vectors = np.zeros((len(known), width), dtype=np.float32)
        failures = []
        for index, row in enumerate(known):
            if isinstance(row, EmbeddingFailure):
                failures.append(EmbeddingFailure(index, row.code, row.message))
            else:
                vectors[index] = row
        return EmbeddingBatch(vectors, tuple(failures))

    async def _embed(self, new: Sequence[str]) -> None:
        batch = await self._embedder.embed_queries(new)
        self._meter.add(EMBEDDING_ROLE, batch.usage)
        if len(batch.vectors) != len(new):
            message = f"The embedder gave {len(batch.vectors)} vectors for {len(new)} queries."
            raise MalformedAnswerError(message, dependency="embedder")
        failed = {failure.index: failure for failure in batch.failures}
        for index, (text, vector) in enumerate(zip(new, batch.vectors, strict=True)):
            self._known[text] = failed.get(index, vector)
