"""`lorebase kb rebuild`, `documents` and `document`, and searches by type and tag, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from apps.cli import exit_codes
from apps.cli.main import app

RECIPE = """
name: handbook
sources: [{folder: documents}]
procedures:
  - use: document_classes
    with:
      source_types: registry
      metadata: [{files: ["faq/**"], tags: [questions]}]
  - use: full_text_index
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe, three documents, and a workspace where the base is registered."""
    monkeypatch.setenv("LOREBASE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "handbook.yaml").write_text(RECIPE, encoding="utf-8")
    for name, text in {
        "faq/printer.md": "# FAQ\n\nThe printer is red without paper.\n",
        "差旅政策.md": "# 政策\n\n出差前须经批准。printer\n",
        "letter.md": "The printer hums.\n",
    }.items():
        (tmp_path / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "documents" / name).write_text(text, encoding="utf-8")
    assert run("kb", "create", "handbook", "--recipe", "handbook.yaml").exit_code == exit_codes.DONE
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_a_base_is_rebuilt_listed_and_searched_by_type_and_tag(project: Path) -> None:
    """D-003, D-005, D-022."""
    rebuilt = run("kb", "rebuild", "handbook", "--executor", "inline", "--json")
    listed = run("kb", "documents", "handbook")
    shown = run("kb", "document", "handbook", "faq/printer.md", "--history")
    typed = run("search", "handbook", "printer", "--mode", "full_text_search", "--source-type", "faq", "--json")
    tagged = run("search", "handbook", "printer", "--mode", "full_text_search", "--tag", "questions")
    unknown = run("search", "handbook", "printer", "--mode", "full_text_search", "--source-type", "fqa")

    report = json.loads(rebuilt.stdout)["data"]
    assert (report["status"], report["published"]) == ("succeeded", True)
    assert "faq/printer.md  faq  1 versions" in listed.stdout
    assert "source type  faq by rules" in shown.stdout
    assert f"* {report['snapshot_id']}  added" in shown.stdout
    assert [hit["document"]["source_type"] for hit in json.loads(typed.stdout)["results"]] == ["faq"]
    assert "a faq" in tagged.stdout
    assert "letter.md" not in tagged.stdout
    assert "no source type 'fqa'" in str(unknown.exception)


def test_types_of_the_registry_are_counted_in_the_base(project: Path) -> None:
    """D-022, D-049."""
    built = run("build", "handbook.yaml", "--executor", "inline")

    shown = json.loads(run("kb", "show", "handbook", "--json").stdout)["data"]

    assert built.exit_code == exit_codes.DONE
    assert {one["id"]: one["source_count"] for one in shown["source_types"] if one["source_count"]} == {
        "document": 1,
        "policy": 1,
        "faq": 1,
    }


def test_a_rebuild_of_a_base_that_there_is_not_is_wrong_usage(project: Path) -> None:
    missing = run("kb", "rebuild", "nobody", "--executor", "inline", "--json")

    assert missing.exit_code == exit_codes.USAGE
    assert json.loads(missing.stdout)["error"]["code"] == "NOT_FOUND"
