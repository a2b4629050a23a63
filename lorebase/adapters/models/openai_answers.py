"""Reading the answer of an embeddings endpoint: which row belongs to which text, and whether it holds numbers."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from lorebase.errors import MalformedAnswerError


@dataclass(frozen=True, slots=True)
class EmbeddingAnswer:
    """What one request brought.

    Attributes:
        rows: float32, one row a text of the request, in the request's order; a row may hold NaN.
        input_tokens: As the endpoint says; None where it does not.
    """

    rows: NDArray[np.float32]
    input_tokens: int | None


def read_answer(body: bytes, *, texts: int, dimensions: int | None, endpoint: str) -> EmbeddingAnswer:
    """Check and order an answer.

    The body is read here and not by the openai client, whose models take a Python call for every number.

    Args:
        body: JSON as sent; NaN may stand in it bare, as null or as text.
        texts: How many the request held.
        dimensions: The width that every row must have; None takes the first row's.
        endpoint: Name for the sentences.

    Raises:
        MalformedAnswerError: No JSON, no rows, an index that is missing, twice or unknown, another width.
    """
    answer = _json(body, endpoint)
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list) or not isinstance(answer, Mapping):
        _malformed(endpoint, "has no list named data", "Look whether its base_url is that of an OpenAI-compatible API.")
    by_index = _by_index(data, texts, endpoint)
    rows = [_row(by_index[index], endpoint) for index in range(texts)]
    width = dimensions or len(rows[0])
    for row in rows:
        if len(row) != width:
            _malformed(
                endpoint,
                f"has vectors of {len(row)} numbers where {width} are expected",
                f"Set dimensions: {len(row)} in the recipe if the model has that width, or name the right model.",
                expected_dimensions=width,
                actual_dimensions=len(row),
            )
    usage = answer.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return EmbeddingAnswer(np.stack(rows), tokens if isinstance(tokens, int) else None)


def _json(body: bytes, endpoint: str) -> object:
    try:
        return cast("object", orjson.loads(body))
    except orjson.JSONDecodeError:
        pass  # orjson knows no NaN, json does
    try:
        return cast("object", json.loads(body))
    except ValueError as error:
        raise MalformedAnswerError(
            f"The answer of the endpoint {endpoint!r} is no JSON.",
            remedy="Look whether its base_url ends with the version, such as /v1.",
            dependency=endpoint,
        ) from error


def _by_index(data: Sequence[object], texts: int, endpoint: str) -> dict[int, object]:
    by_index: dict[int, object] = {}
    for item in data:
        index = item.get("index") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(index, int) or not 0 <= index < texts:
            _malformed(endpoint, f"has an item with index {index!r}; {texts} texts were sent")
        if index in by_index:
            _malformed(endpoint, f"has index {index} twice")
        by_index[index] = item.get("embedding")
    if len(by_index) < texts:
        missing = next(index for index in range(texts) if index not in by_index)
        _malformed(endpoint, f"has no item with index {missing}; {texts} texts were sent")
    return by_index


def _row(embedding: object, endpoint: str) -> NDArray[np.float32]:
    """Numbers of one item; null counts as NaN, and base64 is read although floats were asked for."""
    try:
        if isinstance(embedding, str):
            row = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
        else:
            with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is reported as such
                row = np.array(embedding, dtype=np.float64).astype(np.float32)
    except (TypeError, ValueError, binascii.Error) as error:
        raise MalformedAnswerError(
            f"The answer of the endpoint {endpoint!r} has a vector that is no list of numbers.", dependency=endpoint
        ) from error
    if row.ndim != 1 or not row.size:
        _malformed(endpoint, "has an item without a vector")
    return row


def _malformed(endpoint: str, what: str, remedy: str = "", **facts: int) -> NoReturn:
    raise MalformedAnswerError(
        f"The answer of the endpoint {endpoint!r} {what}.", remedy=remedy, dependency=endpoint, **facts
    )
