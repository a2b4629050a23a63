"""The command `cards`, and the search modes over cards and FAQs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apps.cli.main import app
from lorebase.errors import CardNotConfirmedError
from tests.cards.card_bases import BERTH, PIER, TOWER

RECIPE = """
name: demo
sources: [{folder: documents}]
procedures:
  - use: full_text_index
    with: {exclude: ["*.csv"]}
  - use: wiki_cards
    with: {mode: rules, card_types: [concept], subjects: [Pier lamp, 灯塔, nine crowns]}
  - use: faq
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    for name, text in {"pier.md": PIER, "berth.md": BERTH, "灯塔.md": TOWER}.items():
        (tmp_path / "documents" / name).write_text(text, encoding="utf-8")
    (tmp_path / "documents" / "faq.csv").write_text("question,answer\nHow do I join?,At the desk.\n", encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    run(tmp_path, "build", str(tmp_path / "recipe.yaml"), "--executor", "inline")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--workspace", str(folder / "ws")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_cards_are_listed_accepted_rejected_and_searched(folder: Path) -> None:
    proposed = json.loads(run(folder, "cards", "demo", "--status", "proposed", "--json"))["cards"]
    ids = {card["title"]: card["id"] for card in proposed}

    decided = json.loads(run(folder, "cards", "demo", "--accept", ids["灯塔"], "--by", "Ada", "--json"))
    run(folder, "cards", "demo", "--reject", ids["Pier lamp"], "--reason", "too thin", "--by", "Ada")
    accepted = json.loads(run(folder, "cards", "demo", "--status", "accepted", "--json"))
    rejected = json.loads(run(folder, "cards", "demo", "--status", "rejected", "--json"))["cards"]
    text = run(folder, "cards", "demo")
    found = json.loads(run(folder, "search", "demo", "灯塔", "--mode", "card_search", "--json"))

    assert set(ids) == {"Pier lamp", "灯塔", "nine crowns"}
    assert proposed[0]["sections"][0]["sentences"][0]["citations"][0]["document_name"]
    assert (decided["decisions"][0]["verdict"], decided["decisions"][0]["decided_by"]) == ("accepted", "Ada")
    assert [card["title"] for card in accepted["cards"]] == ["灯塔"]
    assert [(card["title"], card["reason"]) for card in rejected] == [("Pier lamp", "too thin")]
    assert "demo: 1 proposed, 1 accepted, 1 rejected, 0 stale." in text
    assert [result["card"]["title"] for result in found["results"]] == ["灯塔"]


def test_a_faq_is_searched_with_its_answer_and_place(folder: Path) -> None:
    found = json.loads(run(folder, "search", "demo", "how do i join", "--mode", "faq_search", "--json"))
    text = run(folder, "search", "demo", "how do i join", "--mode", "faq_search")

    assert found["results"][0]["faq"]["answer"] == "At the desk."
    assert found["results"][0]["citation"]["first_row"] == 1
    assert "At the desk." in text


def test_a_card_with_issues_is_accepted_only_with_confirm(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "pier.md").write_text(PIER, encoding="utf-8")
    recipe = RECIPE.replace("card_types: [concept]", "card_types: [metric]")
    (tmp_path / "recipe.yaml").write_text(recipe.replace("  - use: faq\n", ""), encoding="utf-8")
    run(tmp_path, "build", str(tmp_path / "recipe.yaml"), "--executor", "inline")
    (card,) = json.loads(run(tmp_path, "cards", "demo", "--json"))["cards"]

    with pytest.raises(CardNotConfirmedError):
        run(tmp_path, "cards", "demo", "--accept", card["id"])
    run(tmp_path, "cards", "demo", "--accept", card["id"], "--confirm")

    assert "REQUIRED_SECTION_EMPTY" in {issue["code"] for issue in card["issues"]}
    assert json.loads(run(tmp_path, "cards", "demo", "--json"))["counts"]["accepted"] == 1
