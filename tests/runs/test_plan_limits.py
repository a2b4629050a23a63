"""Plans where something is missing: a width, a step that fails or cannot be planned, memory, a killed build."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lorebase.errors import InvalidRecipeError, NotFoundError, UsageError
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes import expansion, step_types
from lorebase.runs.scratch import ScratchStore
from lorebase.runs.step import Partition, PartitionReport, StepExecutionContext
from steps.embed_chunks import EmbedChunks
from tests.fakes.workspace import RECIPE, CountingEmbedder, FakeWorkspace
from tests.runs.plan_bench import Bench, assert_done_as_planned, by_step


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
