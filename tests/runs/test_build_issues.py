"""What a build reports and goes on: unreadable documents, failed items, sources without documents."""

from __future__ import annotations

from pathlib import Path

from lorebase import KnowledgeBase
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents
from tests.runs.building import TEXTS, build, statuses


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
