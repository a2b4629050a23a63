"""The commands `entities` and `graph`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apps.cli.main import app
from tests.extraction.graph_bases import HARBOUR, TOWER

RECIPE = """
name: demo
sources: [{folder: documents}]
procedures:
  - use: full_text_index
  - use: knowledge_graph
    with: {mode: rules}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph-commands")
    (folder / "documents").mkdir()
    (folder / "documents" / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    (folder / "documents" / "spelt.md").write_text(HARBOUR.replace("Acme", "ACME"), encoding="utf-8")
    (folder / "documents" / "灯塔.md").write_text(TOWER, encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    run(folder, "build", str(folder / "recipe.yaml"), "--executor", "inline")
    return folder


def run(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--workspace", str(folder / "ws")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_entities_are_listed_with_the_merges_that_made_them(folder: Path) -> None:
    listed = json.loads(run(folder, "entities", "demo", "--json"))
    text = run(folder, "entities", "demo")

    merge = next(one for one in listed["merges"] if one["reason"] == "case")
    assert {merge["name"], merge["merged_with"]} == {"ACME Corporation", "Acme Corporation"}
    assert "海洋局" in {entity["name"] for entity in listed["entities"]}
    assert merge["merge_id"] in text


def test_the_neighbourhood_of_an_entity_is_printed_and_drawn(folder: Path) -> None:
    page = folder / "graph.html"

    seen = json.loads(run(folder, "graph", "demo", "海洋局", "--json"))
    run(folder, "graph", "demo", "海洋局", "--html", str(page))
    text = run(folder, "graph", "demo", "海洋局")

    assert {relation["name"] for relation in seen["relations"]} == {"位于", "担任", "由管理"}
    assert "海洋局" in page.read_text(encoding="utf-8")
    assert "海洋局 -[位于]-> 上海市" in text


def test_without_an_entity_the_largest_are_drawn(folder: Path) -> None:
    seen = json.loads(run(folder, "graph", "demo", "--json"))

    assert seen["centre"] is None
    assert {"海洋局", "Norwick"} <= {entity["name"] for entity in seen["entities"]}


def test_without_an_entity_the_largest_come_first(folder: Path) -> None:
    seen = json.loads(run(folder, "graph", "demo", "--json"))

    chunks = [entity["chunks"] for entity in seen["entities"] if entity["hops"] == 0]
    assert len(chunks) > 2
    assert chunks == sorted(chunks, reverse=True)


def test_a_graph_search_says_by_which_path(folder: Path) -> None:
    text = run(folder, "search", "demo", "海洋局在哪里", "--mode", "graph_search")

    assert "海洋局 -[位于]-> 上海市" in text


def test_an_undone_merge_is_kept_for_the_next_build(folder: Path) -> None:
    listed = json.loads(run(folder, "entities", "demo", "--json"))
    merge_id = next(one["merge_id"] for one in listed["merges"] if one["reason"] == "case")

    undone = json.loads(run(folder, "entities", "demo", "--undo", merge_id, "--json"))
    run(folder, "build", str(folder / "recipe.yaml"), "--executor", "inline")

    after = json.loads(run(folder, "entities", "demo", "--json"))
    assert undone["undone"]["merge_id"] == merge_id
    assert after["kept_apart"] == [merge_id]
    assert {"ACME Corporation", "Acme Corporation"} <= {entity["name"] for entity in after["entities"]}
