"""Whether results are enough for an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.models.ports import EmbeddingProfile
from lorebase.retrieval.answerability import answerability, content_words, evidence_signs
from lorebase.retrieval.model import Citation, ComponentScores, ResultDocument, SearchResult

LOCAL = EmbeddingProfile("local", "universal-sentence-encoder-multilingual", 512, 10_000, min_score=0.32)
UNKNOWN = EmbeddingProfile("cloud", "some-model", 1024, 8_192, min_score=0.3)


def result(
    text: str, vector: float | None = None, rerank: float | None = None, *, title: str | None = None
) -> SearchResult:
    return SearchResult(
        rank=1,
        score=1.0,
        chunk_id=text,
        text=text,
        document=ResultDocument(id="d", name="d.md", source="s"),
        citation=Citation(heading_path=(title,) if title else (), page=None, start=0, end=len(text)),
        scores=ComponentScores(vector=vector, rerank=rerank),
    )


def test_nothing_found_is_told_from_low_relevance() -> None:
    """C152, K-068."""
    nothing = answerability("What is music?", [], LOCAL)
    low = answerability("What is music?", [result("A server group holds servers.", 0.1)], LOCAL)

    assert (nothing.answerable, nothing.reason) == (False, "NOTHING_FOUND")
    assert (low.answerable, low.reason) == (False, "LOW_RELEVANCE")


@pytest.mark.parametrize(
    ("question", "text"),
    [("What is this collection about?", "This is what it is about."), ("这个资料库讲什么？", "这个资料库讲的是什么。")],
)
@pytest.mark.parametrize("rerank", [None, 0.9])
def test_a_question_without_a_subject_has_no_evidence_however_near(
    question: str, text: str, rerank: float | None
) -> None:
    found = answerability(question, [result(text, 0.9, rerank), result("Beans.", 0.0)], LOCAL)

    assert (found.answerable, found.score, found.reason) == (False, 0.0, "NO_SUBJECT")
    assert answerability(question, [], LOCAL).reason == "NO_SUBJECT"


@pytest.mark.parametrize(
    ("question", "best", "other"),
    [
        ("How much does a berth cost?", "A berth costs nine crowns a night.", "Beans are sown in May."),
        ("读者可以借阅多少册图书？", "读者每次可以借阅五册图书。", "流动车周一停靠学校。"),
    ],
)
def test_near_in_meaning_and_in_words_is_answerable_and_neither_is_not(question: str, best: str, other: str) -> None:
    """K-068, C151."""
    enough = answerability(question, [result(best, 0.5), result(other, 0.1)], LOCAL)
    far = answerability(question, [result(other, 0.15), result(other, 0.1)], LOCAL)

    assert (enough.answerable, enough.reason) == (True, "ENOUGH_EVIDENCE")
    assert not far.answerable


def test_across_scripts_the_cosine_decides_alone() -> None:
    near = answerability("停靠费是多少？", [result("A berth costs nine crowns.", 0.45)], LOCAL)
    far = answerability("停靠费是多少？", [result("A berth costs nine crowns.", 0.2)], LOCAL)

    assert near.answerable
    assert not far.answerable


def test_a_model_that_was_not_calibrated_needs_its_least_cosine_and_the_words() -> None:
    """KQ-15."""
    question, text, other = "What does a berth cost?", "A berth costs nine crowns.", "Beans are sown in May."

    both = answerability(question, [result(text, 0.4), result(other, 0.1)], UNKNOWN)
    only_words = answerability(question, [result(text, 0.2), result(other, 0.1)], UNKNOWN)
    only_meaning = answerability(question, [result(other, 0.4), result(other, 0.1)], UNKNOWN)

    assert [both.answerable, only_words.answerable, only_meaning.answerable] == [True, False, False]


def test_without_vectors_the_words_decide() -> None:
    found = answerability("What does a berth cost?", [result("A berth costs nine crowns."), result("Beans.")], None)

    assert found.answerable


def test_a_reranker_that_scored_the_best_result_decides() -> None:
    """KQ-15."""
    enough = answerability("Which berth?", [result("x", 0.1, rerank=0.2)], LOCAL)
    too_little = answerability("Which berth?", [result("x", 0.9, rerank=0.19)], LOCAL)

    assert (enough.answerable, enough.threshold) == (True, 0.2)
    assert not too_little.answerable


def test_a_result_that_only_words_found_takes_the_lowest_known_cosine() -> None:
    signs = evidence_signs("berth", [result("berth"), result("harbour", 0.4), result("garden", 0.2)])

    assert signs.cosine == 0.2


def test_what_only_makes_a_question_is_no_content() -> None:
    assert content_words("What is the cost of a berth?") == {"cost", "berth"}
    assert "什么" not in content_words("停靠费是什么")
    assert content_words("What is it?") == {"what", "is", "it"}


@given(st.floats(-1, 1), st.floats(0, 0.5))
def test_for_every_cosine_a_higher_least_score_is_never_easier(cosine: float, raised: float) -> None:
    results = [result("A berth costs nine crowns.", cosine), result("Beans.", 0.0)]
    stricter = EmbeddingProfile(LOCAL.provider, LOCAL.model, 512, 10_000, min_score=0.32 + raised)

    usual = answerability("What does a berth cost?", results, LOCAL)
    strict = answerability("What does a berth cost?", results, stricter)

    assert 0.0 <= strict.score <= usual.score <= 1.0


@pytest.mark.parametrize(
    ("question", "title", "text"),
    [
        ("who are you", "Who are you?", "Who are you? The voice of the lending desk."),
        ("请问你是谁？", "你是谁", "你是谁？我是借阅台的助手。"),
    ],
)
def test_a_question_that_somebody_wrote_down_is_looked_up_though_it_names_nothing(
    question: str, title: str, text: str
) -> None:
    near = [result(text, 0.9, title=title), result("Beans.", 0.0, title="Seeds")]

    assert answerability(question, near, LOCAL).reason == "ENOUGH_EVIDENCE"
    assert answerability("???", [result(text, 0.9, title="")], LOCAL).reason == "NO_SUBJECT"
