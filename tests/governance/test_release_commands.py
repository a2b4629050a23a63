"""From a governed recipe to evidence and back offline, from the command line with a real embedded index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from apps.cli.main import app
from lorebase.errors import IndexMismatchError, NotFoundError, ReleaseConflictError

RECIPE = """
name: handbook
governance: reviewed
sources: [{folder: documents}]
procedures: [{use: full_text_index}]
"""
QUESTION = "差旅报销须在几天内提交？"


class Desk:
    """A command line in a workspace of its own."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def run(self, *arguments: str, user: str = "ann", code: int = 0) -> str:
        command = [*arguments, "--workspace", str(self.workspace), "--user", user]
        result = CliRunner().invoke(app, command)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.stdout

    def json(self, *arguments: str, user: str = "ann") -> Any:
        return json.loads(self.run(*arguments, "--json", user=user))


def processed(desk: Desk, folder: Path) -> tuple[str, str]:
    """Item and revision of a document that was drafted, approved and processed."""
    (folder / "documents").mkdir()
    (folder / "documents" / "差旅.md").write_text("# 报销\n\n差旅报销须在三十天内提交。\n", encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (drafted,) = desk.json("build", str(folder / "recipe.yaml"))["documents"]
    revision = drafted["revision_id"]
    desk.run("revision", "decide", revision, "submit", "--version", "0")
    desk.run("revision", "decide", revision, "approve", "--version", "1", user="ben")
    desk.run("revision", "request", revision, "process", "--version", "2")
    (task,) = desk.json("task", "run")
    assert task["status"] == "SUCCEEDED"
    return drafted["item_id"], revision


def test_a_document_goes_from_its_folder_to_evidence_and_is_withdrawn(tmp_path: Path) -> None:
    """K-030, K-046, K-061, K-070, K-074, X-01, X-09, C155."""
    desk = Desk(tmp_path / "workspace")

    item, revision = processed(desk, tmp_path)
    before = desk.json("retrieve", "handbook", "差旅报销期限")
    published = desk.json("release", "publish", revision, "--version", "0", "--reason", "reviewed")
    found = desk.json("retrieve", "handbook", "差旅报销期限")
    (evidence,) = found["evidence"]
    answered = desk.json("ask", "handbook", QUESTION)
    with pytest.raises(ReleaseConflictError):
        desk.run("release", "offline", item, "--version", "0")
    desk.run("release", "offline", item, "--version", "1")
    after = desk.run("retrieve", "handbook", "差旅报销期限")
    unanswered = desk.json("ask", "handbook", QUESTION)
    cited = desk.json("citation", evidence["revision_id"], evidence["chunk_id"])
    back = desk.json("release", "rollback", revision, "--version", "2")
    reconciled = desk.json("release", "reconcile", "handbook")

    assert (before["answerable"], before["reason"]) == (False, "NO_EVIDENCE")
    assert published["release"]["active_revision_id"] == revision
    assert "三十天内提交" in evidence["text"]
    assert evidence["citation"]["heading_path"] == ["报销"]
    assert after.strip() == "No evidence."
    assert (answered["text"], answered["sources"][0]["revision_id"]) == ("差旅报销须在三十天内提交。[1]", revision)
    assert unanswered["kind"] == "no_evidence"
    assert (cited["status"], cited["text"]) == ("withdrawn", "")
    assert back["release"]["version"] == 3
    assert reconciled["repairs"] == []


def test_a_recipe_that_gains_an_index_of_vectors_has_what_is_live_indexed_again_by_one_command(tmp_path: Path) -> None:
    desk, recipe = Desk(tmp_path / "workspace"), tmp_path / "recipe.yaml"
    _item, revision = processed(desk, tmp_path)
    desk.run("release", "publish", revision, "--version", "0")
    models = "models: {embedding: {provider: local}}\n"
    recipe.write_text(RECIPE.replace("full_text_index", "hybrid_index") + models, encoding="utf-8")
    desk.run("build", str(recipe))

    with pytest.raises(IndexMismatchError, match="not embedded with the model"):
        desk.run("retrieve", "handbook", QUESTION, "--mode", "vector_search")
    left = desk.run("release", "reconcile", "handbook", code=1)
    asked = desk.run("release", "reconcile", "handbook", "--reindex")
    desk.run("task", "run")
    clean = desk.json("release", "reconcile", "handbook")
    found = desk.json("retrieve", "handbook", QUESTION, "--mode", "vector_search")

    assert f"{revision}  NEEDS_REINDEX" in left
    assert f"{revision}  REINDEX_REQUESTED" in asked
    assert (clean["is_clean"], clean["repairs"]) == (True, [])
    assert [evidence["revision_id"] for evidence in found["evidence"]] == [revision]


def test_other_organisations_are_told_that_a_base_is_governed_and_nothing_of_it(tmp_path: Path) -> None:
    """K-062."""
    desk = Desk(tmp_path / "workspace")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "差旅.md").write_text("差旅报销须在三十天内提交。\n", encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    desk.run("build", str(tmp_path / "recipe.yaml"))

    with pytest.raises(NotFoundError, match="is governed"):
        desk.run("ask", "handbook", QUESTION, "--organ", "8")
    with pytest.raises(NotFoundError, match="is governed"):
        CliRunner().invoke(app, ["search", "handbook", "x", "-w", str(desk.workspace)], catch_exceptions=False)
