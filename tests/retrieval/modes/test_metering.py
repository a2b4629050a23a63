"""Embeddings and calls of one query, counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from lorebase.errors import MalformedAnswerError
from lorebase.models.ports import EmbeddingBatch
from lorebase.retrieval.modes.metering import QueryEmbeddings, QueryMeter
from tests.fakes.hash_embedder import HashEmbedder


class CountingQueries(HashEmbedder):
    """A hash embedder that keeps what each call asked for."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.calls: list[list[str]] = []

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        self.calls.append(list(texts))
        return await super().embed_queries(texts)


async def test_a_text_is_embedded_once_however_often_and_from_wherever_it_is_asked_for() -> None:
    embedder, meter = CountingQueries(), QueryMeter()
    memo = QueryEmbeddings(embedder, meter)

    await asyncio.gather(memo.embed_queries(["red", "blue"]), memo.embed_queries(["red"]))
    batch = await memo.embed_queries(["blue", "green", "blue"])

    assert embedder.calls == [["red", "blue"], ["green"]]
    direct = await HashEmbedder().embed_queries(["blue", "green", "blue"])
    assert np.array_equal(batch.vectors, direct.vectors)
    assert meter.usage.embedding.calls == 2


async def test_a_refused_text_stays_a_failure_of_that_text() -> None:
    memo = QueryEmbeddings(CountingQueries(refuse="secret"), QueryMeter())

    await memo.embed_queries(["secret", "red"])
    batch = await memo.embed_queries(["red", "secret"])

    assert [failure.index for failure in batch.failures] == [1]
    assert batch.vectors[0].any()
    assert not batch.vectors[1].any()


async def test_an_embedder_that_gives_too_few_vectors_is_an_error() -> None:
    class Short:
        async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
            return EmbeddingBatch(np.zeros((1, 3), dtype=np.float32))

    with pytest.raises(MalformedAnswerError, match="1 vectors for 2 queries"):
        await QueryEmbeddings(Short(), QueryMeter()).embed_queries(["a", "b"])
