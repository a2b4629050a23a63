"""A plan says beforehand what the build then does, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.kinds import CHUNKS
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import InvalidRecipeError, NotFoundError, UsageError
from lorebase.index.ports import Equals
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes import expansion, step_types
from lorebase.runs.plan import BuildPlan, plan_build
from lorebase.runs.records import RecipeRunRecord
from lorebase.runs.scratch import ScratchStore
from lorebase.runs.step import Partition, PartitionReport, StepExecutionContext
from steps.embed_chunks import EmbedChunks
from tests.fakes.workspace import RECIPE, CountingEmbedder, FakeWorkspace, recipe_in, write_documents

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


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


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


def nothing_changes(bench: Bench) -> None:
    del bench


def a_document_changes(bench: Bench) -> None:
    bench.write("04.md", TEXTS["04.md"].replace("First text", "Other text"))


def a_document_is_added(bench: Bench) -> None:
    bench.write("new.md", "# New\n\nNever seen before.\n")


def a_document_is_removed(bench: Bench) -> None:
    (bench.folder / "documents" / "05.md").unlink()


def a_document_is_renamed(bench: Bench) -> None:
    (bench.folder / "documents" / "06.md").rename(bench.folder / "documents" / "six.md")


def a_setting_changes(bench: Bench) -> None:
    bench.recipe_text = bench.recipe_text.replace("max_tokens: 40", "max_tokens: 30")


def the_model_changes(bench: Bench) -> None:
    bench.workspace.embedder_options["dimensions"] = 64


def a_source_empties(bench: Bench) -> None:
    for path in (bench.folder / "documents").iterdir():
        path.unlink()


def everything_at_once(bench: Bench) -> None:
    for change in (a_document_changes, a_document_is_added, a_document_is_removed, a_document_is_renamed):
        change(bench)


CHANGES = [
    nothing_changes,
    a_document_changes,
    a_document_is_added,
    a_document_is_removed,
    a_document_is_renamed,
    a_setting_changes,
    the_model_changes,
    a_source_empties,
    everything_at_once,
]


async def test_the_first_build_does_what_was_planned(bench: Bench) -> None:
    """BQ-12."""
    plan = await bench.plan()

    record = await bench.build()

    assert_done_as_planned(plan, record)
    assert plan.live_snapshot_id is None
    assert plan.document_changes.added == len(TEXTS)
    assert plan.totals.model_calls > 3
    assert plan.totals.input_tokens > 0
    assert plan.totals.usd == pytest.approx(plan.totals.input_tokens * 20 / 1_000_000)
    assert by_step(plan)["embed_chunks"].counts.ledger_items > 0


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_later_build_does_what_was_planned(bench: Bench, change: Callable[[Bench], None]) -> None:
    """BQ-03, BQ-05, BQ-12."""
    before = await bench.build()
    searchable_before = await bench.searchable()
    change(bench)

    plan = await bench.plan()
    record = await bench.build()

    assert_done_as_planned(plan, record)
    ids_before, ids_after = bench.chunk_ids(before), bench.chunk_ids(record)
    assert (plan.chunks.added, plan.chunks.removed) == (len(ids_after - ids_before), len(ids_before - ids_after))
    words = by_step(plan)["index_full_text"]
    assert await bench.searchable() == searchable_before + words.newly_searchable - words.no_longer_searchable


@pytest.mark.parametrize(
    ("change", "counts", "reason"),
    [
        (a_document_changes, (0, 1, 0, 0), "inputs changed: 1 document changed"),
        (a_document_is_added, (1, 0, 0, 0), "inputs changed: 1 document added"),
        (a_document_is_removed, (0, 0, 0, 1), "inputs changed: 1 document removed"),
        (a_document_is_renamed, (0, 0, 1, 0), "inputs changed: 1 document renamed"),
        (everything_at_once, (1, 1, 1, 1), "inputs changed: 1 document added, 1 changed, 1 renamed, 1 removed"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_a_plan_says_which_documents_changed(
    bench: Bench, change: Callable[[Bench], None], counts: tuple[int, int, int, int], reason: str
) -> None:
    await bench.build()
    change(bench)

    plan = await bench.plan()

    changes = plan.document_changes
    assert (changes.added, changes.changed, changes.renamed, changes.removed) == counts
    parse = plan.steps[0]
    assert parse.reason == reason or (parse.action == "skip" and change is a_document_is_removed)


async def test_a_renamed_document_costs_nothing(bench: Bench) -> None:
    await bench.build()
    a_document_is_renamed(bench)

    plan = await bench.plan()

    assert plan.totals.model_calls == plan.totals.input_tokens == 0
    assert by_step(plan)["embed_chunks"].counts.computed_items == 0
    assert by_step(plan)["index_vectors"].newly_searchable > 0


async def test_a_changed_setting_is_named(bench: Bench) -> None:
    """BQ-03."""
    await bench.build()
    a_setting_changes(bench)

    plan = await bench.plan()

    assert by_step(plan)["parse_documents"].action == "skip"
    assert by_step(plan)["split_documents"].reason == "settings changed: max_tokens 40 -> 30"


async def test_a_plan_of_a_rebuild_is_what_the_rebuild_does(bench: Bench) -> None:
    await bench.build()

    plan = await bench.plan(rebuild=True)
    record = await bench.build(rebuild=True)

    assert_done_as_planned(plan, record)
    assert plan.totals.model_calls > 3


async def test_a_build_of_many_task_runs_does_what_was_planned(bench: Bench) -> None:
    """Each task run knows what the others have paid for or are about to."""
    plan = await bench.plan(task_run_weight=8)
    record = await bench.build(task_run_weight=8)

    assert_done_as_planned(plan, record)
    assert by_step(plan)["embed_chunks"].counts.task_runs > 2


async def test_a_plan_writes_nothing_and_calls_no_model(bench: Bench) -> None:
    """BQ-12."""
    await bench.plan()
    made_by_first_plan = (bench.folder / "ws").exists()
    await bench.build()
    everything_at_once(bench)
    files, sent, entities = (
        bench.files(),
        bench.workspace.seen.copy(),
        await bench.workspace.index_store.lexical("demo").fields(()),
    )

    await bench.plan()

    assert not made_by_first_plan
    assert bench.files() == files
    assert bench.workspace.seen == sent
    assert await bench.workspace.index_store.lexical("demo").fields(()) == entities


async def test_a_plan_can_be_made_while_a_build_holds_the_lease(bench: Bench) -> None:
    import asyncio

    bench.workspace.embedder_options["latency_seconds"] = 0.2
    building = asyncio.create_task(bench.build())
    await asyncio.sleep(0.1)

    plan = await bench.plan()

    assert (await building).status == "succeeded"
    assert plan.error is None


class NotingWorkspace(FakeWorkspace):
    """A workspace that notes which width each model was opened with."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.widths: list[int | None] = []

    async def open_embedder(self, spec: EmbeddingModelSpec) -> CountingEmbedder:
        self.widths.append(spec.dimensions)
        return await super().open_embedder(spec)


async def test_an_endpoint_is_not_asked_for_the_width_of_its_model(bench: Bench) -> None:
    """Opening a model whose width is not known sends it a text; a plan takes the width from earlier runs."""
    workspace = bench.workspace = NotingWorkspace(bench.folder / "ws")
    bench.recipe_text = bench.recipe_text.replace("provider: local", "provider: fake, model: hash")

    first = await bench.plan()
    record = await bench.build()
    second = await bench.plan()

    assert workspace.widths == [1, None, 384]
    assert_done_as_planned(first, record)
    assert {step.action for step in second.steps} == {"skip"}


KILLED_BUILD = """
import asyncio, os, signal, sys
from collections import Counter
from pathlib import Path
from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.models.ports import EmbeddingBatch
from tests.fakes.workspace import CountingEmbedder, FakeWorkspace, recipe_in

class Killing(CountingEmbedder):
    calls = 0

    async def embed_passages(self, texts):
        if Killing.calls == 3:
            await asyncio.sleep(0.5)  # until the answers before are written down
            os.kill(os.getpid(), signal.SIGKILL)
        Killing.calls += 1
        return await super().embed_passages(texts)

class Dying(FakeWorkspace):
    async def open_embedder(self, spec):
        return Killing(self.seen, self.failures)

folder = Path(sys.argv[1])
workspace = Dying(folder / "ws")
config = KnowledgeBaseBuilderConfig(lease_seconds=0.5)
asyncio.run(KnowledgeBase("demo", workspace).rebuild(recipe_in(folder, sys.argv[2]), config=config))
"""


async def test_after_a_kill_the_next_build_does_what_was_planned(bench: Bench) -> None:
    """B-017, BQ-05: what the killed build paid for is in the plan as paid.

    Without the lexical index, which may be written before the kill, and in memory would be gone after it.
    """
    bench.recipe_text = bench.recipe_text.replace("      - index_full_text: {}\n", "")
    whole = await bench.plan()
    killed = subprocess.run(  # noqa: ASYNC221 (nothing else runs on this event loop)
        [sys.executable, "-c", KILLED_BUILD, str(bench.folder), bench.recipe_text],
        cwd=Path(__file__).parents[2],
        env=dict(os.environ),
        capture_output=True,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    plan = await bench.plan()
    record = await bench.build(wait_seconds=20, lease_seconds=0.5)

    assert_done_as_planned(plan, record)
    assert by_step(plan)["parse_documents"].action == "skip"
    embed, of_whole = by_step(plan)["embed_chunks"].counts, by_step(whole)["embed_chunks"].counts
    assert embed.computed_items == of_whole.computed_items - 3 * 4
    assert embed.model_calls == of_whole.model_calls - 3


async def test_a_step_that_would_fail_is_shown_with_its_error(bench: Bench) -> None:
    for path in (bench.folder / "documents").iterdir():
        path.write_text("")

    plan = await bench.plan()
    record = await bench.build()

    assert plan.steps[0].action == "fail"
    assert plan.steps[1].action == "not_reached"
    assert plan.error is not None
    assert record.error == plan.error


async def test_an_invalid_recipe_is_not_planned(bench: Bench) -> None:
    bench.recipe_text = RECIPE.replace("embed_chunks", "embed_chunk")

    with pytest.raises(InvalidRecipeError, match="Did you mean 'embed_chunks'"):
        await bench.plan()


class CarelessEmbed(EmbedChunks):
    """A step that calls its model and does not say how it is planned."""

    type_name: ClassVar[str] = "embed_chunks"

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Any]]:
        return await self.run_partitions(partitions, context)


async def test_a_step_that_cannot_be_planned_is_stopped_before_it_pays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = {**step_types.step_types(), "embed_chunks": CarelessEmbed}
    monkeypatch.setattr(expansion, "step_types", lambda: types)

    plan = await bench.plan()

    assert plan.error is not None
    assert "while it was only planned" in plan.error.message
    assert not bench.workspace.seen


async def test_a_plan_with_more_than_the_memory_it_may_use_lies_in_a_folder_that_is_gone_at_the_end(
    bench: Bench,
) -> None:
    await bench.build()
    base = bench.workspace.object_store

    with ScratchStore(base, memory_bytes=10) as scratch:
        scratch.put("a/small", b"12345")
        scratch.put("a/large", b"1234567890")
        kept = {key: scratch.get(key) for key in scratch.list("a")}
        folder = Path(scratch._folder.name) if scratch._folder else None
        was_there = folder is not None and folder.exists()

    assert kept == {"a/small": b"12345", "a/large": b"1234567890"}
    assert was_there
    assert folder is not None
    assert not folder.exists()


def test_a_scratch_store_hides_what_it_deletes_and_never_touches_the_store_below(tmp_path: Path) -> None:
    base = FakeWorkspace(tmp_path / "ws").object_store
    base.put("folder/kept", b"old")
    base.put("folder/gone", b"old")

    with ScratchStore(base) as scratch:
        scratch.put("folder/kept", b"new")
        scratch.delete(["folder/gone"])
        scratch.put("folder/made", b"made")
        listed, read, known = scratch.list("folder"), scratch.get("folder/kept"), scratch.exists("folder/gone")
        with pytest.raises(NotFoundError):
            scratch.get("folder/gone")
        with pytest.raises(UsageError):
            scratch.put_if("folder/kept", b"x", None)

    assert (listed, read, known) == (["folder/kept", "folder/made"], b"new", False)
    assert base.list("folder") == ["folder/gone", "folder/kept"]
    assert base.get("folder/kept") == b"old"
