"""The modes that ask a model, over bases that were built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.errors import (
    DeclinedAnswerError,
    MalformedAnswerError,
    TruncatedAnswerError,
    UnavailableError,
    UnsupportedModeError,
    UsageError,
)
from lorebase.index.ports import EntityFields, Equals, TextEntity
from lorebase.models.chat import ChatReply
from lorebase.models.rerank import RankedText
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.modes.settings import ModeSettings
from lorebase.retrieval.provenance import FoundBy
from tests.fakes.asking_workspace import AskingWorkspace
from tests.fakes.scripted_chat import Answer, ScriptedChat
from tests.fakes.scripted_rerank import ScriptedReranker
from tests.fakes.workspace import RECIPE
from tests.runs.snapshot_checks import build_of

MODELS = "models: {embedding: {provider: local}"
WITH_BOTH = RECIPE.replace(
    MODELS, f"{MODELS}, chat: {{provider: gate, model: m}}, rerank: {{provider: gate, model: r}}"
)
WITH_CHAT_ALONE = RECIPE.replace(MODELS, f"{MODELS}, chat: {{provider: gate, model: m}}, rerank: {{provider: chat}}")
TEXTS = {
    "harbour.md": "# Harbour\n\nThe lamp on the pier burns whale oil.\n",
    "keeper.md": "# Keeper\n\nBrandt keeps the lamp in order all winter.\n",
    "brandt.md": "# People\n\nBrandt was born in the village of Norwick.\n",
    "灯塔.md": "# 灯塔\n\n灯塔每晚八点亮灯。夏季推迟一小时。\n",
}
MODES = ("rerank_search", "rewrite_search", "multihop_search")
CHAT_MODES = ("rewrite_search", "multihop_search")
ENOUGH = '{"enough": true, "next_question": ""}'


def rewrites(*queries: str) -> str:
    return json.dumps({"queries": list(queries)}, ensure_ascii=False)


def hop(question: str) -> str:
    return json.dumps({"enough": False, "next_question": question})


async def base_of(folder: Path, *answers: Answer, recipe: str = WITH_BOTH) -> KnowledgeBase:
    workspace = AskingWorkspace(folder / "ws")
    workspace.chat = ScriptedChat(answers or [rewrites()])
    await build_of(folder, workspace, TEXTS, recipe)
    return KnowledgeBase.load("demo", workspace)


def fakes(base: KnowledgeBase) -> AskingWorkspace:
    assert isinstance(base.workspace, AskingWorkspace)
    return base.workspace


def names(found: QueryResult) -> list[str]:
    return [result.document.name for result in found.results]


def prefers(word: str) -> ScriptedReranker:
    return ScriptedReranker(lambda text: 0.9 if word in text else 0.1)


async def test_a_reranked_search_gives_confirmed_candidates_in_the_rerankers_order(tmp_path: Path) -> None:
    """K-067."""
    base = await base_of(tmp_path)
    fakes(base).scripted_reranker = reranker = prefers("Norwick")

    found = await base.query("who keeps the lamp", mode="rerank_search", top_k=2)

    candidates = await base.query("who keeps the lamp", mode="hybrid_search", top_k=50)
    assert names(found)[0] == "brandt.md"
    assert [result.score for result in found.results] == [0.9, 0.1]
    assert reranker.asked == [("who keeps the lamp", [result.text for result in candidates.results])]
    assert found.trace is not None
    assert (found.trace.base_mode, found.trace.reranked) == ("hybrid_search", len(candidates.results))
    assert found.results[0].provenance[0].mode == "hybrid_search"
    assert fakes(base).chat.calls == 0


async def test_no_model_sees_what_the_authority_does_not_confirm(tmp_path: Path) -> None:
    """K-067."""
    base = await base_of(tmp_path, hop("lamp again"), ENOUGH)
    fields = EntityFields("ghost", "d-0123456789abcdef", "rev", "demo", searchable=True)
    await fakes(base).index_store.lexical("demo").upsert([TextEntity(fields, "lamp lamp lamp SECRET")])

    reranked = await base.query("lamp", mode="rerank_search")
    hopped = await base.query("lamp", mode="multihop_search")

    assert all("SECRET" not in text for _, texts in fakes(base).scripted_reranker.asked for text in texts)
    assert all("SECRET" not in request.prompt for request in fakes(base).chat.requests)
    assert "ghost" not in {result.chunk_id for found in (reranked, hopped) for result in found.results}
    assert reranked.results


async def test_the_reranker_sees_no_more_candidates_than_it_takes_or_the_query_allows(tmp_path: Path) -> None:
    base = await base_of(tmp_path)
    fakes(base).scripted_reranker = reranker = ScriptedReranker(max_texts=3)

    await base.query("lamp", mode="rerank_search", top_k=1)
    await base.query("lamp", mode="rerank_search", top_k=1, settings=ModeSettings(candidates=2))
    with pytest.raises(UsageError, match="only 3 candidates are reranked"):
        await base.query("lamp", mode="rerank_search", top_k=4)

    assert [len(texts) for _, texts in reranker.asked] == [3, 2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "failure",
    [
        UnavailableError("It did not answer.", dependency="rerank"),
        MalformedAnswerError("Its answer was none.", dependency="rerank"),
    ],
)
async def test_a_reranker_that_fails_fails_the_query(
    tmp_path: Path, mode: str, failure: UnavailableError | MalformedAnswerError
) -> None:
    """KQ-16."""
    base = await base_of(tmp_path, rewrites() if mode == "rewrite_search" else ENOUGH)
    fakes(base).scripted_reranker = ScriptedReranker(failure=failure)

    with pytest.raises(type(failure)):
        await base.query("lamp", mode=mode, settings=ModeSettings(then_rerank=True))


async def test_a_chat_model_that_reranks_is_asked_once_and_kept_replies_cost_nothing(tmp_path: Path) -> None:
    judged = json.dumps({"passages": [{"number": 1, "relevance": 2}, {"number": 2, "relevance": 9}]})
    base = await base_of(tmp_path, judged, recipe=WITH_CHAT_ALONE)

    first = await base.query("lamp", mode="rerank_search", top_k=2)
    again = await base.query("lamp", mode="rerank_search", top_k=2)

    assert fakes(base).chat.calls == 1
    assert first.results == again.results
    assert [result.score for result in first.results] == [0.9, 0.2]
    assert first.usage is not None
    assert again.usage is not None
    assert (first.usage.chat.calls, first.usage.chat.cached_calls) == (1, 0)
    assert (again.usage.chat.calls, again.usage.chat.cached_calls) == (0, 1)
    assert again.usage.chat.input_tokens == 0


async def test_a_judgement_of_nothing_fails_the_query_and_is_not_kept(tmp_path: Path) -> None:
    judged = json.dumps({"passages": [{"number": 1, "relevance": 8}]})
    base = await base_of(tmp_path, '{"passages": []}', judged, recipe=WITH_CHAT_ALONE)

    with pytest.raises(MalformedAnswerError, match="judged none"):
        await base.query("lamp", mode="rerank_search", top_k=1)
    found = await base.query("lamp", mode="rerank_search", top_k=1)

    assert [result.score for result in found.results] == [0.8]


async def test_a_rewritten_search_joins_what_question_and_variants_find_and_says_which_found_it(
    tmp_path: Path,
) -> None:
    base = await base_of(tmp_path, rewrites("village of Norwick", "LAMP fuel?", "灯塔每晚几点亮灯", "lamp fuel"))

    found = await base.query("lamp fuel", mode="rewrite_search", top_k=10)

    assert found.trace is not None
    assert [(search.variant, search.query) for search in found.trace.searches] == [
        (None, "lamp fuel"),
        (1, "village of Norwick"),
        (2, "灯塔每晚几点亮灯"),
    ]
    by_name = {result.document.name: result.provenance for result in found.results}
    assert FoundBy(mode="hybrid_search", query="village of Norwick", rank=1, variant=1) in by_name["brandt.md"]
    assert FoundBy(mode="hybrid_search", query="灯塔每晚几点亮灯", rank=1, variant=2) in by_name["灯塔.md"]
    assert fakes(base).chat.calls == 1
    assert fakes(base).embedded == [["lamp fuel", "village of Norwick", "灯塔每晚几点亮灯"]]


@pytest.mark.parametrize(
    ("question", "languages"), [("when is the lamp lit", "English, Chinese"), ("灯塔几点亮灯", "中文, 英文")]
)
async def test_variants_are_asked_for_in_the_languages_of_question_and_base(
    tmp_path: Path, question: str, languages: str
) -> None:
    base = await base_of(tmp_path)

    await base.query(question, mode="rewrite_search")

    assert languages in fakes(base).chat.requests[0].system


async def test_no_more_variants_are_searched_than_allowed_and_none_is_no_fault(tmp_path: Path) -> None:
    base = await base_of(tmp_path, rewrites(*"abcdefgh"), rewrites())

    many = await base.query("lamp", mode="rewrite_search", settings=ModeSettings(variants=2))
    none = await base.query("pier", mode="rewrite_search")

    assert [len(found.trace.searches) for found in (many, none) if found.trace] == [3, 1]
    assert names(none)[0] == "harbour.md"


async def test_a_multihop_search_follows_the_evidence_and_says_by_which_hop(tmp_path: Path) -> None:
    base = await base_of(tmp_path, hop("where was Brandt born"), ENOUGH)

    found = await base.query("lamp keeper birthplace", mode="multihop_search", top_k=10)

    assert found.trace is not None
    assert [(search.hop, search.query) for search in found.trace.searches][1:] == [(1, "where was Brandt born")]
    born = next(result for result in found.results if result.document.name == "brandt.md")
    assert (born.score, born.provenance[-1].hop, born.provenance[-1].rank) == (1.0, 1, 1)
    assert found.usage is not None
    assert found.usage.chat.calls == fakes(base).chat.calls


async def test_a_reranker_after_other_modes_is_asked_once_over_all_they_found(tmp_path: Path) -> None:
    base = await base_of(tmp_path, rewrites("Norwick village", "灯塔"))
    fakes(base).scripted_reranker = reranker = prefers("灯塔")

    found = await base.query("lamp", mode="rewrite_search", top_k=1, settings=ModeSettings(then_rerank=True))

    assert names(found) == ["灯塔.md"]
    assert [question for question, _ in reranker.asked] == ["lamp"]
    assert fakes(base).chat.calls == 1
    assert [search.variant for search in found.results[0].provenance]
    assert found.usage is not None
    assert (found.usage.chat.calls, found.usage.rerank.calls, found.usage.embedding.calls) == (1, 1, 1)


@pytest.mark.parametrize("mode", CHAT_MODES)
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (UnavailableError("It did not answer.", dependency="gate"), UnavailableError),
        (DeclinedAnswerError("It declined.", dependency="gate"), DeclinedAnswerError),
        (ChatReply("{", truncated=True, finish="max-tokens"), TruncatedAnswerError),
        ("no JSON", MalformedAnswerError),
    ],
)
async def test_a_chat_model_of_no_use_fails_the_query(
    tmp_path: Path, mode: str, answer: Answer, error: type[Exception]
) -> None:
    base = await base_of(tmp_path, answer)

    with pytest.raises(error):
        await base.query("lamp", mode=mode)


@pytest.mark.parametrize("mode", MODES)
async def test_the_same_query_again_gives_the_same_and_asks_no_model(tmp_path: Path, mode: str) -> None:
    base = await base_of(tmp_path, rewrites("pier") if mode == "rewrite_search" else hop("pier"), ENOUGH)

    first = await base.query("lamp", mode=mode)
    asked = (fakes(base).chat.calls, len(fakes(base).scripted_reranker.asked))
    again = await base.query("lamp", mode=mode)

    assert (again.results, again.trace) == (first.results, first.trace)
    assert (fakes(base).chat.calls, len(fakes(base).scripted_reranker.asked)) == asked
    assert sum(asked) >= 1


@pytest.mark.parametrize("mode", MODES)
async def test_conditions_hold_in_every_search_of_the_query(tmp_path: Path, mode: str) -> None:
    base = await base_of(tmp_path, rewrites("Norwick") if mode == "rewrite_search" else hop("Norwick"), ENOUGH)
    all_found = await base.query("lamp", mode="hybrid_search")
    document = all_found.results[0].document

    found = await base.query("lamp", mode=mode, where=(Equals("document_id", document.id),))

    assert {result.document.id for result in found.results} == {document.id}


async def test_over_full_text_alone_nothing_is_embedded(tmp_path: Path) -> None:
    recipe = WITH_BOTH.replace("      - embed_chunks: {}\n      - index_vectors: {}\n", "").replace(
        "embedding: {provider: local}, ", ""
    )
    base = await base_of(tmp_path, rewrites("pier", "Norwick"), recipe=recipe)

    found = await base.query("lamp", mode="rewrite_search")

    assert found.trace is not None
    assert found.trace.base_mode == "full_text_search"
    assert "brandt.md" in names(found)
    assert fakes(base).embedded == []


async def test_a_base_without_models_refuses_and_says_what_would_unlock_it(tmp_path: Path) -> None:
    base = await base_of(tmp_path, recipe=RECIPE)

    with pytest.raises(UnsupportedModeError, match=r"serves vector_search.*Add models\.rerank to its recipe"):
        await base.query("lamp", mode="rerank_search")
    with pytest.raises(UnsupportedModeError, match=r"Add models\.chat to its recipe"):
        await base.query("lamp", mode="multihop_search")
    assert base.capabilities.queries == ("vector_search", "full_text_search", "hybrid_search")


async def test_a_reranker_that_is_to_follow_has_to_be_there(tmp_path: Path) -> None:
    recipe = RECIPE.replace(MODELS, f"{MODELS}, chat: {{provider: gate, model: m}}")
    base = await base_of(tmp_path, recipe=recipe)

    with pytest.raises(UnsupportedModeError, match=r"Add models\.rerank"):
        await base.query("lamp", mode="rewrite_search", settings=ModeSettings(then_rerank=True))

    assert fakes(base).chat.calls == 0


@pytest.mark.parametrize("bounds", [{"candidates": 51}, {"variants": 0}, {"hops": 6}])
def test_bounds_out_of_their_range_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="it must be from 1 to"):
        ModeSettings(**bounds)


async def test_a_malformed_order_is_no_order(tmp_path: Path) -> None:
    base = await base_of(tmp_path)
    fakes(base).scripted_reranker = ScriptedReranker(answer=[RankedText(99, 0.5)])

    with pytest.raises(MalformedAnswerError, match="names text 99"):
        await base.query("lamp", mode="rerank_search")
