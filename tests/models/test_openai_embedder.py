"""The embedder over an OpenAI-compatible endpoint, against a server that misbehaves on order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.adapters.models.factory import open_embedder
from lorebase.adapters.models.openai_client import OpenAIEndpoint
from lorebase.adapters.models.openai_embedder import Input, OpenAIEmbedder, packed
from lorebase.clock import SystemClock
from lorebase.errors import (
    DependencyError,
    LorebaseError,
    MalformedAnswerError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
)
from lorebase.models.ports import EmbeddingProfile
from lorebase.models.settings import EmbeddingModelSpec, EndpointConfig
from tests.fakes.openai_server import OpenAIServer, hash_vectors

KEY = "sk-very-secret-key"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


class Opened:
    """Embedders over the server that are closed at the end, and the waits that they asked for."""

    def __init__(self, server: OpenAIServer) -> None:
        self._server = server
        self._embedders: list[OpenAIEmbedder] = []
        self.waits: list[float] = []

    def __call__(
        self,
        *,
        dimensions: int = 384,
        max_input_tokens: int = 8191,
        sent_dimensions: int | None = None,
        **config: object,
    ) -> OpenAIEmbedder:
        endpoint = OpenAIEndpoint(
            "fake",
            EndpointConfig.model_validate({"base_url": self._server.base_url, "api_key": KEY, **config}),
            clock=SystemClock(),
            random=Random(0),
            sleep=self._wait,
        )
        profile = EmbeddingProfile("fake", "hash-384", dimensions, max_input_tokens)
        self._embedders.append(OpenAIEmbedder(profile, endpoint, sent_dimensions=sent_dimensions))
        return self._embedders[-1]

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def close(self) -> None:
        for embedder in self._embedders:
            await embedder.close()


@pytest.fixture
async def opened(server: OpenAIServer) -> AsyncIterator[Opened]:
    opened = Opened(server)
    yield opened
    await opened.close()


async def test_many_texts_go_in_requests_within_the_limits_and_come_back_in_order(server, opened):
    texts = [f"chunk {number} " + "word " * 800 for number in range(1_000)]

    batch = await opened().embed_passages(texts)

    assert batch.failures == ()
    assert np.allclose(batch.vectors, hash_vectors(texts), atol=1e-6)
    assert server.stats.largest_request_inputs <= 2048
    assert batch.usage.calls == server.stats.requests >= 3  # 1,000 times 800 tokens are 800,000


async def test_requests_hold_no_more_inputs_than_configured(server, opened):
    batch = await opened(max_inputs_per_request=3).embed_passages([f"text {number}" for number in range(10)])

    assert server.stats.largest_request_inputs == 3
    assert batch.usage.calls == server.stats.requests == 4


@given(
    tokens=st.lists(st.integers(1, 50), max_size=60),
    max_inputs=st.integers(1, 10),
    max_tokens=st.integers(1, 100),
)
def test_packing_loses_nothing_and_keeps_both_limits(tokens: list[int], max_inputs: int, max_tokens: int):
    inputs = [Input(index, "", count) for index, count in enumerate(tokens)]

    requests = list(packed(inputs, max_inputs=max_inputs, max_tokens=max_tokens))

    assert [each for request in requests for each in request] == inputs
    assert all(len(request) <= max_inputs for request in requests)
    assert all(len(request) == 1 or sum(each.tokens for each in request) <= max_tokens for request in requests)


async def test_floats_are_asked_for_and_dimensions_only_if_configured(server, opened):
    await opened().embed_passages(["one"])
    await opened(sent_dimensions=384).embed_passages(["two"])

    first, second = server.stats.bodies
    assert first["encoding_format"] == second["encoding_format"] == "float"
    assert "dimensions" not in first
    assert second["dimensions"] == 384


async def test_model_that_knows_no_dimensions_works_without_and_refuses_once_with(server, opened):
    server.script("refuse_dimensions", times=None)

    without = await opened().embed_passages(["one"])
    with pytest.raises(RefusedError, match="matryoshka") as caught:
        await opened(sent_dimensions=384, max_inputs_per_request=1).embed_passages(["two"])

    assert without.failures == ()
    assert "settings of the recipe" in str(caught.value)


async def test_server_that_ignores_the_format_still_gives_vectors_of_true_width(server, opened):
    server.script("base64")

    batch = await opened().embed_passages(["one", "two"])

    assert np.allclose(batch.vectors, hash_vectors(["one", "two"]), atol=1e-6)


async def test_items_in_another_order_are_put_in_order_by_their_index(server, opened):
    server.script("reorder")

    batch = await opened().embed_passages(["one", "two", "three"])

    assert np.allclose(batch.vectors, hash_vectors(["one", "two", "three"]), atol=1e-6)


async def test_prefixes_stand_before_questions_and_texts(server):
    spec = EmbeddingModelSpec(
        provider="fake", model="hash-384", dimensions=384, query_prefix="query: ", passage_prefix="passage: "
    )
    embedder = await open_embedder(spec, {"fake": EndpointConfig(base_url=server.base_url)})

    await embedder.embed_queries(["why"])
    await embedder.embed_passages(["because"])
    await embedder.close()

    assert server.stats.seen_times("query: why") == server.stats.seen_times("passage: because") == 1


# Texts that fail alone


async def test_batch_with_too_many_tokens_is_divided_and_succeeds(server, opened):
    server.script("max_tokens", times=None, limit=100)
    texts = [f"{number:02d}" + "深" * 20 for number in range(20)]

    batch = await opened().embed_passages(texts)

    assert batch.failures == ()
    assert np.allclose(batch.vectors, hash_vectors(texts), atol=1e-6)
    assert batch.usage.calls == server.stats.requests > 1


async def test_single_text_that_is_refused_as_too_long_fails_with_its_index(server, opened):
    server.script("max_tokens", times=None, limit=50)
    texts = ["short", "also short", "x " * 300, "short again"]

    batch = await opened().embed_passages(texts)

    assert [(failure.index, failure.code) for failure in batch.failures] == [(2, "REFUSED_INPUT")]
    assert not batch.vectors[2].any()
    assert np.allclose(batch.vectors[[0, 1, 3]], hash_vectors(["short", "also short", "short again"]), atol=1e-6)


async def test_text_over_the_models_limit_is_refused_before_the_call(server, opened):
    batch = await opened(max_input_tokens=100).embed_passages(["word " * 101])

    assert [failure.code for failure in batch.failures] == ["INPUT_TOO_LONG"]
    assert server.stats.requests == 0


async def test_nan_in_one_row_fails_only_that_text(server, opened):
    server.script("nan_row", marker="cursed")

    batch = await opened().embed_passages(["fine", "cursed", "good"])

    assert [(failure.index, failure.code) for failure in batch.failures] == [(1, "NAN_VECTOR")]
    assert np.isfinite(batch.vectors).all()
    assert np.allclose(batch.vectors[[0, 2]], hash_vectors(["fine", "good"]), atol=1e-6)


async def test_server_error_about_nan_is_narrowed_down_to_the_text(server, opened):
    server.script("nan_error", times=None, marker="cursed")
    texts = [f"fine {number}" for number in range(15)] + ["cursed"]

    batch = await opened().embed_passages(texts)

    assert [(failure.index, failure.code) for failure in batch.failures] == [(15, "NAN_VECTOR")]
    assert np.allclose(batch.vectors[:15], hash_vectors(texts[:15]), atol=1e-6)
    assert opened.waits == []


async def test_failure_messages_hold_nothing_of_the_text(server, opened):
    server.script("max_tokens", times=None, limit=1)
    server.script("nan_row", marker="geheim")

    batch = await opened(max_input_tokens=20).embed_passages(["geheim " * 8, "geheim " * 50])

    assert len(batch.failures) == 2
    assert all("geheim" not in failure.message for failure in batch.failures)


# Answers that break the contract


async def test_another_width_names_both_numbers_and_the_remedy(server, opened):
    server.script("wrong_width", width=768)

    with pytest.raises(MalformedAnswerError, match=r"768.*384.*dimensions: 768"):
        await opened().embed_passages(["one"])

    assert server.stats.requests == 1


@pytest.mark.parametrize(
    ("kind", "said"),
    [("missing_item", "no item with index 1"), ("double_item", "index 0 twice"), ("no_json", "no JSON")],
)
async def test_answer_with_missing_or_double_rows_or_without_json_is_malformed(server, opened, kind: str, said: str):
    server.script(kind)

    with pytest.raises(MalformedAnswerError, match=said):
        await opened().embed_passages(["one", "two"])


# Trying again, and when not


async def test_throttled_request_waits_as_long_as_asked_and_succeeds(server, opened):
    server.script("throttle", retry_after="0.01")
    server.script("throttle", message="Rate limit reached. Please try again in 20ms.")

    batch = await opened().embed_passages(["one"])

    assert batch.failures == ()
    assert opened.waits == pytest.approx([0.01, 0.02])
    assert batch.usage.calls == server.stats.requests == 3


async def test_wait_longer_than_the_deadline_ends_at_once(server, opened):
    server.script("throttle", times=None, retry_after="3600")

    with pytest.raises(RateLimitedError) as caught:
        await opened().embed_passages(["one"])

    assert caught.value.facts["retry_after_seconds"] == 3600
    assert server.stats.requests == 1


async def test_while_the_endpoint_wants_a_long_pause_nobody_asks_it_and_nobody_hangs(server, opened):
    server.script("throttle", retry_after="3600")
    with pytest.raises(RateLimitedError):
        await opened().embed_passages(["one"])

    with pytest.raises(RateLimitedError, match=r"3\d{3} more seconds"):
        await opened().embed_passages(["two"])

    assert server.stats.requests == 1


async def test_server_error_and_cut_connection_are_tried_again(server, opened):
    server.script("error", status=503)
    server.script("cut")

    batch = await opened().embed_passages(["one"])

    assert np.allclose(batch.vectors, hash_vectors(["one"]), atol=1e-6)
    assert batch.usage.calls == server.stats.requests == 3


@pytest.mark.parametrize("kind", ["unauthorized", "unknown_model"])
async def test_refused_key_or_model_fails_at_once_and_once(server, opened, kind: str):
    server.script(kind, times=None)

    with pytest.raises(RefusedError) as caught:
        await opened(max_concurrency=1, max_inputs_per_request=1).embed_passages([f"text {n}" for n in range(50)])

    assert server.stats.requests == 1
    assert caught.value.facts["calls"] == 1


async def test_server_that_never_answers_ends_at_the_one_deadline(server, opened):
    server.script("stall", times=None)

    with pytest.raises(UnavailableError):
        async with asyncio.timeout(20):
            await opened(timeout_seconds=0.3).embed_passages(["one"])

    assert server.stats.requests == 1


async def test_unreachable_endpoint_is_named_and_counts_no_call():
    endpoint = OpenAIEndpoint(
        "nowhere",
        EndpointConfig(base_url="http://127.0.0.1:9/v1", max_attempts=2, timeout_seconds=5),
        clock=SystemClock(),
        random=Random(0),
    )
    embedder = OpenAIEmbedder(EmbeddingProfile("nowhere", "m", 384, 512), endpoint)

    with pytest.raises(UnavailableError, match="nowhere") as caught:
        await embedder.embed_passages(["one"])
    await embedder.close()

    assert caught.value.facts["calls"] == 0


async def test_cancellation_passes_through_and_frees_the_slot(server, opened):
    server.script("stall")
    embedder = opened(max_concurrency=1)
    task = asyncio.create_task(embedder.embed_passages(["one"]))
    while not server.stats.requests:
        await asyncio.sleep(0.005)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await embedder.embed_passages(["two"])).failures == ()


async def test_when_one_request_fails_for_good_the_others_are_cancelled(server, opened):
    server.script("unknown_model", marker="bad")
    server.script("stall", times=None)

    with pytest.raises(RefusedError):
        async with asyncio.timeout(20):
            await opened(max_inputs_per_request=1).embed_passages(["slow", "bad", "slower"])


# Sharing


async def test_all_embedders_of_an_endpoint_share_its_limit(server, opened):
    first, second = opened(max_concurrency=2), opened(max_concurrency=2, max_inputs_per_request=1)

    texts = [f"text {number}" for number in range(10)]
    await asyncio.gather(first.embed_passages(texts), second.embed_passages(texts), second.embed_queries(texts))

    assert server.stats.most_in_flight <= 2


def test_connections_of_one_event_loop_are_neither_used_nor_left_open_in_the_next(server):
    endpoints = {"fake": EndpointConfig(base_url=server.base_url)}
    spec = EmbeddingModelSpec(provider="fake", model="hash-384", dimensions=384)
    embedder = asyncio.run(open_embedder(spec, endpoints))

    for _ in range(3):
        batch = asyncio.run(embedder.embed_passages(["one"]))

        assert batch.failures == ()


# Secrets


async def test_the_key_reaches_the_server_but_no_repr_log_or_error(server, opened, caplog):
    caplog.set_level(logging.DEBUG)
    embedder = opened()
    server.script("error", status=400, message=f"bad key {KEY}")

    with pytest.raises(DependencyError) as caught:
        await embedder.embed_passages(["one"])

    assert server.stats.authorizations[f"Bearer {KEY}"] == 1
    assert isinstance(caught.value, LorebaseError)
    assert KEY not in f"{embedder!r} {caught.value!s} {caught.value!r} {caught.value.facts} {caplog.text}"
