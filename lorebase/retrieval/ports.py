"""What a query needs from others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lorebase.documents.model import Chunk
from lorebase.index.ports import Candidate, Filter
from lorebase.models.ports import EmbeddingBatch


class QueryEmbedder(Protocol):
    """Gives a question its vector; every `lorebase.models.ports.Embedder` does."""

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for questions, in their order."""
        ...


class VectorSearch(Protocol):
    """Finds near vectors; every `lorebase.index.ports.VectorIndex` does."""

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        """The `limit` nearest, best first."""
        ...


class LexicalSearch(Protocol):
    """Finds words; every `lorebase.index.ports.LexicalIndex` does."""

    async def search(self, text: str, where: Filter, limit: int) -> list[Candidate]:
        """The `limit` best, best first."""
        ...


class ActiveChunks(Protocol):
    """The authority on what is live: a snapshot, or the releases of a governed base."""

    async def resolve(self, candidates: Sequence[Candidate]) -> dict[str, Chunk]:
        """The chunks of those candidates that are active now, by chunk id; the others are left out.

        Raises:
            LorebaseError: It cannot be told; never an empty answer instead.
        """
        ...
