"""The history of snapshots, and going back to one of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.artifacts.lease import acquire_lease
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConflictError, CorruptObjectError, NotFoundError
from lorebase.index.ports import Equals
from lorebase.runs.cleaning import clean_up
from lorebase.runs.history import base_history
from lorebase.runs.rollback import roll_back
from tests.fakes.dying_operation import DyingOperations
from tests.fakes.workspace import RECIPE, FakeWorkspace
from tests.runs.snapshot_checks import (
    GARDEN,
    HARBOUR,
    LAYOUT,
    assert_everything_is_whole,
    build,
    build_of,
    live_id,
    names_found,
    three_builds,
)


async def test_the_history_says_what_each_snapshot_changed(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    runs = await three_builds(tmp_path, workspace)

    history = base_history(workspace.object_store, LAYOUT)

    newest, middle, oldest = history.snapshots
    assert [line.snapshot_id for line in history.snapshots] == [run.run_id for run in reversed(runs)]
    assert [line.live for line in history.snapshots] == [True, False, False]
    assert oldest.changes is None
    assert middle.changes is not None
    assert (middle.changes.documents_added, middle.changes.chunks_added, middle.changes.chunks_removed) == (1, 1, 0)
    assert newest.changes is not None
    assert (newest.changes.documents_added, newest.changes.documents_changed) == (1, 1)
    assert newest.changes.documents_removed == 0
    # Every chunk id covers the revision of its document: all of the changed document's chunks are other ones.
    assert newest.changes.chunks_removed == oldest.chunks


async def test_a_history_of_unequal_partition_numbers_counts_only_what_differs(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    texts = {f"{number}.md": f"Text number {number}.\n" for number in range(9)}
    await build_of(tmp_path, workspace, texts)
    await build_of(
        tmp_path, workspace, texts | {"new.md": "One more.\n"}, RECIPE.replace("partitions: 8", "partitions: 3")
    )

    changes = base_history(workspace.object_store, LAYOUT).snapshots[0].changes

    assert changes is not None
    assert tuple(changes.model_dump().values()) == (1, 0, 0, 1, 0)


@pytest.mark.parametrize("mode", ["vector_search", "full_text_search", "hybrid_search"])
async def test_a_rollback_shows_the_old_state_without_a_model_call(tmp_path: Path, mode: str) -> None:
    """BQ-07."""
    workspace = FakeWorkspace(tmp_path / "ws")
    first, _, third = await three_builds(tmp_path, workspace)
    base = KnowledgeBase.load("demo", workspace)
    await base.query("beans", mode=mode)
    sent = workspace.seen.total()

    result = await roll_back(workspace, LAYOUT, first.run_id)
    found = await base.query("whale oil, beans, 灯塔", mode=mode, top_k=10)

    assert (result.moved, result.from_snapshot_id, result.to_snapshot_id) == (True, third.run_id, first.run_id)
    assert {one.document.name for one in found.results} == {"harbour.md"}
    assert any("whale oil" in one.text for one in found.results)
    assert workspace.seen.total() == sent
    assert [move.cause for move in base_history(workspace.object_store, LAYOUT).moves] == ["rollback", *["build"] * 3]


async def test_a_rollback_takes_what_it_leaves_out_of_the_searches(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, *_ = await three_builds(tmp_path, workspace)

    await roll_back(workspace, LAYOUT, first.run_id)

    for index in (workspace.index_store.lexical("demo"), vectors_of(workspace)):
        searchable = await index.fields((Equals("searchable", value=True),))
        assert {fields.document_id for fields in searchable} == {await harbour_id(workspace)}


async def test_what_the_index_has_lost_is_staged_again_from_stored_artifacts(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, *_ = await three_builds(tmp_path, workspace)
    for index in (workspace.index_store.lexical("demo"), vectors_of(workspace)):
        await index.delete((Equals("searchable", value=False),))
    sent = workspace.seen.total()

    result = await roll_back(workspace, LAYOUT, first.run_id)

    assert result.staged == 2 * result.chunks
    assert result.repaired == ()
    assert workspace.seen.total() == sent
    for mode in result.queries:
        assert await names_found(workspace, "whale oil", mode) == {"harbour.md"}


async def test_a_rollback_crosses_to_another_embedding_model_and_back(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first = await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    workspace.embedder_options["dimensions"] = 64
    second = await build_of(tmp_path, workspace, {"harbour.md": HARBOUR, "garden.md": GARDEN})
    narrow = vectors_of(workspace)

    await roll_back(workspace, LAYOUT, first.run_id)
    workspace.embedder_options["dimensions"] = 384
    then = await names_found(workspace, "beans sown in May, whale oil", "vector_search")
    left_on = await narrow.count((Equals("searchable", value=True),))
    back = await roll_back(workspace, LAYOUT, second.run_id)
    workspace.embedder_options["dimensions"] = 64

    assert then == {"harbour.md"}
    assert left_on == 0
    assert back.repaired == ()
    assert await names_found(workspace, "beans sown in May", "vector_search") >= {"garden.md"}


async def test_a_build_after_a_rollback_brings_the_sources_back(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, *_ = await three_builds(tmp_path, workspace)
    await roll_back(workspace, LAYOUT, first.run_id)
    sent = workspace.seen.total()

    record = await build(tmp_path, workspace)

    assert record.status == "succeeded"
    assert record.issues_by_code == {}
    assert live_id(workspace) == record.run_id
    assert workspace.seen.total() == sent
    assert await names_found(workspace, "beans") == {"garden.md"}


async def test_rolling_back_to_what_is_live_says_so_and_mends_what_a_kill_left_on(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    _, _, third = await three_builds(tmp_path, workspace)
    lexical = workspace.index_store.lexical("demo")
    hidden = [fields.chunk_id for fields in await lexical.fields((Equals("searchable", value=False),))]
    await lexical.set_searchable(hidden, searchable=True)

    result = await roll_back(workspace, LAYOUT, third.run_id)

    assert result.moved is False
    assert [issue.code for issue in result.repaired] == ["INDEX_REPAIRED"]
    assert await lexical.count((Equals("searchable", value=True),)) == result.chunks
    assert len(base_history(workspace.object_store, LAYOUT).moves) == 3


async def test_an_unknown_target_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    runs = await three_builds(tmp_path, workspace)

    with pytest.raises(NotFoundError) as raised:
        await roll_back(workspace, LAYOUT, "20200101t000000000-00000000")

    assert all(run.run_id in raised.value.remedy for run in runs)


async def test_nothing_works_on_a_base_that_is_being_built(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, *_ = await three_builds(tmp_path, workspace)
    lease = acquire_lease(workspace.object_store, LAYOUT.lease, holder="other", now=workspace.clock.now)

    with lease:
        with pytest.raises(ConflictError, match="other"):
            await roll_back(workspace, LAYOUT, first.run_id)
        with pytest.raises(ConflictError, match="other"):
            await clean_up(workspace, LAYOUT, apply=True)


async def test_a_base_that_nobody_knows_is_not_found_and_leaves_no_trace(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")

    with pytest.raises(NotFoundError):
        await clean_up(workspace, BaseLayout("other"), apply=True)
    with pytest.raises(NotFoundError):
        await roll_back(workspace, BaseLayout("other"), "x")

    assert workspace.object_store.list("knowledge_bases") == []


async def test_a_target_that_is_not_whole_is_refused_and_the_live_snapshot_stays(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, _, third = await three_builds(tmp_path, workspace)
    from lorebase.artifacts.manifest import read_manifest

    entry = read_manifest(workspace.object_store, first.artifacts["chunks"]).partitions[0]
    workspace.object_store.delete([LAYOUT.object(entry.sha256)])

    with pytest.raises(CorruptObjectError, match="is not whole"):
        await roll_back(workspace, LAYOUT, first.run_id)

    assert live_id(workspace) == third.run_id


async def test_queries_during_rollbacks_see_one_snapshot_or_the_other(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, _, third = await three_builds(tmp_path, workspace)
    base = KnowledgeBase.load("demo", workspace)
    seen: set[frozenset[str]] = set()

    async def ask() -> None:
        while True:
            found = await base.query("harbour beans 灯塔", mode="full_text_search", top_k=10)
            seen.add(frozenset(one.document.name for one in found.results))

    asking = asyncio.create_task(ask())
    for target in [first, third] * 4:
        await roll_back(workspace, LAYOUT, target.run_id)
    asking.cancel()

    assert seen <= {frozenset({"harbour.md"}), frozenset({"harbour.md", "garden.md", "灯塔.md"})}


@pytest.mark.parametrize("changes", [1, 2])
async def test_a_rollback_that_is_killed_leaves_one_snapshot_live_and_can_be_repeated(
    tmp_path: Path, dying: DyingOperations, changes: int
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, _, third = await three_builds(tmp_path, workspace)

    code = await asyncio.to_thread(dying.exit_code, tmp_path / "ws", "rollback", first.run_id, changes=changes)

    assert code == (0 if changes == 2 else -9)
    assert live_id(workspace) == (first.run_id if changes == 2 else third.run_id)
    assert_everything_is_whole(workspace)
    await roll_back(workspace, LAYOUT, first.run_id)
    assert await names_found(workspace, "harbour beans") == {"harbour.md"}


def vectors_of(workspace: FakeWorkspace):
    snapshot = KnowledgeBase.load("demo", workspace).snapshot()
    return workspace.index_store.vectors("demo", snapshot.embedding_profile_id, snapshot.embedding_dimensions)


async def harbour_id(workspace: FakeWorkspace) -> str:
    found = await KnowledgeBase.load("demo", workspace).query("harbour", mode="full_text_search", top_k=1)
    return found.results[0].document.id
