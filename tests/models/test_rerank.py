"""Rerankers: over a /rerank endpoint that misbehaves on order, and over a chat model that judges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from random import Random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.adapters.models.rerank_endpoint import EndpointReranker
from lorebase.clock import SystemClock
from lorebase.errors import DeclinedAnswerError, MalformedAnswerError, RefusedError, UnavailableError, UsageError
from lorebase.models.limiter import limiter_of
from lorebase.models.rerank import RankedText
from lorebase.models.rerank_chat import ChatReranker
from lorebase.models.settings import EndpointConfig, RerankModelSpec
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_chat import ScriptedChat

KEY = "sk-very-secret-key"
TEXTS = ["zzz", "knowledge base", "base"]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


async def no_sleep(seconds: float) -> None:
    del seconds
    await asyncio.sleep(0)


@pytest.fixture
async def reranker(server: OpenAIServer) -> AsyncIterator[EndpointReranker]:
    config = EndpointConfig.model_validate({"base_url": server.base_url, "api_key": KEY})
    spec = RerankModelSpec(provider="fake", model="m", max_texts=5, max_chars_per_text=50)
    reranker = EndpointReranker(spec, config, clock=SystemClock(), random=Random(0), sleep=no_sleep)
    yield reranker
    await reranker.close()


async def test_the_best_texts_come_first(reranker: EndpointReranker, server: OpenAIServer):
    best = await reranker.rerank("knowledge", TEXTS, 2)

    assert [text.index for text in best] == [1, 2]
    assert best[0].score == 1.0
    assert server.stats.bodies == [{"model": "m", "query": "knowledge", "documents": TEXTS, "top_n": 3}]
    assert server.stats.authorizations == {f"Bearer {KEY}": 1}


async def test_no_texts_take_no_request(reranker: EndpointReranker, server: OpenAIServer):
    assert await reranker.rerank("knowledge", [], 2) == []
    assert server.stats.requests == 0


async def test_long_and_broken_texts_are_sent_as_they_can_be(reranker: EndpointReranker, server: OpenAIServer):
    await reranker.rerank("q\ud800", ["x" * 60, "a\udfff", ""], 3)

    assert server.stats.bodies[0]["documents"] == ["x" * 50, "a?", " "]


async def test_scores_outside_0_to_1_are_brought_there_in_their_order(reranker: EndpointReranker, server: OpenAIServer):
    server.script("scores", scores=(-3.0, 5.5, 0.0))

    best = await reranker.rerank("q", TEXTS, 3)

    assert [text.index for text in best] == [1, 2, 0]
    assert best[1] == RankedText(2, 0.5)
    assert all(0 < text.score < 1 for text in best)


async def test_a_text_that_stands_twice_counts_once(reranker: EndpointReranker, server: OpenAIServer):
    server.script("double_item")

    best = await reranker.rerank("knowledge", ["base", "knowledge"], 3)

    assert [text.index for text in best] == [1, 0]


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"kind": "scores", "scores": (1, 2, 3, 4)}, "index 3; 3 texts were sent"),
        ({"kind": "scores", "scores": ()}, "has no results"),
        ({"kind": "no_json"}, "no answer of the OpenAI API"),
    ],
)
async def test_a_malformed_ranking_is_an_error(
    reranker: EndpointReranker, server: OpenAIServer, order: dict[str, object], said: str
):
    server.script(**order)  # type: ignore[arg-type]  # the kind is a text

    with pytest.raises(MalformedAnswerError, match=said):
        await reranker.rerank("q", [*TEXTS], 3)


async def test_throttles_and_failures_are_sent_again(reranker: EndpointReranker, server: OpenAIServer):
    server.script("throttle", times=1, retry_after="0.01")
    server.script("error", times=1, status=503)

    best = await reranker.rerank("knowledge", TEXTS, 1)

    assert [text.index for text in best] == [1]
    assert server.stats.requests == 3


async def test_refused_keys_fail_at_once_and_do_not_leak(reranker: EndpointReranker, server: OpenAIServer):
    server.script("unauthorized", times=None)

    with pytest.raises(RefusedError, match="api_key") as caught:
        await reranker.rerank("q", TEXTS, 1)

    assert server.stats.requests == 1
    assert KEY not in str(caught.value)
    assert caught.value.facts["calls"] == 1


async def test_a_reranker_that_never_answers_ends_at_the_deadline(server: OpenAIServer):
    server.script("stall", times=None)
    spec = RerankModelSpec(provider="fake", model="m")
    config = EndpointConfig(base_url=server.base_url, timeout_seconds=0.3)
    reranker = EndpointReranker(spec, config, clock=SystemClock(), random=Random(0))

    with pytest.raises(UnavailableError, match=r"within 0\.3 seconds"):
        await reranker.rerank("q", TEXTS, 1)
    await reranker.close()

    assert server.stats.requests == 1


async def test_a_reranker_nobody_runs_is_named():
    spec = RerankModelSpec(provider="gone", model="m")
    config = EndpointConfig(base_url="http://127.0.0.1:1/v1", max_attempts=1)
    reranker = EndpointReranker(spec, config, clock=SystemClock(), random=Random(0))

    with pytest.raises(UnavailableError, match="'gone' could not be reached") as caught:
        await reranker.rerank("q", TEXTS, 1)

    assert caught.value.facts["calls"] == 0


@pytest.mark.parametrize(("texts", "top_k"), [(["a"] * 6, 1), (["a"], 0)])
async def test_a_call_that_is_too_large_is_refused_before_it_is_sent(
    reranker: EndpointReranker, server: OpenAIServer, texts: list[str], top_k: int
):
    with pytest.raises(UsageError):
        await reranker.rerank("q", texts, top_k)

    assert server.stats.requests == 0


def test_a_reranker_shares_the_limiter_of_its_endpoint(server: OpenAIServer):
    config = EndpointConfig(base_url=server.base_url, requests_per_minute=60)

    assert limiter_of(config) is limiter_of(EndpointConfig(base_url=server.base_url, requests_per_minute=60))


def judged(*pairs: tuple[int, float]) -> str:
    return orjson.dumps({"passages": [{"number": number, "relevance": score} for number, score in pairs]}).decode()


async def test_relevance_counts_and_not_the_order_of_the_answer():
    model = ScriptedChat([judged((2, 3), (3, 9), (1, 3))])

    best = await ChatReranker(model).rerank("谁?", ["甲", "乙", "丙"], 3)

    assert best == [RankedText(2, 0.9), RankedText(0, 0.3), RankedText(1, 0.3)]
    assert "谁?" in model.requests[0].prompt
    assert '<passage number="3">\n丙\n</passage>' in model.requests[0].prompt


async def test_forgotten_passages_come_last_and_numbers_that_there_are_not_are_passed_over():
    model = ScriptedChat([judged((9, 10), (0, 10), (-1, 10), (2, 4), (2, 6), (3, 99))])

    best = await ChatReranker(model).rerank("q", ["a", "b", "c"], 3)

    assert best == [RankedText(2, 1.0), RankedText(1, 0.6), RankedText(0, 0.0)]


async def test_a_judgement_of_nothing_is_malformed():
    model = ScriptedChat([judged((7, 10))])

    with pytest.raises(MalformedAnswerError, match="judged none of 2 passages"):
        await ChatReranker(model).rerank("q", ["a", "b"], 2)


async def test_a_judge_that_declines_is_an_error():
    model = ScriptedChat([DeclinedAnswerError("No.")])

    with pytest.raises(DeclinedAnswerError):
        await ChatReranker(model).rerank("q", ["a"], 1)


async def test_passages_are_cut_and_bounded_and_none_take_no_call():
    model = ScriptedChat([judged((1, 5))])
    reranker = ChatReranker(model, max_texts=2, max_chars_per_text=3, session_id="knowledge:a")

    await reranker.rerank("q", ["abcdef"], 1)
    nothing = await reranker.rerank("q", [], 1)
    with pytest.raises(UsageError):
        await reranker.rerank("q", ["a"] * 3, 1)

    assert nothing == []
    assert model.calls == 1
    assert "abc\n</passage>" in model.requests[0].prompt
    assert model.requests[0].session_id == "knowledge:a"


@given(
    pairs=st.lists(st.tuples(st.integers(-2, 8), st.floats(-5, 20, allow_nan=False)), min_size=1, max_size=12),
    top_k=st.integers(1, 8),
)
def test_for_every_judgement_each_text_stands_once_best_first(pairs: list[tuple[int, float]], top_k: int):
    texts = ["a", "b", "c", "d"]
    reranker = ChatReranker(ScriptedChat([judged(*pairs)]))

    if not any(1 <= number <= 4 for number, _ in pairs):
        with pytest.raises(MalformedAnswerError):
            asyncio.run(reranker.rerank("q", texts, top_k))
        return
    best = asyncio.run(reranker.rerank("q", texts, top_k))

    assert len({text.index for text in best}) == len(best) == min(top_k, 4)
    assert [text.score for text in best] == sorted((text.score for text in best), reverse=True)
