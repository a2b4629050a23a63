"""What a later build does anew, and what it takes over: only what changed is paid for."""

from __future__ import annotations

from pathlib import Path

from lorebase import KnowledgeBase
from lorebase.errors import (
    RefusedError,
)
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents
from tests.runs.building import TEXTS, build, statuses


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
