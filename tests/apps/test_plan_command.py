"""`lorebase plan` as a user runs it, with a recipe that needs no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from apps.cli.main import app

RECIPE = "name: demo\nsources: [{folder: documents}]\npartitions: 4\nprocedures: [{use: full_text_index}]\n"


def lorebase(*arguments: str, folder: Path) -> Result:
    """Run the command in this process: what it costs to start one is no part of these rules."""
    command, *others = arguments
    return CliRunner().invoke(app, [command, str(folder / "recipe.yaml"), "-w", str(folder / "workspace"), *others])


def json_of(done: Result) -> Any:
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a recipe and three documents."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "harbour.md").write_text("# Harbour\n\n## Fees\n\nA berth costs nine crowns.\n")
    (tmp_path / "documents" / "garden.md").write_text("# Garden\n\nBeans are sown in May.\n")
    (tmp_path / "documents" / "empty.txt").write_text("")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_what_the_command_plans_is_what_the_build_reports(project: Path) -> None:
    """BQ-12."""
    first = json_of(lorebase("plan", "--json", folder=project))
    untouched = not (project / "workspace").exists()
    json_of(lorebase("build", "--executor", "inline", "--json", folder=project))
    (project / "documents" / "garden.md").rename(project / "documents" / "orchard.md")
    objects = files_in(project / "workspace" / "objects")

    shown = lorebase("plan", "--json", folder=project)
    planned = json_of(shown)
    unchanged = files_in(project / "workspace" / "objects") == objects
    built = json_of(lorebase("build", "--executor", "inline", "--json", folder=project))

    assert untouched
    assert unchanged
    assert first["document_changes"] == {"added": 3, "changed": 0, "renamed": 0, "removed": 0}
    assert first["issues_by_code"] == {"DOCUMENT_EMPTY": 1}
    assert planned["document_changes"] == {"added": 0, "changed": 0, "renamed": 1, "removed": 0}
    assert [step["counts"] for step in planned["steps"]] == [step["counts"] for step in built["record"]["step_records"]]
    assert "Sources: 3 documents; 1 document renamed" in shown.stderr
    assert "Models: 0 calls, 0 tokens." in shown.stderr


def test_a_plan_of_a_build_that_would_fail_says_why_and_exits_as_the_build_would(project: Path) -> None:
    for path in (project / "documents").iterdir():
        path.write_text("")

    done = lorebase("plan", folder=project)

    assert done.exit_code == 1
    assert "Would fail BUILD_FAILED: parse_documents: all 3 documents failed" in done.stdout
