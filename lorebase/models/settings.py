"""What a recipe says about its models, and what a workspace says about the endpoints that serve models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

LOCAL_PROVIDER = "local"
CHAT_PROVIDER = "chat"
DEFAULT_BURST_SECONDS = 1.0


class EmbeddingModelSpec(BaseModel):
    """Which model turns text into vectors: the part of a recipe below `models.embedding`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(
        LOCAL_PROVIDER,
        min_length=1,
        description='"local" for a model run in this process, otherwise the name of an endpoint of the workspace.',
    )
    model: str | None = Field(
        None, min_length=1, description="Name of the model at its provider; may be left out for the local default."
    )
    dimensions: int | None = Field(
        None,
        ge=1,
        le=65_536,
        description="Width of the vectors. Sent to an endpoint only if given, because many models refuse the field.",
    )
    max_input_tokens: int | None = Field(
        None, ge=8, description="Longest input that the endpoint's model takes; for models that Lorebase does not know."
    )
    query_prefix: str = Field("", description='What an endpoint\'s model wants before a question, such as "query: ".')
    passage_prefix: str = Field("", description='What an endpoint\'s model wants before a text, such as "passage: ".')
    min_score: float | None = Field(
        None, ge=-1.0, le=1.0, description="Cosine below which a passage is no evidence; None takes the model's own."
    )


class ChatModelSpec(BaseModel):
    """Which model extracts, rewrites, answers: the part of a recipe below `models.chat`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(min_length=1, description="Name of an endpoint of the workspace.")
    model: str = Field(min_length=1, description="Name of the model at its provider.")
    temperature: float | None = Field(None, ge=0, le=2, description="Sent only if given; some models refuse it.")
    max_output_tokens: int | None = Field(
        None, ge=1, description="Longest answer, what the model thinks included; None leaves it to the endpoint."
    )
    reasoning_effort: str = Field("", description='As the model calls it, such as "low"; empty is not sent.')
    context_tokens: int | None = Field(None, ge=256, description="Most tokens of a request and its answer together.")


class RerankModelSpec(BaseModel):
    """Which model orders what a search found: the part of a recipe below `models.rerank`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(
        min_length=1,
        description='Name of an endpoint of the workspace that serves /rerank, or "chat" for the recipe\'s chat model.',
    )
    model: str | None = Field(None, min_length=1, description="Name of the model; left out for the chat model.")
    path: str = Field("rerank", min_length=1, description="Below the endpoint's base_url.")
    max_texts: int = Field(50, ge=1, le=1000, description="Most texts that one question orders.")
    max_chars_per_text: int = Field(2000, ge=50, description="What is sent of each text, from its beginning.")


class EndpointConfig(BaseModel):
    """Where an OpenAI-compatible endpoint is and how much it may be asked: a workspace's part below `endpoints`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str = Field(description="Address up to and including the version, such as https://api.openai.com/v1.")
    api_key: SecretStr | None = Field(None, description="Bearer token; None where the endpoint wants none.")
    max_concurrency: int = Field(
        8, ge=1, le=1024, description="Most requests under way at once, in one build or server."
    )
    requests_per_minute: int | None = Field(None, ge=1, description="Most requests a minute; None is no limit.")
    tokens_per_minute: int | None = Field(
        None, ge=1, description="Most tokens a minute, those of answers once they are known; None is no limit."
    )
    burst_seconds: float = Field(
        DEFAULT_BURST_SECONDS,
        ge=0,
        le=60,
        description="How many seconds of requests and tokens that were not used may be made up for at once.",
    )
    timeout_seconds: float = Field(
        120.0, gt=0, description="Longest time for one request with all its retries and waiting between them."
    )
    max_attempts: int = Field(6, ge=1, le=20, description="Most times that one request is sent.")
    max_inputs_per_request: int = Field(2048, ge=1, le=2048, description="Most texts in one request.")
    max_tokens_per_request: int = Field(300_000, ge=8, description="Most tokens in one request, over all its texts.")

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, base_url: str) -> str:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must begin with http:// or https://, not {base_url!r}")
        return base_url.rstrip("/")
