"""Operations on a base with a graph that are killed: every graph is whole, and the next call goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.runs.cleaning import clean_up
from lorebase.runs.forgetting import forget_document
from lorebase.runs.rollback import roll_back
from tests.extraction.graph_bases import ACME, HARBOUR, LAYOUT, RECIPE, TOWER, graph_of_base, live_of, names_in
from tests.fakes.dying_operation import DyingOperations
from tests.fakes.workspace import FakeWorkspace
from tests.runs.snapshot_checks import build_of


async def two_builds(folder: Path, workspace: FakeWorkspace) -> list[str]:
    texts = {"acme.md": ACME, "harbour.md": HARBOUR}
    first = await build_of(folder, workspace, texts, RECIPE)
    second = await build_of(folder, workspace, {**texts, "灯塔.md": TOWER}, RECIPE)
    return [first.run_id, second.run_id]


@pytest.mark.parametrize("kills", [(0, 12), (25, 3), (38, 46)])
async def test_a_forgetting_that_is_killed_never_shows_half_a_graph_and_can_be_finished(
    tmp_path: Path, dying: DyingOperations, kills: tuple[int, ...]
) -> None:
    """BQ-09."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await two_builds(tmp_path, workspace)

    for attempt, changes in enumerate(kills, start=1):
        code = await asyncio.to_thread(dying.exit_code, tmp_path / "ws", "forget", "harbour.md", changes=changes)
        assert code in {-9, 0}
        assert attempt > 1 or code == -9
        assert {"Acme Corporation", "海洋局"} <= await names_in(await graph_of_base(workspace))
    result = await forget_document(workspace, LAYOUT, "harbour.md")

    assert result.is_clean
    assert await workspace.graph_store.content_keys_of_document("demo", result.document_id) == {}
    for snapshot in SnapshotStore(workspace.object_store, LAYOUT).all():
        names = await names_in(await graph_of_base(workspace, snapshot))
        assert "Acme Corporation" in names
        assert "Norwick" not in names


async def test_a_rollback_that_is_killed_after_staging_leaves_the_live_graph(
    tmp_path: Path, dying: DyingOperations
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, second = await two_builds(tmp_path, workspace)
    live = live_of(workspace).artifacts["knowledge_graph"].fingerprint
    keys = await workspace.graph_store.content_keys("demo")
    await workspace.graph_store.remove("demo", [key for key in keys if key != live])

    code = await asyncio.to_thread(dying.exit_code, tmp_path / "ws", "rollback", first, changes=0)
    staged = await workspace.graph_store.content_keys("demo")
    names = await names_in(await graph_of_base(workspace))
    await roll_back(workspace, LAYOUT, first)

    assert code == -9
    assert staged == keys
    assert live_of(workspace).run_id == first != second
    assert "海洋局" in names
    assert "海洋局" not in await names_in(await graph_of_base(workspace))


async def test_a_cleaning_that_is_killed_leaves_what_is_kept_and_can_be_finished(
    tmp_path: Path, dying: DyingOperations
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await two_builds(tmp_path, workspace)
    live = live_of(workspace).artifacts["knowledge_graph"].fingerprint

    code = await asyncio.to_thread(dying.exit_code, tmp_path / "ws", "gc", "0", changes=4)
    names = await names_in(await graph_of_base(workspace))
    await clean_up(workspace, LAYOUT, keep=0, apply=True)

    assert code == -9
    assert "海洋局" in names
    assert await workspace.graph_store.content_keys("demo") == [live]
