"""A graph from build to build: facts come and go with documents, and readers see one snapshot or the other."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.errors import NotFoundError
from lorebase.extraction.resolution_record import merges_of, undo_merge
from lorebase.runs.cleaning import clean_up
from lorebase.runs.corrections import CorrectionStore
from lorebase.runs.forgetting import forget_document
from lorebase.runs.plan import plan_build
from lorebase.runs.records import RecipeRunRecord
from lorebase.runs.rollback import roll_back
from tests.extraction.graph_bases import (
    ACME,
    BOREALIS,
    HARBOUR,
    LAYOUT,
    RECIPE,
    TOWER,
    graph_of_base,
    live_of,
    names_in,
)
from tests.fakes.dying_operation import let_leases_run_out
from tests.fakes.workspace import FakeWorkspace, recipe_in
from tests.runs.snapshot_checks import build, build_of

STEPS = ("extract_entities", "extract_relations", "resolve_entities", "build_graph")


async def built(folder: Path, workspace: FakeWorkspace, **texts: str) -> RecipeRunRecord:
    return await build_of(folder, workspace, {f"{name}.md": text for name, text in texts.items()}, RECIPE)


def statuses(record: RecipeRunRecord) -> dict[str, str]:
    return {step.step_name: step.status for step in record.step_records if step.step_name in STEPS}


async def test_a_build_unlocks_graph_search_and_keeps_its_artifacts(tmp_path: Path) -> None:
    """B-007."""
    workspace = FakeWorkspace(tmp_path / "ws")

    record = await built(tmp_path, workspace, acme=ACME, tower=TOWER)

    assert record.status == "succeeded"
    assert "graph_search" in record.capabilities.queries
    assert {"resolved_entities", "knowledge_graph"} <= set(record.artifacts)
    assert {"Acme Corporation", "海洋局"} <= await names_in(await graph_of_base(workspace))


async def test_a_build_of_the_same_documents_does_nothing_again(tmp_path: Path) -> None:
    """B-018, BQ-03."""
    workspace = FakeWorkspace(tmp_path / "ws")
    first = await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR)

    second = await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR)

    assert statuses(second) == dict.fromkeys(STEPS, "skipped")
    assert second.artifacts["knowledge_graph"] == first.artifacts["knowledge_graph"]


async def test_a_spanning_step_runs_again_when_one_partition_has_changed_and_finds_known_states_finished(
    tmp_path: Path,
) -> None:
    """BQ-04, BQ-05."""
    workspace = FakeWorkspace(tmp_path / "ws")
    first = await built(tmp_path, workspace, acme=ACME)
    second = await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR)

    third = await built(tmp_path, workspace, acme=ACME)

    assert statuses(second) == dict.fromkeys(STEPS, "succeeded")
    assert statuses(third) == dict.fromkeys(STEPS, "skipped")
    assert third.artifacts["knowledge_graph"].fingerprint == first.artifacts["knowledge_graph"].fingerprint


async def test_facts_die_with_their_last_evidence_and_live_while_another_document_has_some(tmp_path: Path) -> None:
    """BQ-09."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR, tower=TOWER)

    await built(tmp_path, workspace, acme=ACME, tower=TOWER)

    names = await names_in(await graph_of_base(workspace))
    assert "Norwick" not in names
    assert {"Acme Corporation", "Li Wei", "海洋局"} <= names


async def test_a_name_that_comes_back_cites_only_new_chunks(tmp_path: Path) -> None:
    """C25."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, harbour=HARBOUR, tower=TOWER)
    await built(tmp_path, workspace, tower=TOWER)
    await built(tmp_path, workspace, tower=TOWER, new="# Ferries\n\nAcme Corporation sells ferries to Norwick.\n")

    found = await KnowledgeBase.load("demo", workspace).query("Norwick", mode="graph_search")

    assert {result.document.name for result in found.results} == {"new.md"}


async def test_a_snapshot_keeps_its_graph_while_another_is_live_and_a_rollback_brings_it_back(tmp_path: Path) -> None:
    """BQ-07."""
    workspace = FakeWorkspace(tmp_path / "ws")
    first = await built(tmp_path, workspace, harbour=HARBOUR)
    old = await graph_of_base(workspace)
    await built(tmp_path, workspace, tower=TOWER)
    names_of_old, names_of_new = await names_in(old), await names_in(await graph_of_base(workspace))

    await roll_back(workspace, LAYOUT, first.run_id)

    assert "Norwick" in names_of_old
    assert "Norwick" not in names_of_new
    assert await names_in(await graph_of_base(workspace)) == names_of_old


async def test_tables_that_were_lost_are_made_again_from_the_artifact(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, harbour=HARBOUR)
    names = await names_in(await graph_of_base(workspace))
    await workspace.graph_store.close()
    for file in (tmp_path / "ws").glob("lorebase.db*"):
        file.unlink()

    found = await names_in(await graph_of_base(workspace))

    assert found == names


async def test_cleaning_up_removes_graphs_that_no_kept_snapshot_names(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, harbour=HARBOUR)
    await built(tmp_path, workspace, tower=TOWER)
    live = live_of(workspace).artifacts["knowledge_graph"].fingerprint

    dry = await clean_up(workspace, LAYOUT, keep=0)
    kept_by_dry_run = await workspace.graph_store.content_keys("demo")
    await clean_up(workspace, LAYOUT, keep=0, apply=True)

    assert [one.collection for one in dry.index if one.collection == "knowledge_graph"] == ["knowledge_graph"]
    assert len(kept_by_dry_run) == 2
    assert await workspace.graph_store.content_keys("demo") == [live]
    assert "海洋局" in await names_in(await graph_of_base(workspace))


async def test_cleaning_a_base_without_a_graph_makes_no_database(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"a.md": HARBOUR})

    await clean_up(workspace, LAYOUT, keep=0, apply=True)

    assert not (tmp_path / "ws" / "lorebase.db").exists()


async def test_forgetting_a_document_takes_its_facts_out_of_every_graph(tmp_path: Path) -> None:
    """BQ-09."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR)
    await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR, tower=TOWER)

    result = await forget_document(workspace, LAYOUT, "harbour.md")

    assert result.is_clean
    assert result.entities_removed["knowledge_graph"] > 0
    assert {"resolved_entities", "knowledge_graph"} <= set(result.rows_removed)
    assert await workspace.graph_store.content_keys_of_document("demo", result.document_id) == {}
    for snapshot in SnapshotStore(workspace.object_store, LAYOUT).all():
        names = await names_in(await graph_of_base(workspace, snapshot))
        assert "Norwick" not in names
        assert "Acme Corporation" in names


async def test_the_build_after_forgetting_has_nothing_to_do(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR)
    await forget_document(workspace, LAYOUT, "harbour.md")

    record = await built(tmp_path, workspace, acme=ACME)

    assert statuses(record) == dict.fromkeys(STEPS, "skipped")


async def test_an_undone_merge_is_honoured_by_the_next_build_and_the_ones_after(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    spelt = HARBOUR.replace("Acme", "ACME")
    await built(tmp_path, workspace, harbour=HARBOUR, spelt=spelt)
    merge = next(one for one in merges_of(workspace.object_store, live_of(workspace)) if one.reason == "case")

    undo_merge(workspace.object_store, live_of(workspace), merge.merge_id, workspace.clock.now())
    record = await built(tmp_path, workspace, harbour=HARBOUR, spelt=spelt)
    await built(tmp_path, workspace, harbour=HARBOUR, spelt=spelt, tower=TOWER)

    assert statuses(record)["extract_entities"] == "skipped"
    assert statuses(record)["resolve_entities"] == "succeeded"
    assert {"ACME Corporation", "Acme Corporation"} <= await names_in(await graph_of_base(workspace))
    assert merge.merge_id not in {one.merge_id for one in merges_of(workspace.object_store, live_of(workspace))}
    with pytest.raises(NotFoundError, match="It was undone before"):
        undo_merge(workspace.object_store, live_of(workspace), merge.merge_id, workspace.clock.now())


async def test_a_correction_can_be_withdrawn(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    texts = {"harbour": HARBOUR, "spelt": HARBOUR.replace("Acme", "ACME")}
    first = await built(tmp_path, workspace, **texts)
    merge = merges_of(workspace.object_store, live_of(workspace))[0]
    undo_merge(workspace.object_store, live_of(workspace), merge.merge_id, workspace.clock.now())
    await built(tmp_path, workspace, **texts)

    withdrawn = CorrectionStore(workspace.object_store, LAYOUT).withdraw(merge.merge_id)
    record = await built(tmp_path, workspace, **texts)

    assert withdrawn
    assert record.artifacts["knowledge_graph"].fingerprint == first.artifacts["knowledge_graph"].fingerprint


async def test_a_plan_says_what_the_spanning_steps_would_do_and_changes_nothing(tmp_path: Path) -> None:
    """BQ-12."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await built(tmp_path, workspace, acme=ACME)
    (tmp_path / "documents" / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    before = workspace.object_store.list("knowledge_bases")

    plan = await plan_build(recipe_in(tmp_path, RECIPE), workspace)
    record = await built(tmp_path, workspace, acme=ACME, harbour=HARBOUR)

    planned = {step.step: step for step in plan.steps}
    assert {name: planned[name].action for name in STEPS} == dict.fromkeys(STEPS, "run")
    made = {step.step_name: step.counts.computed_items for step in record.step_records}
    assert planned["resolve_entities"].counts.computed_items == made["resolve_entities"] > 0
    assert planned["build_graph"].counts.computed_items == made["build_graph"] > 0
    assert before == [key for key in workspace.object_store.list("knowledge_bases") if key in set(before)]


async def test_a_base_without_any_entity_has_an_empty_graph(tmp_path: Path) -> None:
    """C42."""
    workspace = FakeWorkspace(tmp_path / "ws")

    record = await built(tmp_path, workspace, plain="it rained and it was cold and nothing else was said.\n")

    assert record.status == "succeeded"
    assert await names_in(await graph_of_base(workspace)) == set()
    found = await KnowledgeBase.load("demo", workspace).query("who lives in Norwick", mode="graph_search")
    assert found.results == ()


def test_a_kill_between_staging_and_activation_leaves_the_old_graph_live(tmp_path: Path) -> None:
    """B-017."""
    asyncio.run(built(tmp_path, FakeWorkspace(tmp_path / "ws"), harbour=HARBOUR))
    (tmp_path / "documents" / "tower.md").write_text(TOWER, encoding="utf-8")

    command = [sys.executable, "-m", "tests.extraction.graph_bases", str(tmp_path)]
    killed = subprocess.run(command, capture_output=True, check=False)
    staged, names = asyncio.run(_staged_and_live(FakeWorkspace(tmp_path / "ws")))
    after = asyncio.run(_names_after_the_next_build(tmp_path))

    assert killed.returncode == -signal.SIGKILL
    assert len(staged) == 2
    assert "海洋局" not in names
    assert {"海洋局", "Norwick"} <= after


async def _staged_and_live(workspace: FakeWorkspace) -> tuple[list[str], set[str]]:
    return await workspace.graph_store.content_keys("demo"), await names_in(await graph_of_base(workspace))


async def _names_after_the_next_build(folder: Path) -> set[str]:
    workspace = FakeWorkspace(folder / "ws")
    let_leases_run_out(workspace.folder)
    await build(folder, workspace, RECIPE)
    return await names_in(await graph_of_base(workspace))


async def test_homonyms_of_two_documents_are_two_entities(tmp_path: Path) -> None:
    """C45."""
    workspace = FakeWorkspace(tmp_path / "ws")

    await built(tmp_path, workspace, acme=ACME, borealis=BOREALIS)

    named = await (await graph_of_base(workspace)).named(["li wei"])
    assert len(named["li wei"]) == 2
