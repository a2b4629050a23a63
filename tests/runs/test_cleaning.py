"""Removing what nobody needs any more, and never anything else."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lorebase import KnowledgeBase
from lorebase.errors import CorruptObjectError, RefusedError
from lorebase.runs.cleaning import clean_up
from lorebase.runs.forgetting import forget_document
from lorebase.runs.journal import RunJournal
from lorebase.runs.records import RecipeRunState
from lorebase.runs.rollback import roll_back
from tests.fakes.dying_operation import DyingOperations
from tests.fakes.workspace import FakeWorkspace, write_documents
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
    segments_of,
    snapshots_of,
    three_builds,
)


async def test_without_apply_nothing_is_removed_and_the_same_is_promised_that_apply_frees(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    before = contents(workspace)

    promised = await clean_up(workspace, LAYOUT, keep=1)
    after_promise = contents(workspace)
    done = await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert after_promise == before
    assert done.model_dump(exclude={"applied"}) == promised.model_dump(exclude={"applied"})
    assert sum(before[key] for key in before.keys() - contents(workspace).keys()) == done.freed_bytes
    assert {freed.kind for freed in done.freed if freed.count} >= {"snapshots", "manifests", "objects", "ledger_keys"}
    assert {found.collection.partition("/")[0]: found.entities for found in done.index} == {"text": 2, "vectors": 2}


async def test_a_second_cleaning_finds_nothing(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    await clean_up(workspace, LAYOUT, keep=1, apply=True)

    again = await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert (again.freed_count, again.index, again.removed_snapshots) == (0, (), ())


async def test_the_live_snapshot_and_the_last_ones_stay_readable_searchable_and_paid_for(tmp_path: Path) -> None:
    """BQ-07."""
    workspace = FakeWorkspace(tmp_path / "ws")
    first, second, third = await three_builds(tmp_path, workspace)
    await roll_back(workspace, LAYOUT, first.run_id)
    sent = workspace.seen.total()

    report = await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert report.kept_snapshots == (first.run_id, third.run_id)
    assert report.removed_snapshots == (second.run_id,)
    assert_everything_is_whole(workspace)
    assert await names_found(workspace, "whale oil") == {"harbour.md"}
    await roll_back(workspace, LAYOUT, third.run_id)
    assert await names_found(workspace, "beans") == {"garden.md"}
    assert set((await build(tmp_path, workspace)).model_dump()["issues_by_code"]) == set()
    assert workspace.seen.total() == sent


async def test_a_build_after_cleaning_skips_every_step(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    await clean_up(workspace, LAYOUT, keep=1, apply=True)

    record = await build(tmp_path, workspace)

    assert {step.status for step in record.step_records} == {"skipped"}


async def test_a_change_after_cleaning_costs_only_the_change(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    await clean_up(workspace, LAYOUT, keep=1, apply=True)
    sent = workspace.seen.total()

    write_documents(tmp_path, {"garden.md": GARDEN.replace("May", "June")})
    await build(tmp_path, workspace)

    assert workspace.seen.total() == sent + 1
    assert_everything_is_whole(workspace)


async def test_what_a_failed_run_has_paid_for_is_kept_until_a_run_succeeds(tmp_path: Path) -> None:
    """BQ-05."""
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    workspace.failures.append(RefusedError("No.", dependency="endpoint"))
    failed = await build_of(tmp_path, workspace, {"garden.md": GARDEN, "灯塔.md": TOWER})
    segments = pay_for_chunks(workspace, failed)
    sent = workspace.seen.total()

    await clean_up(workspace, LAYOUT, keep=1, apply=True)
    kept = segments_of(workspace)
    record = await build(tmp_path, workspace)
    workspace.object_store.put(segments[0], b"left by a kill after the record was written")
    await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert failed.status == "failed"
    assert segments
    assert kept == segments
    assert record.status == "succeeded"
    assert workspace.seen.total() == sent
    assert segments_of(workspace) == []


async def test_groups_that_a_failed_run_has_finished_are_not_paid_for_again(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    many = {f"{number}.md": f"Text number {number}.\n" for number in range(12)}
    workspace.embedder_options["refuse"] = "poison"
    failed = await build_of(tmp_path, workspace, many | {"bad.md": "poison\n"})
    sent = dict(workspace.seen)

    await clean_up(workspace, LAYOUT, keep=1, apply=True)
    workspace.embedder_options.clear()
    record = await build(tmp_path, workspace)

    assert (failed.status, record.status) == ("failed", "succeeded")
    assert {text for text, times in workspace.seen.items() if times > sent.get(text, 0)} == {"poison"}


async def test_what_the_latest_run_made_stays_also_where_its_snapshot_goes(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first, second, third = await three_builds(tmp_path, workspace)
    await roll_back(workspace, LAYOUT, first.run_id)
    sent = workspace.seen.total()

    report = await clean_up(workspace, LAYOUT, keep=0, apply=True)
    record = await build(tmp_path, workspace)

    assert report.removed_snapshots == (second.run_id, third.run_id)
    assert {step.status for step in record.step_records} == {"skipped"}
    assert workspace.seen.total() == sent
    assert await names_found(workspace, "beans") == {"garden.md"}


async def test_a_run_that_broke_off_before_its_last_steps_goes_on_after_cleaning(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    workspace.failures.append(RefusedError("No.", dependency="endpoint"))
    failed = await build_of(tmp_path, workspace, {"garden.md": GARDEN})

    await clean_up(workspace, LAYOUT, keep=1, apply=True)
    record = await build(tmp_path, workspace)

    statuses = {step.step_name: step.status for step in record.step_records}
    assert failed.status == "failed"
    assert (statuses["parse_documents"], statuses["split_documents"]) == ("skipped", "skipped")
    assert await names_found(workspace, "beans") == {"garden.md"}


async def test_nothing_younger_than_a_run_that_never_ended_is_removed(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    records = await three_builds(tmp_path, workspace)
    started = workspace.clock.now()
    state = RecipeRunState(
        run_id="29990101t000000000-00000000",
        base_name="demo",
        recipe_fingerprint="",
        status="running",
        started_at=started,
    )
    RunJournal(workspace.object_store, LAYOUT).begin(state)
    young = LAYOUT.object("ab" * 32)
    workspace.object_store.put(young, b"not yet in any manifest")
    os.utime(tmp_path / "ws/objects" / young, (started.timestamp() + 1, started.timestamp() + 1))

    report = await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert workspace.object_store.exists(young)
    assert report.removed_snapshots == (records[0].run_id, records[1].run_id)


async def test_a_collection_that_no_kept_snapshot_uses_is_dropped(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    first = await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    wide = snapshots_of(workspace)[0]
    workspace.embedder_options["dimensions"] = 64
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    index = workspace.index_store.vectors("demo", wide.embedding_profile_id, wide.embedding_dimensions)

    report = await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert report.removed_snapshots == (first.run_id,)
    assert [(found.collection, found.dropped) for found in report.index] == [
        (f"vectors/{wide.embedding_profile_id}", True)
    ]
    assert await index.count(()) == 0
    assert await names_found(workspace, "whale oil", "vector_search") == {"harbour.md"}


async def test_temporary_files_go_once_they_are_old(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await three_builds(tmp_path, workspace)
    folder = tmp_path / "ws/objects" / LAYOUT.prefix
    old, fresh = folder / "x.json.writing-1", folder / "x.json.writing-2"
    for path in (old, fresh):
        path.write_bytes(b"half")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))

    report = await clean_up(workspace, LAYOUT, keep=5, apply=True)

    assert [(one.kind, one.count) for one in report.freed if one.count] == [("temporary_files", 1)]
    assert (old.exists(), fresh.exists()) == (False, True)


async def test_old_runs_and_the_results_that_prefect_keeps_of_them_go(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": HARBOUR})
    store = workspace.object_store
    stale = [key.rpartition("/")[2].removesuffix(".json") for key in store.list(LAYOUT.finished)]
    await build_of(tmp_path, workspace, {"garden.md": GARDEN})
    groups = [key.rpartition("/")[2].removesuffix(".json") for key in store.list(LAYOUT.finished)]
    for group in groups:
        store.put(f"{LAYOUT.prefect_results}/embed_chunks/{group}", b"{}")

    report = await clean_up(workspace, LAYOUT, keep=1, apply=True)

    left = {key.rpartition("/")[2] for key in store.list(LAYOUT.prefect_results)}
    assert left == set(groups) - set(stale)
    assert report.removed_runs == 1
    assert RunJournal(store, LAYOUT).run_ids() == [live_id(workspace)]


async def test_a_base_whose_kept_snapshot_is_not_whole_is_left_alone(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    _, _, third = await three_builds(tmp_path, workspace)
    workspace.object_store.delete([third.artifacts["chunks"].manifest_key])
    before = contents(workspace)

    with pytest.raises(CorruptObjectError):
        await clean_up(workspace, LAYOUT, keep=1, apply=True)

    assert contents(workspace) == before


NAMES = ("a.md", "b.md", "c.md")
TEXTS = ("Alpha stands first.\n", "Beta comes second.\n", "Gamma rays.\n\n## Part\n\nDelta wing.\n")
ACTIONS = st.one_of(
    st.tuples(st.just("build"), st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), min_size=1)),
    st.tuples(st.just("fail"), st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), min_size=1)),
    st.tuples(st.just("rollback"), st.integers(0, 9)),
    st.tuples(st.just("gc"), st.integers(0, 2)),
    st.tuples(st.just("forget"), st.sampled_from(NAMES)),
)


@given(history=st.lists(ACTIONS, min_size=2, max_size=6), keep=st.integers(0, 2))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
def test_in_every_history_retention_leaves_what_kept_snapshots_need(
    history: list[tuple[str, object]], keep: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live_through(Path(folder), history, keep))


async def live_through(folder: Path, history: list[tuple[str, object]], keep: int) -> None:
    workspace = FakeWorkspace(folder / "ws")
    await build_of(folder, workspace, dict(zip(NAMES, TEXTS, strict=True)))
    for action, argument in history:
        await act(folder, workspace, action, argument)
    kept_chunks = {one.snapshot_id: chunks_of(workspace, one) for one in snapshots_of(workspace)}

    report = await clean_up(workspace, LAYOUT, keep=keep, apply=True)

    assert_everything_is_whole(workspace)
    live = live_id(workspace)
    assert live in report.kept_snapshots
    assert len(report.kept_snapshots) <= keep + 1
    for snapshot in snapshots_of(workspace):
        assert chunks_of(workspace, snapshot) == kept_chunks[snapshot.snapshot_id]
        sent = workspace.seen.total()
        await roll_back(workspace, LAYOUT, snapshot.snapshot_id)
        base = KnowledgeBase.load("demo", workspace)
        for chunk in kept_chunks[snapshot.snapshot_id].values():
            for mode in snapshot.queries:
                found = await base.query(chunk.indexed_text, mode=mode, top_k=50)
                assert chunk.chunk_id in {one.chunk_id for one in found.results}
        assert workspace.seen.total() == sent
    assert (await build(folder, workspace)).status == "succeeded"
    assert_everything_is_whole(workspace)


async def act(folder: Path, workspace: FakeWorkspace, action: str, argument: object) -> None:
    snapshots = snapshots_of(workspace)
    if action == "build":
        await build_of(folder, workspace, argument)
    elif action == "fail":
        workspace.failures.append(RefusedError("No.", dependency="endpoint"))
        await build_of(folder, workspace, argument)
        workspace.failures.clear()
    elif action == "rollback":
        await roll_back(workspace, LAYOUT, snapshots[argument % len(snapshots)].snapshot_id)
    elif action == "gc":
        await clean_up(workspace, LAYOUT, keep=argument, apply=True)
    else:
        known = {chunk.document_name for one in snapshots for chunk in chunks_of(workspace, one).values()}
        if argument in known and known != {argument}:
            await forget_document(workspace, LAYOUT, argument)


@pytest.mark.parametrize("seed", range(2))
async def test_a_cleaning_that_is_killed_leaves_every_snapshot_whole_and_the_next_one_goes_on(
    tmp_path: Path, dying: DyingOperations, seed: int
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    _, _, third = await three_builds(tmp_path, workspace)
    promised = (await clean_up(workspace, LAYOUT, keep=1)).freed_count
    random = Random(seed)

    for attempt in range(1, 4):
        changes = random.randrange(promised // 4)
        code = await asyncio.to_thread(dying.exit_code, tmp_path / "ws", "gc", "1", changes=changes)

        assert code in {-9, 0}
        assert attempt > 1 or code == -9
        assert_everything_is_whole(workspace)
        assert await names_found(workspace, "beans") == {"garden.md"}
    await clean_up(workspace, LAYOUT, keep=1, apply=True)
    assert [one.snapshot_id for one in snapshots_of(workspace)] == [third.run_id]
    assert (await clean_up(workspace, LAYOUT, keep=1)).freed_count == 0
    assert_everything_is_whole(workspace)
    assert await names_found(workspace, "beans") == {"garden.md"}
    assert {step.status for step in (await build(tmp_path, workspace)).step_records} == {"skipped"}


def contents(workspace: FakeWorkspace) -> dict[str, int]:
    return {
        entry.key: entry.size_bytes
        for entry in workspace.object_store.entries(LAYOUT.prefix)
        if entry.key != LAYOUT.lease
    }
