"""An embedder over any endpoint that speaks OpenAI's embeddings API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from openai import AsyncOpenAI, omit

from lorebase.adapters.models.endpoint_errors import Fault
from lorebase.adapters.models.endpoint_queue import CallCount
from lorebase.adapters.models.openai_answers import EmbeddingAnswer, read_answer
from lorebase.adapters.models.openai_client import OpenAIEndpoint
from lorebase.errors import DependencyError, RefusedError
from lorebase.models.inputs import empty_input, encodable, too_long
from lorebase.models.ports import EmbeddingBatch, EmbeddingFailure, EmbeddingProfile, ModelUsage
from lorebase.models.token_estimate import estimate_tokens
from lorebase.models.vectors import unit_rows


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What the model wants before a text.

    Attributes:
        query: Before a question.
        passage: Before a text that will be searched.
    """

    query: str = ""
    passage: str = ""


class OpenAIEmbedder:
    """Embedder over an `OpenAIEndpoint`.

    Texts are packed into requests by number and by estimated tokens. A request that the endpoint refuses as too large,
    or for which it computes NaN, is halved until the guilty text stands alone and becomes a failure of its own.

    Args:
        profile: The vector space; `max_input_tokens` already leaves room for the prefixes.
        endpoint: Where requests go.
        sent_dimensions: Width to ask for; None leaves the field out, which many models need.
        prefixes: What the model wants before a text.
    """

    def __init__(
        self,
        profile: EmbeddingProfile,
        endpoint: OpenAIEndpoint,
        *,
        sent_dimensions: int | None = None,
        prefixes: Prefixes = Prefixes(),
    ) -> None:
        self._profile = profile
        self._endpoint = endpoint
        self._sent_dimensions = sent_dimensions
        self._prefixes = prefixes

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._profile.model!r}, {self._endpoint!r})"

    @property
    def profile(self) -> EmbeddingProfile:
        """The vector space it serves."""
        return self._profile

    @property
    def max_concurrency(self) -> int:
        """As many as the endpoint is configured for."""
        return self._endpoint.config.max_concurrency

    def count_tokens(self, text: str) -> int:
        """An estimate that would rather be too high; see `lorebase.models.token_estimate`."""
        return estimate_tokens(text)

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for texts; failures are EMPTY_INPUT, INPUT_TOO_LONG, REFUSED_INPUT, NAN_VECTOR and ZERO_VECTOR."""
        return await self._embed(texts, self._prefixes.passage)

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for questions; failures as in `embed_passages`."""
        return await self._embed(texts, self._prefixes.query)

    async def close(self) -> None:
        """Give the running event loop's connections back."""
        await self._endpoint.close()

    async def _embed(self, texts: Sequence[str], prefix: str) -> EmbeddingBatch:
        inputs, failures = await asyncio.to_thread(self._checked, texts, prefix)  # seconds for some megabytes
        config = self._endpoint.config
        requests = list(
            packed(inputs, max_inputs=config.max_inputs_per_request, max_tokens=config.max_tokens_per_request)
        )
        count = CallCount()
        parts = await self._all_parts(requests, count)
        vectors = np.zeros((len(texts), self._profile.dimensions), dtype=np.float32)
        for part in parts:
            vectors[part.indexes] = part.rows
            failures.extend(part.failures)
        failures.sort(key=lambda failure: failure.index)
        usage = ModelUsage(count.calls, sum(part.input_tokens for part in parts))
        return EmbeddingBatch(vectors, tuple(failures), usage)

    def _checked(self, texts: Sequence[str], prefix: str) -> tuple[list[Input], list[EmbeddingFailure]]:
        inputs: list[Input] = []
        failures: list[EmbeddingFailure] = []
        limit = self._profile.max_input_tokens
        prefix_tokens = estimate_tokens(prefix)
        for index, text in enumerate(texts):
            tokens = estimate_tokens(text)
            if not text.strip():
                failures.append(empty_input(index))
            elif tokens > limit:
                failures.append(too_long(index, tokens, limit))
            else:
                inputs.append(Input(index, encodable(prefix + text), prefix_tokens + tokens))
        return inputs, failures

    async def _all_parts(self, requests: Sequence[Sequence[Input]], count: CallCount) -> list[_Part]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._part(inputs, count)) for inputs in requests]
        except ExceptionGroup as errors:
            first = errors.exceptions[0]
            if isinstance(first, DependencyError):
                first.facts["calls"] = count.calls
            raise first from first.__cause__
        return [task.result() for task in tasks]

    async def _part(self, inputs: Sequence[Input], count: CallCount) -> _Part:
        try:
            answer = await self._request(inputs, count)
        except RefusedError as error:
            fault = error.facts.get("fault")
            if fault is None:
                raise
            if len(inputs) == 1:
                return _refused(inputs[0].index, Fault(fault), self._profile.dimensions)
            middle = len(inputs) // 2
            return await self._part(inputs[:middle], count) + await self._part(inputs[middle:], count)
        return _part_of(inputs, answer)

    async def _request(self, inputs: Sequence[Input], count: CallCount) -> EmbeddingAnswer:
        async def send(client: AsyncOpenAI) -> bytes:
            # The format is named because some servers know only floats, and the client would ask for base64.
            response = await client.embeddings.with_raw_response.create(
                input=[each.text for each in inputs],
                model=self._profile.model,
                encoding_format="float",
                dimensions=self._sent_dimensions if self._sent_dimensions is not None else omit,
            )
            return response.content

        tokens = sum(each.tokens for each in inputs)
        body = await self._endpoint.send(send, model=self._profile.model, tokens=tokens, count=count)
        answer = read_answer(body, texts=len(inputs), dimensions=self._profile.dimensions, endpoint=self._endpoint.name)
        return answer if answer.input_tokens is not None else EmbeddingAnswer(answer.rows, tokens)


@dataclass(frozen=True, slots=True)
class Input:
    """One text on its way.

    Attributes:
        index: Its position in the call.
        text: With its prefix.
        tokens: Estimated.
    """

    index: int
    text: str
    tokens: int


def packed(inputs: Sequence[Input], *, max_inputs: int, max_tokens: int) -> Iterator[Sequence[Input]]:
    """Requests in the order of the inputs, each within both limits; an input over `max_tokens` goes alone."""
    start = 0
    tokens = 0
    for position, each in enumerate(inputs):
        if position > start and (position - start == max_inputs or tokens + each.tokens > max_tokens):
            yield inputs[start:position]
            start, tokens = position, 0
        tokens += each.tokens
    if start < len(inputs):
        yield inputs[start:]


@dataclass(frozen=True, slots=True)
class _Part:
    """What came of some of the texts: unit rows for `indexes`, and failures."""

    indexes: list[int]
    rows: NDArray[np.float32]
    failures: list[EmbeddingFailure]
    input_tokens: int

    def __add__(self, other: _Part) -> _Part:
        return _Part(
            self.indexes + other.indexes,
            np.concatenate((self.rows, other.rows)),
            self.failures + other.failures,
            self.input_tokens + other.input_tokens,
        )


_REFUSALS = {
    Fault.TOO_MANY_TOKENS: ("REFUSED_INPUT", "The endpoint refused the text as too long. Split it smaller."),
    Fault.NAN: ("NAN_VECTOR", "The endpoint computed no number (NaN) for the text."),
}


def _refused(index: int, fault: Fault, dimensions: int) -> _Part:
    code, message = _REFUSALS[fault]
    return _Part([], np.zeros((0, dimensions), dtype=np.float32), [EmbeddingFailure(index, code, message)], 0)


def _part_of(inputs: Sequence[Input], answer: EmbeddingAnswer) -> _Part:
    finite = np.asarray(np.isfinite(answer.rows).all(axis=1))
    sound = finite & np.asarray(answer.rows.any(axis=1))
    failures = [
        EmbeddingFailure(each.index, "ZERO_VECTOR", "The endpoint answered a vector of zeros for the text.")
        if finite[position]
        else EmbeddingFailure(each.index, *_REFUSALS[Fault.NAN])
        for position, each in enumerate(inputs)
        if not sound[position]
    ]
    indexes = [each.index for position, each in enumerate(inputs) if sound[position]]
    return _Part(indexes, unit_rows(answer.rows[sound]), failures, answer.input_tokens or 0)
