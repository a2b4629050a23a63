"""What builds and searches ask of models, whoever serves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lorebase.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class EmbeddingProfile:
    """Everything that decides what vector a text gets. Two profiles never share a collection.

    Attributes:
        provider: "local" or the name of an endpoint of the workspace.
        model: The model's name at its provider.
        dimensions: Width of its vectors.
        max_input_tokens: Longest input, by its own tokenizer.
        model_version: What else pins the weights, such as the package's version; empty where unknown.
        min_score: Cosine below which a passage is no evidence for a question; calibrated per model.
    """

    provider: str
    model: str
    dimensions: int
    max_input_tokens: int
    model_version: str = ""
    min_score: float = 0.15

    @property
    def profile_id(self) -> str:
        """Identity of the vector space: provider, model, version and width."""
        return fingerprint("embedding-profile", self.provider, self.model, self.model_version, self.dimensions)


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What calls to a model took.

    Attributes:
        calls: Requests that reached the model, failed ones included.
        input_tokens: As the model says, or counted with its tokenizer where it does not say.
        output_tokens: Likewise; 0 for embeddings.
        cached_calls: Requests that were answered by a call ledger instead; they took nothing.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_calls: int = 0

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_calls + other.cached_calls,
        )


@dataclass(frozen=True, slots=True)
class EmbeddingFailure:
    """One text that got no vector, though others of its batch did.

    Attributes:
        index: Position of the text in the request.
        code: UPPER_SNAKE, for example "INPUT_TOO_LONG", "NAN_VECTOR", "REFUSED_INPUT".
        message: One sentence for the report; holds none of the text.
    """

    index: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class EmbeddingBatch:
    """Vectors for a sequence of texts, in its order.

    Attributes:
        vectors: float32, shape (texts, dimensions), rows of unit length; the row of a failed text is all zeros.
        failures: The texts without a vector, by rising index.
        usage: What it took.
    """

    vectors: NDArray[np.float32]
    failures: tuple[EmbeddingFailure, ...] = ()
    usage: ModelUsage = field(default=ModelUsage())


class TokenCounter(Protocol):
    """Counts as the embedding model does."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, without the tokens that the model puts around every input. Empty text has none."""
        ...


class Embedder(TokenCounter, Protocol):
    """Turns texts into vectors. Safe to use from several tasks of one event loop."""

    @property
    def profile(self) -> EmbeddingProfile:
        """The vector space it serves."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many requests the model takes on at once; more only wait."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for texts that will be searched.

        Args:
            texts: Any number; the embedder makes requests of the sizes that its model allows. Blank text is a failure
                of that text (code "EMPTY_INPUT"), not of the call.

        Raises:
            DependencyError: The whole call failed: unreachable, refused credentials, unknown model, wrong width. What
                concerns single texts is in `failures` instead.
        """
        ...

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for questions; as `embed_passages`, with what the model wants before a question."""
        ...

    async def close(self) -> None:
        """Give connections back. The embedder is not used after it."""
        ...
