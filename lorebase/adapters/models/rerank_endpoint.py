"""A reranker over an endpoint with a /rerank route of the kind that Cohere and Jina have."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any, NoReturn

import httpx
import orjson

from lorebase.adapters.models.endpoint_errors import (
    StatusAnswer,
    no_answer_of_the_api,
    problem_of,
    said_by,
    unreachable,
)
from lorebase.adapters.models.endpoint_queue import CallCount, EndpointQueue
from lorebase.adapters.models.loop_bound import LoopBound
from lorebase.clock import Clock
from lorebase.errors import DependencyError, MalformedAnswerError
from lorebase.models.inputs import encodable
from lorebase.models.rerank import RankedText, best_of, checked_texts
from lorebase.models.settings import EndpointConfig, RerankModelSpec
from lorebase.models.token_estimate import estimate_tokens

_CONNECT_SECONDS = 10.0


class EndpointReranker:
    """Reranker over HTTP. Shares the endpoint's limiter with its chat and embedding models.

    Args:
        spec: Model, route and limits; its `model` is given.
        config: Where the endpoint is.
        clock: Reads Retry-After dates.
        random: Jitter of the waits.
        sleep: Waits between attempts.
    """

    def __init__(
        self,
        spec: RerankModelSpec,
        config: EndpointConfig,
        *,
        clock: Clock,
        random: Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._spec = spec
        self._config = config
        self._clock = clock
        self._queue = EndpointQueue(spec.provider, config, random=random, sleep=sleep)
        self._clients = LoopBound(self._open_client, httpx.AsyncClient.aclose)

    def __repr__(self) -> str:
        return f"EndpointReranker({self._spec.model!r}, {self._config.base_url!r})"

    @property
    def max_texts(self) -> int:
        """Most texts of one call."""
        return self._spec.max_texts

    async def rerank(self, query: str, texts: Sequence[str], top_k: int) -> list[RankedText]:
        """The best of the texts; scores outside 0 to 1 are brought there by the logistic function."""
        checked_texts(texts, top_k, self._spec.max_texts)
        if not texts:
            return []
        shown = [encodable(text[: self._spec.max_chars_per_text]) or " " for text in texts]
        body = {"model": self._spec.model, "query": encodable(query), "documents": shown, "top_n": len(shown)}
        tokens = estimate_tokens(query) * len(shown) + sum(map(estimate_tokens, shown))
        count = CallCount()
        try:
            answer = await self._queue.send(lambda: self._send_once(body, count), tokens=tokens)
        except DependencyError as error:
            error.facts["calls"] = count.calls
            raise
        return best_of(_bounded(self._read(answer, len(texts))), top_k)

    async def close(self) -> None:
        """Give the running event loop's connections back."""
        await self._clients.close()

    async def _send_once(self, body: Mapping[str, Any], count: CallCount) -> bytes:
        client = await self._clients.get()
        name = self._spec.provider
        count.calls += 1
        try:
            response = await client.post(self._spec.path.lstrip("/"), content=orjson.dumps(body))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            count.calls -= 1
            raise unreachable(name, reached=False) from error
        except httpx.HTTPError as error:
            raise unreachable(name, reached=True) from error
        if response.is_success:
            return response.content
        code, said = _said(response)
        status = response.status_code
        answer = StatusAnswer(status, said_by(status, said, self._secret()), code, response.headers)
        raise problem_of(answer, endpoint=name, model=self._spec.model or "", now=self._clock.now())

    def _read(self, content: bytes, texts: int) -> dict[int, float]:
        """Scores by index; of an index that stands twice the higher one."""
        try:
            answer = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise no_answer_of_the_api(self._spec.provider) from error
        results = (answer.get("results") or answer.get("data")) if isinstance(answer, dict) else None
        if not isinstance(results, list) or not results:
            self._malformed("has no results")
        scores: dict[int, float] = {}
        for result in results:
            index = result.get("index") if isinstance(result, dict) else None
            if not isinstance(index, int) or not 0 <= index < texts:
                self._malformed(f"has a result with index {index!r}; {texts} texts were sent")
            score = result.get("relevance_score", result.get("score"))
            if not isinstance(score, int | float) or not math.isfinite(score):
                self._malformed(f"has no score for index {index}")
            scores[index] = max(float(score), scores.get(index, -math.inf))
        return scores

    def _malformed(self, what: str) -> NoReturn:
        raise MalformedAnswerError(
            f"The answer of the endpoint {self._spec.provider!r} to a reranking {what}.",
            remedy="Look whether the reranker's path and model are right.",
            dependency=self._spec.provider,
        )

    def _open_client(self) -> httpx.AsyncClient:
        seconds = self._config.timeout_seconds
        headers = {"content-type": "application/json"}
        if secret := self._secret():
            headers["authorization"] = f"Bearer {secret}"
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        return httpx.AsyncClient(base_url=self._config.base_url, headers=headers, timeout=timeout)

    def _secret(self) -> str:
        return self._config.api_key.get_secret_value() if self._config.api_key is not None else ""


def _said(response: httpx.Response) -> tuple[str, object]:
    """The code and the sentence of an error answer, whichever usual shape it has."""
    try:
        body = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return "", ""
    if not isinstance(body, dict):
        return "", ""
    error = body.get("error")
    if isinstance(error, dict):
        return str(error.get("code") or ""), error.get("message")
    return "", error or body.get("message") or body.get("detail")


def _bounded(scores: Mapping[int, float]) -> list[RankedText]:
    if all(0.0 <= score <= 1.0 for score in scores.values()):
        return [RankedText(index, score) for index, score in scores.items()]
    return [RankedText(index, _logistic(score)) for index, score in scores.items()]


def _logistic(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score)) if score >= 0 else math.exp(score) / (1.0 + math.exp(score))
