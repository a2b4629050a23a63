"""The evaluation flow in a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace
from tests.flows.conftest import FULL_TEXT, PrefectServer

QUESTIONS = (
    '{"question": "Where does the heron stand?", "expected_text": "in the marsh"}\n'
    '{"question": "Which orchestra plays?", "answerable": false}\n'
)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A workspace with the base `birds`, and questions."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "heron.md").write_text("The heron stands in the marsh.\n")
    (tmp_path / "questions.jsonl").write_text(QUESTIONS)
    recipe = parse_recipe(FULL_TEXT.format(name="birds"), folder=tmp_path)
    base = await KnowledgeBase.create(recipe, Workspace(tmp_path / "workspace"))
    await base.close()
    return tmp_path


async def test_metrics_are_shown_and_a_gate_that_is_not_met_fails_the_run(prefect: PrefectServer, folder: Path) -> None:
    from flows.evaluate import EvaluationOptions, evaluate_knowledge_base

    (folder / "gate.yaml").write_text("minima: {recall@5: 0.9, precision@5: 0.9}\n")
    options = EvaluationOptions(
        base="birds",
        data_set=str(folder / "questions.jsonl"),
        workspace=str(folder / "workspace"),
        mode="full_text_search",
        save=str(folder / "saved.json"),
    )
    gated = options.model_copy(update={"gate": str(folder / "gate.yaml")})

    passed = await prefect.run(lambda: evaluate_knowledge_base(options, return_state=True))
    failed = await prefect.run(lambda: evaluate_knowledge_base(gated, return_state=True))

    assert passed.is_completed()
    assert (folder / "saved.json").is_file()
    assert failed.is_failed()
    assert "| precision@5 | 0.2000 | 0.9000 | **not met** |" in prefect.artifacts(failed)["birds-evaluation"]["data"]
    assert "| recall@5 | 1.0000 |" in prefect.artifacts(passed)["birds-evaluation"]["data"]
    assert "GateNotMetError: The gate was not met: precision@5 is 0.2000, floor 0.9000." in failed.message
