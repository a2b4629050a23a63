"""An embedder without a model: words are hashed into a fixed number of buckets, so texts that share words are near."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Sequence

import numpy as np

from lorebase.models.ports import EmbeddingBatch, EmbeddingFailure, EmbeddingProfile, ModelUsage
from lorebase.models.vectors import unit_rows

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]", re.IGNORECASE)


class HashEmbedder:
    """Embedder whose vectors can be thought out: one bucket a word (or Chinese character), signed by its hash.

    Args:
        dimensions: Width of the vectors.
        latency_seconds: How long every call takes.
        max_input_tokens: Longest text, one token a word.
        refuse: A text that contains this marker fails with REFUSED_INPUT; None refuses nothing.
    """

    def __init__(
        self,
        *,
        dimensions: int = 384,
        latency_seconds: float = 0.0,
        max_input_tokens: int = 512,
        refuse: str | None = None,
        min_score: float = 0.15,
    ) -> None:
        self._profile = EmbeddingProfile(
            provider="fake",
            model="hash",
            dimensions=dimensions,
            max_input_tokens=max_input_tokens,
            model_version="1",
            min_score=min_score,
        )
        self._latency_seconds = latency_seconds
        self._refuse = refuse
        self.texts_seen: list[str] = []

    @property
    def profile(self) -> EmbeddingProfile:
        return self._profile

    @property
    def max_concurrency(self) -> int:
        return 8

    def count_tokens(self, text: str) -> int:
        return len(_WORD.findall(text))

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        return await self._embed(texts)

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        return await self._embed(texts)

    async def close(self) -> None:
        return

    async def _embed(self, texts: Sequence[str]) -> EmbeddingBatch:
        if self._latency_seconds:
            await asyncio.sleep(self._latency_seconds)
        failures = [failure for index, text in enumerate(texts) if (failure := self._failure(index, text))]
        failed = {failure.index for failure in failures}
        rows = np.zeros((len(texts), self._profile.dimensions), dtype=np.float32)
        tokens = 0
        for index, text in enumerate(texts):
            if index not in failed:
                words = _WORD.findall(text.lower())
                tokens += len(words)
                for word in words or [text.strip()]:
                    digest = zlib.crc32(word.encode("utf-8", "replace"))
                    rows[index, (digest >> 1) % self._profile.dimensions] += 1.0 if digest & 1 else -1.0
                if not rows[index].any():  # words that cancel each other out still need a direction
                    rows[index, 0] = 1.0
                self.texts_seen.append(text)
        return EmbeddingBatch(
            unit_rows(rows), tuple(failures), ModelUsage(1 if len(failed) < len(texts) else 0, tokens)
        )

    def _failure(self, index: int, text: str) -> EmbeddingFailure | None:
        if not text.strip():
            return EmbeddingFailure(index, "EMPTY_INPUT", "The text is blank.")
        if (tokens := self.count_tokens(text)) > self._profile.max_input_tokens:
            limit = self._profile.max_input_tokens
            return EmbeddingFailure(
                index, "INPUT_TOO_LONG", f"The text has {tokens} tokens and the model takes {limit}."
            )
        if self._refuse is not None and self._refuse in text:
            return EmbeddingFailure(index, "REFUSED_INPUT", "The text holds the marker that this fake refuses.")
        return None
