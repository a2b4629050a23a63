"""Graph search over bases that were built with rules, in English and Chinese."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.errors import NotFoundError, UnsupportedModeError, UsageError
from lorebase.index.ports import Equals
from lorebase.retrieval.graph_views import find_entity, view_of
from lorebase.retrieval.model import QueryResult
from lorebase.retrieval.snapshot_chunks import ChunkCache, SnapshotChunks
from tests.extraction.graph_bases import ACME, BOREALIS, HARBOUR, LAYOUT, RECIPE, TOWER, graph_of_base, live_of
from tests.fakes.workspace import FakeWorkspace, recipe_in
from tests.runs.snapshot_checks import build_of

TEXTS = {
    "acme.md": ACME,
    "borealis.md": BOREALIS,
    "harbour.md": HARBOUR,
    "灯塔.md": TOWER,
    "who.md": "# Health\n\nThe World Health Organization (WHO) was founded in Geneva.\n",
}


@pytest.fixture
async def base(tmp_path: Path) -> KnowledgeBase:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, TEXTS, RECIPE)
    return KnowledgeBase.load("demo", workspace)


def documents(found: QueryResult) -> list[str]:
    return [result.document.name for result in found.results]


@pytest.mark.parametrize(
    ("question", "document", "path"),
    [
        ("what does Acme operate", "harbour.md", "Acme Corporation -[operates]-> Norwick"),
        ("海洋局在哪里？", "灯塔.md", "海洋局 -[位于]-> 上海市"),
        ("谁管理北港灯塔", "灯塔.md", "北港灯塔 -[由管理]-> 海洋局"),
        ("where was the WHO founded", "who.md", "World Health Organization -[was founded in]-> Geneva"),
    ],
)
async def test_a_question_that_names_an_entity_finds_what_is_said_of_it_and_by_which_path(
    base: KnowledgeBase, question: str, document: str, path: str
) -> None:
    found = await base.query(question, mode="graph_search")

    paths = {one for result in found.results if result.document.name == document for one in result.graph_paths}
    assert found.mode == "graph_search"
    assert path in paths


async def test_what_lies_two_relations_away_is_found_with_the_whole_path(base: KnowledgeBase) -> None:
    found = await base.query("Norwick", mode="graph_search")

    by_document = {result.document.name: result.graph_paths for result in found.results}
    assert documents(found)[0] == "harbour.md"
    assert by_document["acme.md"] == ("Norwick <-[operates]- Acme Corporation <-[is]- Li Wei",)


@pytest.mark.parametrize(
    "question", ["Who is the chief financial officer of Acme?", "Li Wei, Acme Corporation", "ＡＣＭＥ"]
)
async def test_a_question_about_the_one_never_cites_the_namesake(base: KnowledgeBase, question: str) -> None:
    """C45."""
    found = await base.query(question, mode="graph_search", top_k=50)

    assert "acme.md" in documents(found)
    assert "borealis.md" not in documents(found)


async def test_a_name_alone_finds_every_one_who_bears_it(base: KnowledgeBase) -> None:
    found = await base.query("Li Wei", mode="graph_search")

    assert {"acme.md", "borealis.md"} <= set(documents(found))


async def test_a_question_that_names_nothing_starts_from_the_nearest_chunks(base: KnowledgeBase) -> None:
    found = await base.query("the harbour operates", mode="graph_search", top_k=1)

    assert documents(found) == ["harbour.md"]
    assert found.results[0].graph_paths


async def test_without_vectors_only_names_lead_into_the_graph(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    recipe = RECIPE.replace("hybrid_index", "full_text_index").replace("models: {embedding: {provider: local}}\n", "")
    base = await KnowledgeBase.create(recipe_in(tmp_path, recipe), workspace)
    await build_of(tmp_path, workspace, TEXTS, recipe)

    named = await base.query("Norwick", mode="graph_search")
    unnamed = await base.query("harbours in general", mode="graph_search")

    assert "harbour.md" in documents(named)
    assert unnamed.results == ()


async def test_conditions_of_a_query_hold_for_graph_results(base: KnowledgeBase) -> None:
    everything = await base.query("Acme Corporation", mode="graph_search")
    wanted = everything.results[-1].document.id

    found = await base.query("Acme Corporation", mode="graph_search", where=(Equals("document_id", wanted),))

    assert len({result.document.id for result in everything.results}) > 1
    assert {result.document.id for result in found.results} == {wanted}


async def test_what_the_authority_does_not_confirm_is_left_out(base: KnowledgeBase, tmp_path: Path) -> None:
    graph = await graph_of_base(base.workspace)

    class Nobody:
        async def resolve(self, candidates: object) -> dict[str, object]:
            return {}

    from lorebase.retrieval.graph_search import GraphRetriever

    found = await GraphRetriever(Nobody(), graph).graph_search("Acme Corporation")

    assert found.results == ()


async def test_equal_questions_have_equal_answers(base: KnowledgeBase) -> None:
    first = await base.query("Li Wei and Acme", mode="graph_search")

    assert await base.query("Li Wei and Acme", mode="graph_search") == first


@pytest.mark.parametrize("query", ["", "x" * 2_001])
async def test_a_query_out_of_range_is_refused(base: KnowledgeBase, query: str) -> None:
    with pytest.raises(UsageError):
        await base.query(query, mode="graph_search")


async def test_a_base_without_a_graph_says_what_unlocks_it(tmp_path: Path) -> None:
    """BQ-14."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"a.md": HARBOUR})

    with pytest.raises(UnsupportedModeError, match="Add the step build_graph"):
        await KnowledgeBase.load("demo", workspace).query("Norwick", mode="graph_search")


async def test_an_entity_is_found_by_name_or_id_and_a_homonym_is_asked_back(base: KnowledgeBase) -> None:
    graph = await graph_of_base(base.workspace)
    acme = await find_entity(graph, "acme corporation")

    by_id = await find_entity(graph, acme.entity_id)

    assert by_id == acme
    with pytest.raises(UsageError, match=r"2 entities of 'demo' are named 'Li Wei': ent-.*beside"):
        await find_entity(graph, "Li Wei")
    with pytest.raises(NotFoundError, match="no entity 'Nobody'"):
        await find_entity(graph, "Nobody")


async def test_a_view_shows_an_entity_with_its_relations_and_their_evidence(base: KnowledgeBase) -> None:
    graph = await graph_of_base(base.workspace)
    store = base.workspace.object_store
    active = SnapshotChunks(store, live_of(base.workspace), ChunkCache(store, LAYOUT))

    view = await view_of(graph, active, await find_entity(graph, "海洋局"))

    assert {entity.name: entity.hops for entity in view.entities} == {
        "海洋局": 0, "上海市": 1, "张伟": 1, "北港灯塔": 1,
    }  # fmt: skip
    assert {relation.name for relation in view.relations} == {"位于", "担任", "由管理"}
    assert all(relation.evidence[0].document == "灯塔.md" for relation in view.relations)
