"""A whole build, inline, over a real object store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilder, KnowledgeBaseBuilderConfig
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
from lorebase.runs.journal import RunJournal
from lorebase.runs.records import RecipeRunRecord, RecipeRunState
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents

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


async def test_only_the_changed_chunk_reaches_the_model(tmp_path: Path) -> None:
    """B-020, BQ-05."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)
    before = workspace.seen.total()

    write_documents(tmp_path, {"garden.md": "# Garden\n\nBeans are sown in June.\n"})
    record = await build(tmp_path, workspace)

    assert workspace.seen.total() == before + 1
    assert any("June" in text for text in workspace.seen)
    embed = record.step_records[2]
    assert embed.counts.computed_items == 1
    assert embed.reason == "inputs changed: chunks"


async def test_a_renamed_document_is_not_embedded_again(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)
    before = workspace.seen.total()

    (tmp_path / "documents" / "garden.md").rename(tmp_path / "documents" / "kitchen garden.md")
    await base.rebuild(recipe_in(tmp_path))
    found = await base.query("beans", mode="full_text_search")

    assert workspace.seen.total() == before
    assert [result.document.name for result in found.results] == ["kitchen garden.md"]


async def test_a_document_that_left_the_source_leaves_the_answers(tmp_path: Path) -> None:
    """BQ-09: also where the only change is a deletion."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)

    (tmp_path / "documents" / "garden.md").unlink()
    result = await base.rebuild(recipe_in(tmp_path))

    assert result.record.status == "succeeded"
    for mode in base.capabilities.queries:
        found = await base.query("beans are sown in May", mode=mode, top_k=10)
        assert "garden.md" not in {found_one.document.name for found_one in found.results}


async def test_two_documents_of_the_same_bytes_are_two_sources_of_one_paid_text(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"a.md": "Beans are sown in May.\n", "b.md": "Beans are sown in May.\n"})
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)

    both = await base.query("beans", mode="full_text_search")
    (tmp_path / "documents" / "a.md").unlink()
    await base.rebuild(recipe_in(tmp_path))
    one = await base.query("beans", mode="full_text_search")

    assert sorted(result.document.name for result in both.results) == ["a.md", "b.md"]
    assert [result.document.name for result in one.results] == ["b.md"]
    assert max(workspace.seen.values()) == 1


async def test_a_changed_setting_runs_exactly_the_steps_that_depend_on_it_and_says_why(tmp_path: Path) -> None:
    """BQ-03."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)

    record = await build(tmp_path, workspace, RECIPE.replace("max_tokens: 40", "max_tokens: 20"))

    assert statuses(record)["parse_documents"] == "skipped"
    assert statuses(record)["split_documents"] == "succeeded"
    assert record.step_records[1].reason == "settings changed: max_tokens 40 -> 20"


async def test_going_back_to_an_earlier_setting_brings_its_chunks_back_without_a_model_call(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"long.md": "One two three four five six seven. " * 12})
    first = await build(tmp_path, workspace)
    await build(tmp_path, workspace, RECIPE.replace("max_tokens: 40", "max_tokens: 20"))
    sent = workspace.seen.total()

    third = await build(tmp_path, workspace)

    assert third.artifacts["chunks"].fingerprint == first.artifacts["chunks"].fingerprint
    assert workspace.seen.total() == sent


async def test_a_model_of_another_width_fills_a_collection_of_its_own(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)
    workspace.embedder_options["dimensions"] = 64

    await base.rebuild(recipe_in(tmp_path))
    found = await base.query("berth costs crowns", mode="vector_search", top_k=1)

    assert base.snapshot().embedding_dimensions == 64
    assert found.results[0].document.name == "harbour.md"


async def test_an_index_that_was_lost_is_written_again_from_stored_artifacts(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)
    sent = workspace.seen.total()
    await workspace.index_store.lexical("demo").drop()

    result = await base.rebuild(recipe_in(tmp_path))
    found = await base.query("beans", mode="full_text_search")

    assert result.record.issues_by_code == {"INDEX_REPAIRED": 1}
    assert [one.document.name for one in found.results] == ["garden.md"]
    assert workspace.seen.total() == sent


async def test_entities_that_no_snapshot_knows_never_answer(tmp_path: Path) -> None:
    """The snapshot is the authority: an index entry without it is passed over."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)
    (tmp_path / "documents" / "garden.md").unlink()
    await base.rebuild(recipe_in(tmp_path))
    lexical = workspace.index_store.lexical("demo")
    hidden = [fields.chunk_id for fields in await lexical.fields(()) if not fields.searchable]

    await lexical.set_searchable(hidden, searchable=True)
    found = await base.query("beans", mode="full_text_search")

    assert hidden
    assert found.results == ()


async def test_unreadable_documents_become_issues_and_the_others_are_built(tmp_path: Path) -> None:
    """B-008."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {**TEXTS, "empty.txt": ""})
    (tmp_path / "documents" / "noise.txt").write_bytes(bytes(range(256)) * 4)

    record = await build(tmp_path, workspace)

    assert record.status == "succeeded"
    assert record.issues_by_code == {"DOCUMENT_BINARY": 1, "DOCUMENT_EMPTY": 1}
    assert {issue.subject.name for issue in record.issues} == {"empty.txt", "noise.txt"}


async def test_issues_of_skipped_steps_are_reported_again(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {**TEXTS, "empty.txt": ""})
    await build(tmp_path, workspace)

    record = await build(tmp_path, workspace)

    assert statuses(record)["parse_documents"] == "skipped"
    assert record.issues_by_code == {"DOCUMENT_EMPTY": 1}


async def test_a_step_whose_items_all_fail_fails_the_build(tmp_path: Path) -> None:
    """BQ-10."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"a.md": "poison one", "b.md": "poison two"})
    workspace.embedder_options["refuse"] = "poison"

    record = await build(tmp_path, workspace)

    assert record.status == "failed"
    assert record.error is not None
    assert "all 2 chunks failed (EMBEDDING_REFUSED_INPUT 2)" in record.error.message


async def test_a_failed_item_within_the_limit_is_an_issue_and_only_it_is_tried_again(tmp_path: Path) -> None:
    """BQ-10."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(
        tmp_path, {f"{number:02}.md": f"Text number {number}." for number in range(40)} | {"x.md": "poison"}
    )
    workspace.embedder_options["refuse"] = "poison"

    first = await build(tmp_path, workspace)
    sent = dict(workspace.seen)
    workspace.embedder_options.clear()
    second = await build(tmp_path, workspace)

    assert first.status == "succeeded"
    assert first.issues_by_code == {"EMBEDDING_REFUSED_INPUT": 1}
    assert {text for text in workspace.seen if workspace.seen[text] > sent.get(text, 0)} == {"poison"}
    assert second.issues_by_code == {}


async def test_one_new_unreadable_document_does_not_fail_a_base_that_has_others(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace, RECIPE.replace("partitions: 8", "partitions: 512"))
    write_documents(tmp_path, {"empty.txt": ""})

    record = await build(tmp_path, workspace, RECIPE.replace("partitions: 8", "partitions: 512"))

    assert record.status == "succeeded"
    assert record.step_records[0].counts.partitions == 4
    assert record.issues_by_code == {"DOCUMENT_EMPTY": 1}


async def test_a_source_without_documents_builds_an_empty_base_and_says_so(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")

    base = await KnowledgeBase.create(recipe_in(tmp_path), workspace)
    found = await base.query("anything")

    assert base.last_result is not None
    assert base.last_result.record.issues_by_code == {"NO_DOCUMENTS": 1}
    assert found.results == ()


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


def latest(workspace: FakeWorkspace) -> RecipeRunRecord:
    journal = RunJournal(workspace.object_store, BaseLayout("demo"))
    run_id = journal.latest_run_id()
    if run_id is None:
        return RecipeRunRecord.model_validate(
            {"run_id": "", "base_name": "demo", "recipe_fingerprint": "", "status": "running", "started_at": 0}
        )
    return journal.read(run_id)


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


async def test_a_text_that_stands_in_two_task_runs_at_once_is_paid_for_once(tmp_path: Path) -> None:
    """B-020, C26."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {f"copy-{number}.md": "# Notice\n\nThe quay is closed.\n" for number in range(12)})

    record = await build(tmp_path, workspace, task_run_weight=1)

    embedding = next(step for step in record.step_records if step.step_name == "embed_chunks")
    assert embedding.counts.task_runs > 1
    assert sum(workspace.seen.values()) == 1
    assert (embedding.counts.computed_items, embedding.counts.ledger_items) == (1, 11)


async def test_a_text_that_one_task_run_gave_up_is_tried_by_the_other(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {f"copy-{number}.md": "# Notice\n\nThe quay is closed.\n" for number in range(12)})
    workspace.failures = [RefusedError("Not now.", dependency="model")]

    record = await build(tmp_path, workspace, task_run_weight=1, stop_on_error=False)
    again = await build(tmp_path, workspace, task_run_weight=1)

    assert record.status == "failed"
    assert again.status == "succeeded"
    assert sum(workspace.seen.values()) == 1
