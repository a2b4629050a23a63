"""An index that was lost is an error that says how it comes back, and never a lack of results or of evidence."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.errors import IndexMismatchError
from lorebase.index.ports import Equals
from tests.fakes.memory_index import MemoryIndexStore
from tests.fakes.workspace import FakeWorkspace
from tests.governance.knowledge_world import BASE, KnowledgeWorld
from tests.governance.sqlite_world import database, world
from tests.governance.world import AUTHOR
from tests.runs.snapshot_checks import GARDEN, HARBOUR, LAYOUT, TOWER, build, build_of

__all__ = ["database", "world"]  # fixtures

MODES = ["vector_search", "full_text_search", "hybrid_search"]
TEXT = "# Travel 差旅\n\nTravel reports are due on Friday. 差旅报告周五前交。\n"


def lose_index(workspace: FakeWorkspace) -> None:
    """As where another, empty Milvus is named, or its folder was removed."""
    workspace.__dict__["index_store"] = MemoryIndexStore()


@pytest.fixture
async def workspace(tmp_path: Path) -> FakeWorkspace:
    made = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, made, {"harbour.md": HARBOUR, "灯塔.md": TOWER})
    return made


@pytest.mark.parametrize("mode", MODES)
async def test_a_search_of_an_index_that_was_lost_says_so_and_the_next_build_fills_it_without_the_model(
    tmp_path: Path, workspace: FakeWorkspace, mode: str
) -> None:
    base = KnowledgeBase.load("demo", workspace)
    before = await base.query("灯塔几点亮灯", mode=mode)
    lose_index(workspace)

    with pytest.raises(IndexMismatchError, match=r"index of 'demo' is empty, and \d chunks are live") as lost:
        await base.query("灯塔几点亮灯", mode=mode)
    paid = workspace.seen.copy()
    await build(tmp_path, workspace)
    after = await base.query("灯塔几点亮灯", mode=mode)

    assert "Build the base again" in lost.value.remedy
    assert before.results
    assert after.results == before.results
    assert workspace.seen == paid


async def test_a_question_is_no_question_without_evidence_where_the_index_was_lost(workspace: FakeWorkspace) -> None:
    base = KnowledgeBase.load("demo", workspace)
    lose_index(workspace)

    with pytest.raises(IndexMismatchError):
        await base.ask("What does a berth cost a night?")


@pytest.mark.parametrize(("query", "where"), [("zebra", ()), ("？！", ()), ("berth", (Equals("document_id", "none"),))])
async def test_a_search_that_rightly_finds_nothing_finds_nothing(
    workspace: FakeWorkspace, query: str, where: tuple[Equals, ...]
) -> None:
    found = await KnowledgeBase.load("demo", workspace).query(query, mode="full_text_search", where=where)

    assert found.results == ()


async def test_a_search_that_the_switch_to_another_snapshot_overtook_is_made_again(
    tmp_path: Path, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = KnowledgeBase.load("demo", workspace)
    old = base.snapshot()
    await build_of(tmp_path, workspace, {"garden.md": GARDEN})
    live = SnapshotStore(workspace.object_store, LAYOUT).require_live()
    answers = chain([old], repeat(live))

    def snapshot() -> Snapshot:
        return next(answers)

    monkeypatch.setattr(base, "snapshot", snapshot)

    found = await base.query("When are beans sown?", mode="vector_search")

    assert [one.text for one in found.results if "Beans" in one.text]


async def test_governed_knowledge_whose_index_was_lost_is_an_error_until_it_is_reconciled(
    world: KnowledgeWorld,
) -> None:
    await world.publish(await world.ready(world.item(), TEXT))
    before = await world.retrieve()
    await world.close()
    lose_index(world.workspace)

    with pytest.raises(IndexMismatchError, match=f"index of '{BASE}' is empty") as lost:
        await world.retrieve()
    await world.knowledge.reconciling.reconcile_base(AUTHOR, BASE)
    after = await world.retrieve()

    assert f"`lorebase release reconcile {BASE}`" in lost.value.remedy
    assert before.answerable
    assert after.evidence == before.evidence


async def test_a_base_in_which_nothing_is_live_has_no_evidence_whatever_its_index_holds(world: KnowledgeWorld) -> None:
    item = world.item()
    await world.publish(await world.ready(item, TEXT))
    await world.take_offline(item.id)
    offline = await world.retrieve()
    lose_index(world.workspace)

    lost = await world.retrieve()

    assert (offline.answerable, lost.answerable, lost.reason) == (False, False, "NO_EVIDENCE")
