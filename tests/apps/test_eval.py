"""`lorebase eval` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from apps.cli.main import app
from lorebase.errors import InvalidDataSetError

RECIPE = "name: demo\nsources: [{folder: documents}]\nprocedures: [{use: full_text_index}]\n"


def run_eval(project: Path, *arguments: str) -> Result:
    common = [
        "eval",
        "demo",
        str(project / "set.jsonl"),
        "--mode",
        "full_text_search",
        "-w",
        str(project / "workspace"),
    ]
    return CliRunner().invoke(app, [*common, *arguments])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base of two documents and two questions, one of which has no answer."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "documents").mkdir()
    (folder / "documents" / "harbour.md").write_text("A berth costs nine crowns a night.\n")
    (folder / "documents" / "garden.md").write_text("Beans are sown in May.\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "set.jsonl").write_text(
        '{"question": "What does a berth cost?", "expected_document": "harbour.md"}\n'
        '{"question": "Which orchestra plays?", "answerable": false}\n'
    )
    recipe, workspace = str(folder / "recipe.yaml"), str(folder / "workspace")
    done = CliRunner().invoke(app, ["build", recipe, "-w", workspace, "--executor", "inline", "--json"])
    assert done.exit_code == 0, done.stderr
    return folder


def test_json_holds_metrics_and_every_question_and_stdout_nothing_else(project: Path) -> None:
    done = run_eval(project, "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["metrics"]["recall@5"] == 1.0
    assert found["metrics"]["answerable_accuracy"] == 1.0
    assert [outcome["question"] for outcome in found["outcomes"]] == [
        "What does a berth cost?",
        "Which orchestra plays?",
    ]


def test_people_get_a_table(project: Path) -> None:
    done = run_eval(project)

    assert done.exit_code == 0
    assert "recall@10" in done.stdout
    assert "2 questions, 1 of them answerable, 0 failed." in done.stdout


def test_a_gate_that_is_not_met_ends_with_5_and_names_metric_value_and_floor(project: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text("minima: {precision@5: 0.5, recall@5: 0.9}\n")

    done = run_eval(project, "--gate", str(gate))

    assert done.exit_code == 5
    assert "Gate not met: precision@5 is 0.2000, floor 0.5000." in done.stdout


def test_a_saved_evaluation_is_a_gate_and_something_to_compare_with(project: Path, tmp_path: Path) -> None:
    saved = str(tmp_path / "saved.json")
    run_eval(project, "--save", saved)

    done = run_eval(project, "--gate", saved, "--compare", saved, "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["gate"]["met"] is True
    assert {change["difference"] for change in found["comparison"]} == {0.0}


def test_a_bad_row_ends_it_naming_file_and_line(project: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"question": "What?"}\n')

    done = CliRunner().invoke(app, ["eval", "demo", str(bad), "-w", str(project / "workspace")])

    assert isinstance(done.exception, InvalidDataSetError)
    assert f"{bad}:1:" in str(done.exception)
