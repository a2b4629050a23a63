"""One document taken out of everything, and nothing else with it."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from lorebase import KnowledgeBase
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.errors import NotFoundError, RefusedError, UsageError
from lorebase.ids import document_id_of
from lorebase.index.ports import Equals
from lorebase.runs.cleaning import clean_up
from lorebase.runs.documents import is_in_source
from lorebase.runs.forgetting import forget_document
from lorebase.runs.history import base_history
from lorebase.runs.rollback import roll_back
from tests.fakes.dying_operation import DyingOperations
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in
from tests.runs.snapshot_checks import (
    GARDEN,
    HARBOUR,
    LAYOUT,
    TOWER,
    assert_everything_is_whole,
    build,
    build_of,
    chunks_of,
    live_id,
    names_found,
    pay_for_chunks,
    snapshots_of,
    three_builds,
)

GARDEN_ID = document_id_of("documents", "garden.md")
ONE_PARTITION = RECIPE.replace("partitions: 8", "partitions: 1")


def remains_of(workspace: FakeWorkspace, *needles: str) -> list[str]:
    """Keys of everything in the store whose readable content holds one of the needles; the record of it apart."""
    found = []
    for key in workspace.object_store.list("knowledge_bases"):
        content = workspace.object_store.get(key)
        readable = (
            str(pq.read_table(io.BytesIO(content)).to_pylist())
            if key.endswith(".parquet")
            else content.decode("utf-8", "ignore")
        )
        if not key.startswith(LAYOUT.forgotten) and any(needle in readable for needle in needles):
            found.append(key)
    return found


@pytest.mark.parametrize("recipe", [RECIPE, ONE_PARTITION], ids=["8 partitions", "1 partition"])
async def test_nothing_of_a_forgotten_document_remains_and_the_counts_prove_it(tmp_path: Path, recipe: str) -> None:
    """BQ-09."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace, recipe)

    result = await forget_document(workspace, LAYOUT, "garden.md")

    assert result.document_id == GARDEN_ID
    assert set(result.rows_removed) == {
        "source_documents", "parsed_documents", "chunks", "embeddings", "vector_index", "full_text_index",
    }  # fmt: skip
    assert all(rows > 0 for rows in result.rows_removed.values())
    assert {name.partition("/")[0]: count for name, count in result.entities_removed.items()} == {
        "text": 1,
        "vectors": 1,
    }
    assert result.objects_deleted > 0
    assert result.traces == ()
    assert remains_of(workspace, GARDEN_ID, "Beans are sown") == []
    assert_everything_is_whole(workspace)


async def test_other_documents_keep_their_chunks_in_every_snapshot(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, second, third = await three_builds(tmp_path, workspace, ONE_PARTITION)
    before = [chunks_of(workspace, snapshot) for snapshot in snapshots_of(workspace)]

    result = await forget_document(workspace, LAYOUT, GARDEN_ID)

    after = [chunks_of(workspace, snapshot) for snapshot in snapshots_of(workspace)]
    assert after == [
        {key: chunk for key, chunk in chunks.items() if chunk.document_id != GARDEN_ID} for chunks in before
    ]
    assert [(one.before, one.after) for one in result.snapshots_rewritten] == [
        (second.run_id, f"{second.run_id}.1"),
        (third.run_id, f"{third.run_id}.1"),
    ]
    assert [snapshot.documents for snapshot in snapshots_of(workspace)] == [1, 1, 2]
    assert live_id(workspace) == f"{third.run_id}.1"
    assert base_history(workspace.object_store, LAYOUT).moves[0].cause == "forget"
    assert first.run_id in {snapshot.snapshot_id for snapshot in snapshots_of(workspace)}


async def test_an_open_reader_does_not_find_it_any_more(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace, ONE_PARTITION)
    base = KnowledgeBase.load("demo", workspace)
    assert (await base.query("beans", mode="full_text_search")).results

    await forget_document(workspace, LAYOUT, "garden.md")

    for mode in base.capabilities.queries:
        found = await base.query("beans are sown in May, harbour, 灯塔", mode=mode, top_k=20)
        assert {one.document.name for one in found.results} == {"harbour.md", "灯塔.md"}


@pytest.mark.parametrize("recipe", [RECIPE, ONE_PARTITION], ids=["8 partitions", "1 partition"])
async def test_the_next_build_without_it_has_nothing_to_do(tmp_path: Path, recipe: str) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace, recipe)
    await forget_document(workspace, LAYOUT, "garden.md")
    (tmp_path / "documents/garden.md").unlink()
    sent = workspace.seen.total()

    record = await build(tmp_path, workspace, recipe)

    assert {step.status for step in record.step_records} == {"skipped"}
    assert workspace.seen.total() == sent
    assert record.issues_by_code == {}
    assert record.snapshot_id == live_id(workspace)


async def test_a_change_of_another_document_of_its_partition_costs_only_the_change(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace, ONE_PARTITION)
    await forget_document(workspace, LAYOUT, "garden.md")
    sent = workspace.seen.total()

    await build_of(
        tmp_path,
        workspace,
        {"harbour.md": HARBOUR.replace("oil", "tallow"), "灯塔.md": "# 灯塔\n\n关了。\n"},
        ONE_PARTITION,
    )

    assert workspace.seen.total() == sent + 1
    assert_everything_is_whole(workspace)


async def test_a_document_that_is_still_in_the_source_comes_back_with_the_next_build(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    await forget_document(workspace, LAYOUT, "garden.md")
    gone = await names_found(workspace, "beans")

    await build(tmp_path, workspace)

    assert gone == set()
    assert await names_found(workspace, "beans") == {"garden.md"}


async def test_another_document_of_the_same_bytes_keeps_its_results_and_is_not_paid_for_again(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"garden.md": GARDEN, "copy.md": GARDEN})
    sent = workspace.seen.total()

    result = await forget_document(workspace, LAYOUT, "garden.md")
    (tmp_path / "documents/garden.md").unlink()
    (tmp_path / "documents/third.md").write_text(GARDEN, encoding="utf-8")
    await build(tmp_path, workspace)

    assert result.traces == ()
    assert await names_found(workspace, "beans") == {"copy.md", "third.md"}
    assert workspace.seen.total() == sent


async def test_a_rollback_after_it_does_not_bring_it_back(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    _, second, _ = await three_builds(tmp_path, workspace)
    await forget_document(workspace, LAYOUT, "garden.md")

    result = await roll_back(workspace, LAYOUT, second.run_id)

    assert result.to_snapshot_id == f"{second.run_id}.1"
    assert await names_found(workspace, "beans harbour") == {"harbour.md"}


async def test_issues_about_it_go_too_and_come_again_with_it(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR, "empty.txt": ""}, ONE_PARTITION)
    empty_id = document_id_of("documents", "empty.txt")

    result = await forget_document(workspace, LAYOUT, "empty.txt")
    remains = remains_of(workspace, empty_id)
    record = await build(tmp_path, workspace, ONE_PARTITION)

    assert result.traces == ()
    assert remains == []
    assert record.issues_by_code == {"DOCUMENT_EMPTY": 1}


async def test_what_a_failed_run_has_paid_of_it_goes_and_the_rest_stays_paid(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    workspace.failures.append(RefusedError("No.", dependency="endpoint"))
    texts = {"harbour.md": HARBOUR, "garden.md": GARDEN, "灯塔.md": TOWER}
    failed = await build_of(tmp_path, workspace, texts)
    assert pay_for_chunks(workspace, failed)
    sent = workspace.seen.total()

    result = await forget_document(workspace, LAYOUT, "garden.md")
    (tmp_path / "documents/garden.md").unlink()
    remains = remains_of(workspace, GARDEN_ID)
    record = await build(tmp_path, workspace)

    assert (failed.status, record.status) == ("failed", "succeeded")
    assert result.rows_removed["chunks"] == 1
    assert (result.traces, remains) == ((), [])
    assert workspace.seen.total() == sent


async def test_forgetting_twice_finds_nothing_the_second_time(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    await forget_document(workspace, LAYOUT, "garden.md")

    by_name = await forget_document(workspace, LAYOUT, "garden.md")
    by_id = await forget_document(workspace, LAYOUT, GARDEN_ID)

    for again in (by_name, by_id):
        assert (again.rows_removed, again.snapshots_rewritten, again.objects_deleted) == ({}, (), 0)
        assert sum(again.entities_removed.values()) == 0


async def test_an_unknown_document_is_answered_with_what_may_be_meant(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)

    with pytest.raises(NotFoundError, match=r"Did you mean 'garden\.md'"):
        await forget_document(workspace, LAYOUT, "gardens.md")


async def test_a_name_of_two_documents_is_answered_with_their_ids(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    text = RECIPE.replace("[{folder: documents}]", "[{folder: documents}, {folder: more}]")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/garden.md").write_text("# Other\n", encoding="utf-8")
    await build_of(tmp_path, workspace, {"garden.md": GARDEN}, text)

    with pytest.raises(UsageError) as raised:
        await forget_document(workspace, LAYOUT, "garden.md")

    assert set(raised.value.facts["documents"]) == {GARDEN_ID, document_id_of("more", "garden.md")}


async def test_whether_it_is_still_in_the_source_is_asked_of_the_source(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    from lorebase.documents.model import SourceDocument

    document = SourceDocument(GARDEN_ID, "garden.md", "documents", "", "", 0)
    excluding = RECIPE.replace("folder: documents", 'folder: documents, exclude: ["garden.md"]')

    there = is_in_source(workspace, recipe_in(tmp_path), document)
    excluded = is_in_source(workspace, recipe_in(tmp_path, excluding), document)
    (tmp_path / "documents/garden.md").unlink()
    gone = is_in_source(workspace, recipe_in(tmp_path), document)

    assert (there, excluded, gone) == (True, False, False)


async def test_cleaning_after_forgetting_finds_only_what_it_would_have_found_before(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    await forget_document(workspace, LAYOUT, "garden.md")

    report = await clean_up(workspace, LAYOUT, keep=5, apply=True)

    assert (report.freed_count, report.index) == (0, ())


@pytest.mark.parametrize("seed", range(2))
async def test_a_forgetting_that_is_killed_leaves_a_whole_base_and_the_next_one_goes_on(
    tmp_path: Path, dying: DyingOperations, seed: int
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace, ONE_PARTITION)
    others = [
        {key for key, chunk in chunks_of(workspace, one).items() if chunk.document_id != GARDEN_ID}
        for one in snapshots_of(workspace)
    ]
    random = Random(seed)

    for attempt in range(1, 4):
        changes = random.randrange(60)
        code = await asyncio.to_thread(dying.exit_code, tmp_path / "ws", "forget", "garden.md", changes=changes)

        assert code in {-9, 0}
        assert attempt > 1 or code == -9
        assert_everything_is_whole(workspace)
        assert await names_found(workspace, "harbour 灯塔") == {"harbour.md", "灯塔.md"}
    result = await forget_document(workspace, LAYOUT, "garden.md")
    assert result.traces == ()
    assert remains_of(workspace, GARDEN_ID, "Beans are sown") == []
    assert_everything_is_whole(workspace)
    assert [set(chunks_of(workspace, one)) for one in snapshots_of(workspace)] == others
    assert SnapshotStore(workspace.object_store, LAYOUT).require_live() == snapshots_of(workspace)[-1]
    assert await workspace.index_store.lexical("demo").count((Equals("document_id", GARDEN_ID),)) == 0
    (tmp_path / "documents/garden.md").unlink()
    sent = workspace.seen.total()
    assert (await build(tmp_path, workspace, ONE_PARTITION)).status == "succeeded"
    assert workspace.seen.total() == sent
