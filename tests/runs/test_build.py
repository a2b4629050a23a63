"""A whole build, inline, over a real object store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilder
from lorebase.artifacts.kinds import CHUNKS
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import (
    BuildFailedError,
    ConflictError,
    InvalidRecipeError,
    NotFoundError,
    RefusedError,
    UnsupportedModeError,
)
from lorebase.runs.records import RecipeRunRecord, RecipeRunState
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents
from tests.runs.building import TEXTS, build, latest, statuses


async def test_a_build_unlocks_what_its_steps_leave_and_returns_artifacts_by_name(tmp_path: Path) -> None:
    """B-001, B-006, B-007, B-011."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    result = await KnowledgeBaseBuilder(workspace=workspace).build(recipe_in(tmp_path))

    assert result.record.status == "succeeded"
    assert result.capabilities.queries == ("vector_search", "full_text_search", "hybrid_search")
    assert set(result.artifacts) == {
        "source_documents", "parsed_documents", "chunks", "embeddings", "vector_index", "full_text_index",
    }  # fmt: skip
    assert result.artifacts["source_documents"].rows == 3
    assert result.issues == ()


@pytest.mark.parametrize("mode", ["vector_search", "full_text_search", "hybrid_search"])
async def test_every_unlocked_mode_finds_the_chunk_and_says_where_it_stands(tmp_path: Path, mode: str) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)

    found = await base.query("what does a berth cost a night", mode=mode, top_k=1)

    best = found.results[0]
    assert best.document.name == "harbour.md"
    assert best.citation.heading_path == ("Harbour", "Fees")
    assert "nine crowns" in best.text


async def test_a_mode_that_nothing_unlocked_is_refused_with_what_would_unlock_it(tmp_path: Path) -> None:
    """BQ-14."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    text = "name: demo\nsources: [{folder: documents}]\nprocedures: [{use: full_text_index}]\n"
    base = await KnowledgeBase.create(recipe_in(tmp_path, text), workspace)

    with pytest.raises(UnsupportedModeError, match=r"serves full_text_search.*Add the step index_vectors"):
        await base.query("lamp", mode="hybrid_search")


async def test_an_invalid_recipe_leaves_no_trace(tmp_path: Path) -> None:
    """B-003."""
    workspace = FakeWorkspace(tmp_path / "ws")
    broken = recipe_in(tmp_path, RECIPE.replace("embed_chunks", "embed_chunk"))

    with pytest.raises(InvalidRecipeError, match="Did you mean 'embed_chunks'"):
        await KnowledgeBase.create(broken, workspace)

    assert not (tmp_path / "ws").exists()


async def test_the_record_equals_the_end_of_the_state(tmp_path: Path) -> None:
    """B-012, B-013, B-015."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    record = await build(tmp_path, workspace)

    layout, store = BaseLayout("demo"), workspace.object_store
    state = RecipeRunState.model_validate_json(store.get(layout.run_state(record.run_id)))
    stored = RecipeRunRecord.model_validate_json(store.get(layout.run_record(record.run_id)))
    assert state.as_record() == stored == record
    assert [step.index for step in record.step_records] == [0, 1, 2, 3, 4]
    assert json.loads(store.get(layout.latest_run))["run_id"] == record.run_id


async def test_steps_that_succeeded_are_skipped_and_say_which_run_made_them(tmp_path: Path) -> None:
    """B-018, B-019."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    first = await build(tmp_path, workspace)
    sent = workspace.seen.total()

    second = await build(tmp_path, workspace)

    assert set(statuses(second).values()) == {"skipped"}
    assert {step.taken_from_run for step in second.step_records} == {first.run_id}
    assert workspace.seen.total() == sent
    assert second.artifacts == first.artifacts
    assert second.snapshot_id == first.run_id


async def test_the_first_failed_step_stops_the_build_and_the_next_build_goes_on_from_there(tmp_path: Path) -> None:
    """B-016, B-021."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    workspace.failures.append(RefusedError("The endpoint refused the key.", dependency="endpoint"))

    failed = await build(tmp_path, workspace)
    resumed = await build(tmp_path, workspace)

    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.code == "DEPENDENCY_REFUSED"
    assert statuses(failed)["embed_chunks"] == "failed"
    assert statuses(failed)["index_vectors"] == "pending"
    assert statuses(resumed)["parse_documents"] == "skipped"
    assert statuses(resumed)["embed_chunks"] == "succeeded"
    assert resumed.status == "succeeded"


async def test_without_stop_on_error_a_later_step_says_which_artifact_it_misses(tmp_path: Path) -> None:
    """B-022."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    workspace.failures.append(RefusedError("The endpoint refused the key.", dependency="endpoint"))

    record = await build(tmp_path, workspace, stop_on_error=False)

    by_name = {step.step_name: step for step in record.step_records}
    assert by_name["index_full_text"].status == "succeeded"
    assert by_name["index_vectors"].status == "failed"
    assert by_name["index_vectors"].error is not None
    assert "needs the artifact embeddings" in by_name["index_vectors"].error.message
    assert record.status == "failed"
    assert record.capabilities.queries == ("full_text_search",)


async def test_a_failed_build_leaves_the_live_snapshot_as_it_was(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)
    write_documents(tmp_path, {"harbour.md": "# Harbour\n\nThe lamp burns gas now.\n"})
    workspace.failures.append(RefusedError("No.", dependency="endpoint"))

    failed = await base.rebuild(recipe_in(tmp_path))
    found = await base.query("lamp burns oil", mode="full_text_search", top_k=1)

    assert failed.record.status == "failed"
    assert "whale oil" in found.results[0].text


async def test_create_raises_with_the_cause_when_a_step_fails(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    workspace.failures.append(RefusedError("The endpoint refused the key.", dependency="endpoint"))

    with pytest.raises(BuildFailedError, match="The endpoint refused the key"):
        await KnowledgeBase.create(recipe_in(tmp_path), workspace)


async def test_a_second_build_at_the_same_time_is_told_who_builds(tmp_path: Path) -> None:
    """BQ-08."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    workspace.embedder_options["latency_seconds"] = 0.3
    import asyncio

    first = asyncio.create_task(build(tmp_path, workspace))
    await asyncio.sleep(0.1)
    with pytest.raises(ConflictError, match="is being built by run"):
        await build(tmp_path, workspace)
    waited = await build(tmp_path, workspace, wait_seconds=30)

    assert (await first).status == "succeeded"
    assert set(statuses(waited).values()) == {"skipped"}


async def test_a_cancelled_build_is_recorded_as_cancelled_and_goes_on_later(tmp_path: Path) -> None:
    """BQ-08."""
    import asyncio

    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    workspace.embedder_options["latency_seconds"] = 5.0
    running = asyncio.create_task(build(tmp_path, workspace))
    while statuses(latest(workspace)).get("embed_chunks") != "running":
        await asyncio.sleep(0.02)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    cancelled = latest(workspace)
    workspace.embedder_options.clear()
    resumed = await build(tmp_path, workspace)

    assert cancelled.status == "cancelled"
    assert statuses(cancelled)["embed_chunks"] == "cancelled"
    assert resumed.status == "succeeded"
    assert statuses(resumed)["split_documents"] == "skipped"


async def test_chunks_on_the_store_are_exact_stretches_of_the_documents(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    record = await build(tmp_path, workspace)

    manifest = read_manifest(workspace.object_store, record.artifacts["chunks"])
    rows = [
        chunk
        for entry in manifest.partitions
        for chunk in read_partition(workspace.object_store, BaseLayout("demo"), CHUNKS, entry)
    ]

    assert {chunk.document_name for chunk in rows} == set(TEXTS)
    for chunk in rows:
        assert TEXTS[chunk.document_name][chunk.start : chunk.end] == chunk.text


def test_loading_a_base_that_was_never_built_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="Build it first with `lorebase build RECIPE`"):
        KnowledgeBase.load("demo", FakeWorkspace(tmp_path / "ws"))
