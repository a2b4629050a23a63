"""A small base, built inline over a real object store."""

from __future__ import annotations

from pathlib import Path

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.store import BaseLayout
from lorebase.runs.journal import RunJournal
from lorebase.runs.records import RecipeRunRecord
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in

TEXTS = {
    "harbour.md": "# Harbour\n\nThe lamp on the pier burns whale oil.\n\n"
    "## Fees\n\nA berth costs nine crowns a night.\n",
    "garden.md": "# Garden\n\nBeans are sown in May.\n",
    "灯塔.md": "# 灯塔\n\n灯塔每晚八点亮灯。夏季推迟一小时。\n",
}


async def build(tmp_path: Path, workspace: FakeWorkspace, text: str = RECIPE, **config: object) -> RecipeRunRecord:
    base = KnowledgeBase("demo", workspace)
    result = await base.rebuild(recipe_in(tmp_path, text), config=KnowledgeBaseBuilderConfig(**config))
    return result.record


def statuses(record: RecipeRunRecord) -> dict[str, str]:
    return {step.step_name: step.status for step in record.step_records}


def latest(workspace: FakeWorkspace) -> RecipeRunRecord:
    journal = RunJournal(workspace.object_store, BaseLayout("demo"))
    run_id = journal.latest_run_id()
    if run_id is None:
        return RecipeRunRecord.model_validate(
            {"run_id": "", "base_name": "demo", "recipe_fingerprint": "", "status": "running", "started_at": 0}
        )
    return journal.read(run_id)
