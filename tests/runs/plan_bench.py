"""A base whose builds are planned before they are done, and the comparison of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.kinds import CHUNKS
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.index.ports import Equals
from lorebase.runs.plan import BuildPlan, plan_build
from lorebase.runs.records import RecipeRunRecord
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents

PRICED = RECIPE.replace("embed_chunks: {}", "embed_chunks: {batch_texts: 4}") + (
    "prices: {embedding: {usd_per_million_input_tokens: 20}}\n"
)
TEXTS = {
    f"{number:02}.md": f"# Part {number}\n\nFirst text of part {number}.\n\n## Details\n\n" + f"Detail {number}. " * 30
    for number in range(12)
} | {"empty.txt": "", "twin.md": "# Part 3\n\nFirst text of part 3.\n"}


@dataclass
class Bench:
    """A recipe over documents, its plan and its build side by side."""

    folder: Path
    recipe_text: str = PRICED
    workspace: FakeWorkspace = field(init=False)

    def __post_init__(self) -> None:
        self.workspace = FakeWorkspace(self.folder / "ws")
        write_documents(self.folder, TEXTS)

    async def plan(self, **config: Any) -> BuildPlan:
        recipe = recipe_in(self.folder, self.recipe_text)
        return await plan_build(recipe, self.workspace, KnowledgeBaseBuilderConfig(**config))

    async def build(self, **config: Any) -> RecipeRunRecord:
        base = KnowledgeBase("demo", self.workspace)
        result = await base.rebuild(
            recipe_in(self.folder, self.recipe_text), config=KnowledgeBaseBuilderConfig(**config)
        )
        return result.record

    async def searchable(self) -> int:
        return await self.workspace.index_store.lexical("demo").count((Equals("searchable", value=True),))

    def chunk_ids(self, record: RecipeRunRecord) -> set[str]:
        manifest = read_manifest(self.workspace.object_store, record.artifacts["chunks"])
        entries = manifest.partitions
        layout = BaseLayout("demo")
        rows = [read_partition(self.workspace.object_store, layout, CHUNKS, entry) for entry in entries]
        return {chunk.chunk_id for part in rows for chunk in part}

    def write(self, name: str, text: str) -> None:
        write_documents(self.folder, {name: text})

    def files(self) -> dict[str, bytes]:
        root = self.folder / "ws"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def assert_done_as_planned(plan: BuildPlan, record: RecipeRunRecord) -> None:
    actions = {"run": "succeeded", "skip": "skipped"}
    assert record.status == "succeeded"
    for planned, done in zip(plan.steps, record.step_records, strict=True):
        assert (planned.step, actions[planned.action]) == (done.step_name, done.status)
        assert planned.reason == done.reason
        assert planned.counts == done.counts.model_copy(update={"usd": planned.counts.usd})
        assert planned.counts.usd == pytest.approx(done.counts.usd)
    assert plan.documents == record.artifacts["source_documents"].rows
    assert plan.chunks.total == record.artifacts["chunks"].rows
    assert plan.issues_by_code == record.issues_by_code


def by_step(plan: BuildPlan) -> dict[str, Any]:
    return {step.step: step for step in plan.steps}
