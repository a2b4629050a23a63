"""From what a recipe says about its models to models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from openai import AsyncOpenAI

from lorebase.adapters.models.endpoint_queue import CallCount
from lorebase.adapters.models.local import LocalEmbedder
from lorebase.adapters.models.local_engines import DEFAULT_LOCAL_MODEL, LOCAL_MODELS
from lorebase.adapters.models.openai_answers import read_answer
from lorebase.adapters.models.openai_chat import OpenAIChat
from lorebase.adapters.models.openai_client import OpenAIEndpoint
from lorebase.adapters.models.openai_embedder import OpenAIEmbedder, Prefixes
from lorebase.adapters.models.rerank_endpoint import EndpointReranker
from lorebase.clock import Clock, SystemClock
from lorebase.errors import ConfigurationError
from lorebase.fingerprint import fingerprint
from lorebase.models.chat import ChatModel, ChatProfile
from lorebase.models.ports import Embedder, EmbeddingProfile
from lorebase.models.rerank import Reranker
from lorebase.models.rerank_chat import ChatReranker
from lorebase.models.settings import (
    CHAT_PROVIDER,
    LOCAL_PROVIDER,
    ChatModelSpec,
    EmbeddingModelSpec,
    EndpointConfig,
    RerankModelSpec,
)
from lorebase.models.token_estimate import estimate_tokens

_UNKNOWN_MAX_INPUT_TOKENS = 512  # what the smallest of the usual models take; more would be cut off unseen by some


@dataclass(frozen=True, slots=True)
class _KnownModel:
    """Published facts of a model, so that nothing has to be asked of its endpoint."""

    dimensions: int
    max_input_tokens: int


_KNOWN_MODELS = {
    "text-embedding-3-small": _KnownModel(1536, 8191),
    "text-embedding-3-large": _KnownModel(3072, 8191),
    "text-embedding-ada-002": _KnownModel(1536, 8191),
    "BAAI/bge-m3": _KnownModel(1024, 8192),
    "intfloat/multilingual-e5-large": _KnownModel(1024, 512),
}


async def open_embedder(
    spec: EmbeddingModelSpec,
    endpoints: Mapping[str, EndpointConfig],
    *,
    clock: Clock | None = None,
    random: Random | None = None,
) -> Embedder:
    """The embedder that a recipe asks for.

    Nothing is loaded and nothing is asked of an endpoint, with one exception: the width of a model that is neither
    known here nor given as `dimensions` is found out with one short request.

    Args:
        spec: What the recipe says.
        endpoints: The workspace's endpoints by name.
        clock: None is the machine's.
        random: Jitter of the waits between attempts; None is a fresh one.

    Raises:
        ConfigurationError: The spec names no local model or endpoint that there is, or asks of a local model what it
            cannot change.
        DependencyError: The width had to be asked for, and the endpoint did not say.
    """
    if spec.provider == LOCAL_PROVIDER:
        return _local(spec)
    config = _config_of(spec.provider, endpoints, LOCAL_PROVIDER)
    if spec.model is None:
        raise ConfigurationError(
            f"The recipe names the endpoint {spec.provider!r} and no model.",
            remedy="Add model to the recipe's embedding model.",
            provider=spec.provider,
        )
    endpoint = OpenAIEndpoint(
        spec.provider,
        config,
        clock=clock or SystemClock(),
        random=random or Random(),  # noqa: S311 (jitter)
    )
    return await _remote(spec, spec.model, endpoint)


def open_chat(
    spec: ChatModelSpec,
    endpoints: Mapping[str, EndpointConfig],
    *,
    clock: Clock | None = None,
    random: Random | None = None,
) -> ChatModel:
    """The chat model that a recipe asks for; nothing is asked of the endpoint.

    Args:
        spec: What the recipe says.
        endpoints: As in `open_embedder`.
        clock: As in `open_embedder`.
        random: As in `open_embedder`.

    Raises:
        ConfigurationError: The workspace has no endpoint of that name.
    """
    profile = ChatProfile(
        provider=spec.provider,
        model=spec.model,
        temperature=spec.temperature,
        max_output_tokens=spec.max_output_tokens,
        reasoning_effort=spec.reasoning_effort,
        context_tokens=spec.context_tokens,
    )
    endpoint = OpenAIEndpoint(
        spec.provider,
        _config_of(spec.provider, endpoints),
        clock=clock or SystemClock(),
        random=random or Random(),  # noqa: S311 (jitter)
    )
    return OpenAIChat(profile, endpoint)


def open_reranker(
    spec: RerankModelSpec,
    endpoints: Mapping[str, EndpointConfig],
    *,
    chat: ChatModel | None = None,
    clock: Clock | None = None,
    random: Random | None = None,
) -> Reranker:
    """The reranker that a recipe asks for; nothing is asked of the endpoint.

    Args:
        spec: What the recipe says.
        endpoints: As in `open_embedder`.
        chat: The recipe's chat model, for a reranker whose provider is "chat".
        clock: As in `open_embedder`.
        random: As in `open_embedder`.

    Raises:
        ConfigurationError: There is no such endpoint, no model is named, or the chat model is wanted and there is none.
    """
    if spec.provider == CHAT_PROVIDER:
        if chat is None:
            raise ConfigurationError(
                "The reranker is to be the chat model, and the recipe has none.",
                remedy="Add `models: {chat: {provider: ..., model: ...}}`.",
            )
        return ChatReranker(chat, max_texts=spec.max_texts, max_chars_per_text=spec.max_chars_per_text)
    config = _config_of(spec.provider, endpoints, CHAT_PROVIDER)
    if spec.model is None:
        raise ConfigurationError(
            f"The recipe names the endpoint {spec.provider!r} for reranking and no model.",
            remedy="Add model to the recipe's reranker.",
            provider=spec.provider,
        )
    return EndpointReranker(
        spec,
        config,
        clock=clock or SystemClock(),
        random=random or Random(),  # noqa: S311 (jitter)
    )


def _config_of(provider: str, endpoints: Mapping[str, EndpointConfig], *also: str) -> EndpointConfig:
    if provider not in endpoints:
        known = ", ".join(sorted({*also, *endpoints}))
        choose = f"Choose one of: {known}; or add it below endpoints." if known else "Add it below endpoints."
        raise ConfigurationError(
            f"The recipe names the provider {provider!r}, and the workspace has no endpoint of that name.",
            remedy=choose,
            provider=provider,
        )
    return endpoints[provider]


def _local(spec: EmbeddingModelSpec) -> Embedder:
    name = spec.model or DEFAULT_LOCAL_MODEL
    model = LOCAL_MODELS.get(name)
    if model is None:
        raise ConfigurationError(
            f"There is no local model {name!r}.",
            remedy=f"Choose one of: {', '.join(sorted(LOCAL_MODELS))}.",
            model=name,
        )
    if spec.dimensions not in (None, model.dimensions):
        raise ConfigurationError(
            f"The local model {name!r} has {model.dimensions} dimensions, not {spec.dimensions}.",
            remedy="Leave dimensions out.",
            model=name,
        )
    return LocalEmbedder(model, min_score=spec.min_score)


async def _remote(spec: EmbeddingModelSpec, model: str, endpoint: OpenAIEndpoint) -> Embedder:
    known = _KNOWN_MODELS.get(model)
    dimensions = spec.dimensions or (known.dimensions if known else await _width_of(model, endpoint))
    longest = spec.max_input_tokens or (known.max_input_tokens if known else _UNKNOWN_MAX_INPUT_TOKENS)
    prefix_tokens = max(estimate_tokens(spec.query_prefix), estimate_tokens(spec.passage_prefix))
    profile = EmbeddingProfile(
        provider=spec.provider,
        model=model,
        dimensions=dimensions,
        max_input_tokens=longest - prefix_tokens,
        model_version=_version_of(spec),
    )
    if spec.min_score is not None:
        profile = replace(profile, min_score=spec.min_score)
    return OpenAIEmbedder(
        profile,
        endpoint,
        sent_dimensions=spec.dimensions,
        prefixes=Prefixes(query=spec.query_prefix, passage=spec.passage_prefix),
    )


def _version_of(spec: EmbeddingModelSpec) -> str:
    """Prefixes change every vector, so they are part of the vector space."""
    if not spec.query_prefix and not spec.passage_prefix:
        return ""
    return f"prefixes {fingerprint(spec.query_prefix, spec.passage_prefix)}"


async def _width_of(model: str, endpoint: OpenAIEndpoint) -> int:
    async def send(client: AsyncOpenAI) -> bytes:
        response = await client.embeddings.with_raw_response.create(
            input=["width"], model=model, encoding_format="float"
        )
        return response.content

    try:
        body = await endpoint.send(send, model=model, tokens=1, count=CallCount())
        return len(read_answer(body, texts=1, dimensions=None, endpoint=endpoint.name).rows[0])
    except BaseException:
        await endpoint.close()  # the caller gets no embedder that could
        raise
