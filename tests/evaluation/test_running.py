"""An evaluation from its questions to its figures, over a real small base."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lorebase.artifacts.snapshots import Snapshot
from lorebase.errors import InvalidDataSetError, UnavailableError, UnsupportedModeError, UsageError
from lorebase.evaluation.model import DataSet, EvaluationCase, EvaluationResult, Expected
from lorebase.evaluation.running import EvaluationSettings, evaluate
from lorebase.knowledge_base import KnowledgeBase
from lorebase.models.ports import EmbeddingProfile
from lorebase.recipes.loading import parse_recipe
from lorebase.retrieval.model import QueryResult
from tests.fakes.workspace import FakeWorkspace

DOCUMENTS = {
    "harbour.md": "A berth in the harbour costs nine crowns a night.",
    "garden.md": "Beans are sown in May, after the last frost.",
    "图书馆.md": "读者每次可以借阅五册图书，期限三十天。",
}
BERTH = EvaluationCase(
    case_id="1", question="What does a berth in the harbour cost?", expected=Expected(texts=("nine crowns",))
)
BEANS = EvaluationCase(case_id="2", question="When are beans sown?", expected=Expected(documents={"garden": 1}))
BOOKS = EvaluationCase(case_id="3", question="读者每次可以借阅多少册图书？", expected=Expected(texts=("借阅五册",)))
MUSIC = EvaluationCase(case_id="4", question="Which orchestra plays symphonies?", answerable=False)


class SteppingClock:
    """Every look at it takes a second."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        self._seconds += 1.0
        return self._seconds


class FailingBase:
    """A base of which some questions fail."""

    def __init__(self, base: KnowledgeBase, failing: str) -> None:
        self._base = base
        self._failing = failing

    def snapshot(self) -> Snapshot:
        return self._base.snapshot()

    async def embedding_profile(self) -> EmbeddingProfile | None:
        return await self._base.embedding_profile()

    async def query(self, query: str, *, mode: str, top_k: int) -> QueryResult:
        if query == self._failing:
            raise UnavailableError("The model does not answer.", dependency="model")
        return await self._base.query(query, mode=mode, top_k=top_k)


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "documents").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "documents" / name).write_text(text, encoding="utf-8")
    recipe = parse_recipe(
        "name: demo\nsources: [{folder: documents}]\nprocedures: [{use: full_text_index}]\n", folder=tmp_path
    )
    return asyncio.run(KnowledgeBase.create(recipe, FakeWorkspace(tmp_path / "workspace")))


async def evaluated(base: KnowledgeBase, *cases: EvaluationCase, failing: str = "") -> EvaluationResult:
    return await evaluate(
        FailingBase(base, failing),
        base.workspace.object_store,
        DataSet(name="set", cases=cases),
        EvaluationSettings(mode="full_text_search", top_k=5),
        clock=SteppingClock(),
    )


async def test_documents_texts_and_chinese_are_found_and_the_unanswerable_is_told(base: KnowledgeBase) -> None:
    """K-068."""
    result = await evaluated(base, BERTH, BEANS, BOOKS, MUSIC)

    assert (result.questions, result.answerable_questions, result.errors) == (4, 3, 0)
    assert result.metrics["recall@5"] == result.metrics["mrr@5"] == 1.0
    assert result.metrics["answerable_accuracy"] == result.metrics["answerable_auroc"] == 1.0
    assert result.metrics["citation_correctness"] == result.metrics["citations_resolve"] == 1.0
    assert [outcome.case_id for outcome in result.outcomes] == ["1", "2", "3", "4"]


async def test_a_query_that_fails_counts_as_zero_and_is_kept(base: KnowledgeBase) -> None:
    result = await evaluated(base, BERTH, BEANS, failing="When are beans sown?")

    failed = result.outcomes[1]
    assert result.errors == 1
    assert failed.error is not None
    assert failed.error.code == "DEPENDENCY_UNAVAILABLE"
    assert set(failed.values.values()) == {0.0}
    assert set(failed.values) == set(result.outcomes[0].values)
    assert result.metrics["recall@5"] == result.metrics["answerable_accuracy"] == 0.5


async def test_a_failed_query_is_never_a_right_refusal(base: KnowledgeBase) -> None:
    result = await evaluated(base, BERTH, MUSIC, failing="Which orchestra plays symphonies?")

    assert result.metrics["answerable_accuracy"] == 0.5
    assert result.metrics["answerable_auroc"] < 1.0
    assert result.outcomes[1].judged_answerable


async def test_a_first_query_that_fails_ends_nothing(base: KnowledgeBase) -> None:
    result = await evaluated(base, BERTH, BEANS, failing="What does a berth in the harbour cost?")

    assert [outcome.error is not None for outcome in result.outcomes] == [True, False]


async def test_a_mode_that_the_base_lacks_and_too_many_results_end_it_before_the_first_query(
    base: KnowledgeBase,
) -> None:
    async def asked(settings: EvaluationSettings) -> None:
        await evaluate(
            base, base.workspace.object_store, DataSet(name="set", cases=(BERTH,)), settings, clock=SteppingClock()
        )

    with pytest.raises(UnsupportedModeError, match="vector_search"):
        await asked(EvaluationSettings(mode="vector_search"))
    with pytest.raises(UsageError, match="top_k is 101"):
        await asked(EvaluationSettings(mode="full_text_search", top_k=101))


async def test_latency_is_that_of_the_clock(base: KnowledgeBase) -> None:
    result = await evaluated(base, BERTH, BEANS)

    assert (result.latency.mean_seconds, result.latency.p95_seconds) == (1.0, 1.0)


async def test_a_document_that_the_base_lacks_ends_the_evaluation_and_is_named(base: KnowledgeBase) -> None:
    """C162."""
    lacking = EvaluationCase(
        case_id="9", question="?a", expected=Expected(documents={"ferry.md": 1}), place="set.jsonl:7"
    )

    with pytest.raises(InvalidDataSetError, match=r"document 'ferry\.md' \(set\.jsonl:7\)"):
        await evaluated(base, BERTH, lacking)


async def test_questions_whose_text_the_base_lacks_are_unanswerable(base: KnowledgeBase) -> None:
    held = BERTH.model_copy(update={"answerable": None})
    missing = EvaluationCase(
        case_id="5", question="Which orchestra plays?", expected=Expected(texts=("the town band",)), answerable=None
    )

    result = await evaluated(base, held, missing)

    assert [outcome.answerable for outcome in result.outcomes] == [True, False]


async def test_a_data_set_of_another_base_is_refused(base: KnowledgeBase) -> None:
    missing = EvaluationCase(case_id="5", question="Who?", expected=Expected(texts=("the town band",)), answerable=None)

    with pytest.raises(InvalidDataSetError, match="holds none of the texts of set"):
        await evaluated(base, missing)
