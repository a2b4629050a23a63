"""What becomes of a reranker's answer."""

from __future__ import annotations

import math

import pytest

from lorebase.documents.model import Chunk
from lorebase.errors import MalformedAnswerError, UnavailableError
from lorebase.models.rerank import RankedText
from lorebase.retrieval.model import ComponentScores, SearchResult, result_of
from lorebase.retrieval.modes.reranking import reranked
from tests.fakes.scripted_rerank import ScriptedReranker


def candidate(chunk_id: str, text: str = "text") -> SearchResult:
    chunk = Chunk(chunk_id, "doc", "rev", "notes.md", "notes", 0, text, 3, 9, ("Notes",), page=2)
    return result_of(chunk, rank=1, score=0.7, scores=ComponentScores(vector=0.7))


async def test_the_score_decides_and_equal_scores_go_by_id() -> None:
    reranker = ScriptedReranker(lambda text: 0.9 if text == "good" else 0.4)

    found = await reranked(reranker, "q", [candidate("c"), candidate("b"), candidate("a", "good")], top_k=3)

    assert [(one.rank, one.chunk_id, one.score) for one in found] == [(1, "a", 0.9), (2, "b", 0.4), (3, "c", 0.4)]
    assert found[0].scores == ComponentScores(vector=0.7, rerank=0.9)


async def test_what_the_reranker_leaves_out_comes_last_without_a_score_of_it() -> None:
    reranker = ScriptedReranker(answer=[RankedText(2, 0.1)])

    found = await reranked(reranker, "q", [candidate("a"), candidate("b"), candidate("c")], top_k=3)

    assert [(one.chunk_id, one.score) for one in found] == [("c", 0.1), ("a", 0.0), ("b", 0.0)]
    assert [one.scores.rerank for one in found if one.scores] == [0.1, None, None]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ([RankedText(0, 0.5), RankedText(0, 0.4)], "twice"),
        ([RankedText(2, 0.5)], "names text 2"),
        ([RankedText(-1, 0.5)], "names text -1"),
        ([RankedText(0, math.nan)], "no finite score"),
        ([], "none of 2 texts"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(answer: list[RankedText], fault: str) -> None:
    reranker = ScriptedReranker(answer=answer)

    with pytest.raises(MalformedAnswerError, match=fault):
        await reranked(reranker, "q", [candidate("a"), candidate("b")], top_k=2)


async def test_a_reranker_that_fails_is_an_error_never_the_order_before_it() -> None:
    """KQ-16."""
    reranker = ScriptedReranker(failure=UnavailableError("It did not answer.", dependency="rerank"))

    with pytest.raises(UnavailableError):
        await reranked(reranker, "q", [candidate("a")], top_k=1)


async def test_a_reranker_is_not_asked_about_nothing() -> None:
    reranker = ScriptedReranker()

    assert await reranked(reranker, "q", [], top_k=3) == ()
    assert reranker.asked == []


async def test_text_and_citation_of_a_result_stay_whole() -> None:
    before = candidate("a", "灯塔" * 5000)

    (after,) = await reranked(ScriptedReranker(), "q", [before], top_k=1)

    assert (after.text, after.citation, after.document) == (before.text, before.citation, before.document)
