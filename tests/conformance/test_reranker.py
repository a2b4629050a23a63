"""What every reranker must do, whoever judges."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import orjson
import pytest

from lorebase.adapters.models.factory import open_reranker
from lorebase.errors import UsageError
from lorebase.models.chat import ChatRequest
from lorebase.models.rerank import Reranker
from lorebase.models.settings import EndpointConfig, RerankModelSpec
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_chat import ScriptedChat

TEXTS = ["zzz", "the bee", "bees keep 蜜蜂", "zzz"]


def judge(request: ChatRequest) -> str:
    """Relevance by shared characters."""
    question, *passages = re.findall(r"<(?:question|passage[^>]*)>\n(.*?)\n</", request.prompt)
    scores = [10 * len(set(question) & set(text)) / len(set(question)) for text in passages]
    judged = [{"number": number, "relevance": score} for number, score in enumerate(scores, start=1)]
    return orjson.dumps({"passages": judged}).decode()


@pytest.fixture(params=["endpoint", "chat"])
async def reranker(request: pytest.FixtureRequest) -> AsyncIterator[Reranker]:
    if request.param == "endpoint":
        with OpenAIServer() as server:
            endpoints = {"fake": EndpointConfig(base_url=server.base_url)}
            opened = open_reranker(RerankModelSpec(provider="fake", model="m", max_texts=4), endpoints)
            yield opened
            await opened.close()
    else:
        yield open_reranker(RerankModelSpec(provider="chat", max_texts=4), {}, chat=ScriptedChat(judge))


async def test_the_best_come_first_and_equals_in_their_order(reranker: Reranker) -> None:
    best = await reranker.rerank("bees 蜜蜂", TEXTS, 4)

    assert [text.index for text in best] == [2, 1, 0, 3]
    assert best[2].score == best[3].score == 0.0
    assert all(0 <= text.score <= 1 for text in best)


async def test_no_more_than_asked_for_are_returned(reranker: Reranker) -> None:
    assert [text.index for text in await reranker.rerank("bees", TEXTS, 1)] == [2]
    assert await reranker.rerank("bees", [], 3) == []


async def test_calls_out_of_range_are_refused(reranker: Reranker) -> None:
    with pytest.raises(UsageError, match="at most 4 texts"):
        await reranker.rerank("bees", ["a"] * 5, 1)
    with pytest.raises(UsageError, match="top_k"):
        await reranker.rerank("bees", ["a"], 0)
