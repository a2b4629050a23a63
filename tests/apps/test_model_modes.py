"""Modes that ask a model, from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apps.cli.main import app
from tests.fakes.openai_server import OpenAIServer

RECIPE = """
name: demo
sources: [{folder: documents}]
models:
  chat: {provider: gate, model: m}
  rerank: {provider: gate, model: r}
procedures:
  - use: full_text_index
capabilities: [rerank_search, multihop_search]
"""
REWRITTEN = '{"queries": ["灯塔几点亮灯"]}'


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.script("chat", times=None, content=REWRITTEN)
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServer) -> Path:
    folder = tmp_path_factory.mktemp("model-modes")
    (folder / "documents").mkdir()
    (folder / "documents" / "harbour.md").write_text("The lamp on the pier burns whale oil.", encoding="utf-8")
    (folder / "documents" / "灯塔.md").write_text("灯塔每晚八点亮灯。", encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (folder / "ws").mkdir()
    endpoint = f"endpoints: {{gate: {{base_url: '{server.base_url}', max_attempts: 1}}}}\n"
    (folder / "ws" / "lorebase.yaml").write_text(endpoint, encoding="utf-8")
    assert run(folder, "build", str(folder / "recipe.yaml"), "--executor", "inline")[0] == 0
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments, "--workspace", str(folder / "ws")])
    return result.exit_code, result.stdout


def test_status_and_report_list_the_modes(folder: Path) -> None:
    modes = ["full_text_search", "rerank_search", "rewrite_search", "multihop_search"]

    _, status = run(folder, "status", "demo", "--json")
    _, report = run(folder, "report", "demo", "--json")

    assert json.loads(status)["queries"] == modes
    assert json.loads(report)["queries"] == modes


def test_a_reranked_search_tells_score_provenance_and_usage(folder: Path) -> None:
    code, text = run(folder, "search", "demo", "lamp", "--mode", "rerank_search", "--json")

    found = json.loads(text)
    assert code == 0
    assert [result["document"]["name"] for result in found["results"]] == ["harbour.md"]
    assert found["results"][0]["scores"]["rerank"] == found["results"][0]["score"]
    assert found["results"][0]["provenance"][0]["mode"] == "full_text_search"
    assert found["usage"]["rerank"]["calls"] == 1


def test_a_rewritten_and_reranked_search_says_by_which_wording(folder: Path) -> None:
    code, text = run(folder, "search", "demo", "tower", "--mode", "rewrite_search", "--rerank")

    assert code == 0
    assert "灯塔.md" in text
    assert "by 灯塔几点亮灯" in text
    assert "chat: 1 calls, 0 kept replies" in text


def test_reranking_what_no_model_searched_is_wrong_usage(folder: Path) -> None:
    result = CliRunner().invoke(
        app, ["search", "demo", "lamp", "--rerank", "--mode", "full_text_search", "--workspace", str(folder / "ws")]
    )

    assert "--rerank goes with rewrite_search and multihop_search" in str(result.exception)


def test_a_reranker_out_of_order_is_an_error_and_no_answer(folder: Path, server: OpenAIServer) -> None:
    """KQ-16."""
    server.script("error", status=503, marker="pier oil")

    result = CliRunner().invoke(
        app, ["search", "demo", "pier oil", "--mode", "rerank_search", "--workspace", str(folder / "ws")]
    )

    assert getattr(result.exception, "code", "") == "DEPENDENCY_UNAVAILABLE"
    assert result.stdout == ""
