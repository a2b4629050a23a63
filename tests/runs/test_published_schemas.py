"""The JSON schemas in docs/reference are those of the code. `make schemas` writes them anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from lorebase.answering.over_retrieval import AnsweredQuestion
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.retrieval.model import QueryResult
from lorebase.runs.records import RecipeRunRecord, RecipeRunState
from lorebase.runs.report import BuildReport
from lorebase.workspace_config import WorkspaceConfig

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PUBLISHED: dict[str, type[BaseModel]] = {
    "run_state": RecipeRunState,
    "run_record": RecipeRunRecord,
    "report": BuildReport,
    "query_result": QueryResult,
    "answered_question": AnsweredQuestion,
    "recipe": KnowledgeRecipe,
    "workspace": WorkspaceConfig,
}


def schema_text(model: type[BaseModel]) -> str:
    return json.dumps(model.model_json_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_schema_is_that_of_the_code(name: str) -> None:
    published = (REFERENCE / f"{name}.schema.json").read_text(encoding="utf-8")

    assert published == schema_text(PUBLISHED[name]), "run `make schemas`"


if __name__ == "__main__":
    for published_name, published_model in PUBLISHED.items():
        path = REFERENCE / f"{published_name}.schema.json"
        path.write_text(schema_text(published_model), encoding="utf-8")
        sys.stdout.write(f"{path}\n")
