"""What is promised about answerable questions, on articles that the weights were not fitted on (XQuAD)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lorebase.clock import SystemClock
from lorebase.evaluation.data_sets import load_data_set
from lorebase.evaluation.running import EvaluationSettings, evaluate
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace

DATA = os.environ.get("LOREBASE_TEST_DATA", "")
RECIPE = """
name: xquad
sources: [{folder: documents}]
models: {embedding: {provider: local}}
procedures: [{use: hybrid_index}]
"""


@pytest.mark.skipif(not DATA, reason="LOREBASE_TEST_DATA is not set")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_questions_about_missing_articles_are_told_from_others(tmp_path: Path, language: str) -> None:
    """K-068."""
    articles = json.loads((Path(DATA) / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    held, missing = articles[1::4], articles[3::4]
    (tmp_path / "documents").mkdir()
    for number, article in enumerate(held):
        text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
        (tmp_path / "documents" / f"{number}.txt").write_text(text, encoding="utf-8")
    for article in (*held, *missing):
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = paragraph["qas"][:1]
    (tmp_path / "asked.json").write_text(json.dumps({"data": held + missing}), encoding="utf-8")
    recipe = parse_recipe(RECIPE, folder=tmp_path)
    workspace = Workspace(tmp_path / "workspace")

    async with await KnowledgeBase.create(recipe, workspace) as base:
        result = await evaluate(
            base,
            workspace.object_store,
            load_data_set(tmp_path / "asked.json"),
            EvaluationSettings(),
            clock=SystemClock(),
        )

    assert (result.questions, result.answerable_questions, result.errors) == (120, 60, 0)
    assert result.metrics["answerable_accuracy"] >= 0.85
    assert result.metrics["answerable_auroc"] >= 0.93
    assert result.metrics["recall@5"] >= 0.9
    assert result.metrics["citations_resolve"] == 1.0
