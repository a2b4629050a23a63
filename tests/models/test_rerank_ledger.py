"""Orders that are paid for once."""

from __future__ import annotations

import pytest

from lorebase.errors import UnavailableError, UsageError
from lorebase.models.call_ledger import CallLedger
from lorebase.models.ports import ModelUsage
from lorebase.models.rerank import RankedText
from lorebase.models.rerank_ledger import LedgeredReranker
from lorebase.models.settings import RerankModelSpec
from tests.fakes.scripted_rerank import ScriptedReranker

SPEC = RerankModelSpec(provider="gate", model="r1", max_chars_per_text=50)


def by_length(text: str) -> float:
    return min(1.0, len(text) / 10)


async def test_an_equal_question_about_equal_texts_is_asked_once() -> None:
    reranker, ledger, told = ScriptedReranker(by_length), CallLedger(), list[ModelUsage]()

    first = await LedgeredReranker(reranker, SPEC, ledger, told.append).rerank("q", ["a", "bbb", "cc"], 2)
    again = await LedgeredReranker(reranker, SPEC, ledger, told.append).rerank("q", ["a", "bbb", "cc"], 3)

    assert first == [RankedText(1, 0.3), RankedText(2, 0.2)]
    assert again == [*first, RankedText(0, 0.1)]
    assert len(reranker.asked) == 1
    assert [(usage.calls, usage.cached_calls) for usage in told] == [(1, 0), (0, 1)]
    assert told[0].input_tokens > 0


@pytest.mark.parametrize(
    ("spec", "query", "texts"),
    [
        (SPEC, "other", ["a"]),
        (SPEC, "q", ["b"]),
        (SPEC.model_copy(update={"model": "r2"}), "q", ["a"]),
    ],
)
async def test_another_question_text_or_model_is_asked(spec: RerankModelSpec, query: str, texts: list[str]) -> None:
    reranker, ledger = ScriptedReranker(), CallLedger()

    await LedgeredReranker(reranker, SPEC, ledger, lambda usage: None).rerank("q", ["a"], 1)
    await LedgeredReranker(reranker, spec, ledger, lambda usage: None).rerank(query, texts, 1)

    assert len(reranker.asked) == 2


async def test_a_failure_is_not_kept() -> None:
    ledger = CallLedger()
    failing = ScriptedReranker(failure=UnavailableError("It did not answer.", dependency="gate"))

    with pytest.raises(UnavailableError):
        await LedgeredReranker(failing, SPEC, ledger, lambda usage: None).rerank("q", ["a"], 1)
    found = await LedgeredReranker(ScriptedReranker(), SPEC, ledger, lambda usage: None).rerank("q", ["a"], 1)

    assert found == [RankedText(0, 0.5)]


async def test_the_limit_of_the_reranker_holds() -> None:
    reranker = LedgeredReranker(ScriptedReranker(max_texts=1), SPEC, CallLedger(), lambda usage: None)

    with pytest.raises(UsageError):
        await reranker.rerank("q", ["a", "b"], 1)
