"""Two builders of one base, one of them stopped, interrupted, or beside readers."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig, Workspace
from lorebase.artifacts.lease import read_lease
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.recipes.loading import load_recipe
from lorebase.runs.journal import RunJournal
from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import BASE_NAME, QUERIES, write_workspace
from tests.chaos.scene import (
    HANGING_SECONDS,
    LAYOUT,
    MODES,
    Edition,
    Model,
    Switching,
    examine,
    exit_code_of,
    is_stopped,
    run,
    started,
    wait_until,
)
from tests.chaos.watching import edition_of_answer, watch
from tests.fakes.openai_server import OpenAIServer

CONFLICT = 3
INTERRUPTED = 130


@pytest.mark.parametrize("round_", range(3))
def test_of_two_builders_at_once_one_wins_and_the_pointer_moves_once(
    tmp_path: Path, model: Model, editions: dict[str, Edition], round_: int
) -> None:
    """BQ-08."""
    leased = first_write(editions["one"], LAYOUT.lease)
    order = BuildOrder(
        editions["one"].recipe,
        tmp_path / "workspace",
        lease_seconds=HANGING_SECONDS,
        wait_seconds=0,
        kill_at=leased + 1,  # whoever has the lease stands still until the other one has tried
        signal=signal.SIGSTOP,
    )
    write_workspace(order.workspace, model.base_url)
    before = model.seen()

    with started(order) as first, started(order) as second:
        rivals = (first, second)
        wait_until(lambda: any(rival.exitcode is not None for rival in rivals))
        [winner] = [rival for rival in rivals if rival.exitcode is None]
        wait_until(lambda: is_stopped(winner.pid))
        os.kill(winner.pid, signal.SIGCONT)
        codes = [exit_code_of(rival, str(order)) for rival in rivals]

    snapshots = SnapshotStore(Workspace.load(order.workspace).object_store, LAYOUT)
    assert sorted(codes) == [0, CONFLICT]
    assert len(snapshots.moves()) == 1
    assert (model.seen() - before).keys() == editions["one"].sent.keys()
    assert max((model.seen() - before).values()) <= max(editions["one"].copies.values())
    assert asyncio.run(examine(Workspace.load(order.workspace))) == editions["one"].base


def test_a_builder_that_was_stopped_while_another_took_over_changes_nothing(
    tmp_path: Path, editions: dict[str, Edition]
) -> None:
    """BQ-08: it wakes up with an older edition, and with the snapshot before in mind."""
    scanned = first_write(editions["one"], "/objects/")
    stopped = BuildOrder(editions["one"].recipe, tmp_path / "workspace", kill_at=scanned, signal=signal.SIGSTOP)
    shutil.copytree(editions["two"].workspace, stopped.workspace)
    shutil.rmtree(stopped.workspace / "objects")
    shutil.rmtree(stopped.workspace / "indexes")
    with started(stopped) as first:
        wait_until(lambda: is_stopped(first.pid))
        writes = stopped.log.read_text()

        second = run(replace(stopped, recipe=editions["two"].recipe, kill_at=0))
        os.kill(first.pid, signal.SIGCONT)
        code = exit_code_of(first, str(stopped))

    workspace = Workspace.load(stopped.workspace)
    snapshots = SnapshotStore(workspace.object_store, LAYOUT)
    base = asyncio.run(examine(workspace))
    assert writes.count("\n") == scanned
    assert (second, code) == (0, CONFLICT)
    assert len(snapshots.moves()) == 1
    assert base.manifests == editions["two"].base.manifests
    assert base.found == editions["two"].base.found


def first_write(edition: Edition, key: str) -> int:
    """Number of the first write of an undisturbed build that names a key like this."""
    lines = (edition.workspace / "writes.log").read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if key in line)


def test_an_interrupted_build_ends_with_130_is_recorded_as_cancelled_and_frees_its_lease(
    tmp_path: Path, editions: dict[str, Edition]
) -> None:
    """BQ-08."""
    workspace = tmp_path / "workspace"
    command = [sys.executable, "-m", "apps.cli.main", "build", str(editions["one"].recipe), "--executor", "inline"]
    with OpenAIServer(dimensions=32) as endpoint:
        write_workspace(workspace, endpoint.base_url)
        endpoint.script("stall", times=4)
        building = subprocess.Popen(
            [*command, "--workspace", str(workspace)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: endpoint.stats.requests > 0)
            building.send_signal(signal.SIGINT)
            code = building.wait(60)
        finally:
            building.kill()
            building.wait()
    opened = Workspace.load(workspace)
    journal = RunJournal(opened.object_store, LAYOUT)
    record = journal.read(journal.latest_run_id() or "")
    lease = read_lease(opened.object_store, LAYOUT.lease)

    assert code == INTERRUPTED
    assert record.status == "cancelled"
    assert {step.status for step in record.step_records} <= {"succeeded", "cancelled", "pending"}
    assert lease is not None
    assert lease.expires_at <= lease.acquired_at


def test_a_reader_in_another_process_sees_one_edition_and_then_the_other(
    tmp_path: Path, editions: dict[str, Edition], switching: Switching
) -> None:
    """BQ-07, while builders of the second edition are killed and one gets through."""
    order = BuildOrder(editions["two"].recipe, tmp_path / "workspace")
    shutil.copytree(switching.workspace, order.workspace)
    stop = Event()
    seen: list[str] = []

    def read() -> None:
        seen.extend(asyncio.run(watch(order.workspace, editions, stop)))

    with ThreadPoolExecutor(1) as readers:
        reading = readers.submit(read)
        try:
            codes = [run(replace(order, kill_at=at, moment="after")) for at in (9, 11, 0)]
        finally:
            stop.set()
        reading.result()

    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert seen
    assert "one" not in seen[seen.index("two") :] if "two" in seen else set(seen) == {"one"}


async def test_a_reader_in_the_same_process_is_answered_while_a_build_switches_and_ends(
    tmp_path: Path, editions: dict[str, Edition], switching: Switching
) -> None:
    """BQ-07: both share the connection to the index, which the build gives back when it has ended."""
    folder = tmp_path / "workspace"
    shutil.copytree(switching.workspace, folder)
    workspace = Workspace.load(folder)
    recipe = load_recipe(editions["two"].recipe)
    config = KnowledgeBaseBuilderConfig(lease_seconds=1.0, wait_seconds=30.0)  # the lease of the killed build runs out
    seen: list[set[str]] = []

    async with KnowledgeBase.load(BASE_NAME, workspace) as base:
        building = asyncio.create_task(KnowledgeBase(BASE_NAME, workspace).rebuild(recipe, config=config))
        while not building.done() or len(seen) < 3:
            query, mode = QUERIES[len(seen) % len(QUERIES)], MODES[len(seen) % len(MODES)]
            seen.append(await edition_of_answer(base, query, mode, editions))
        result = await building
        last = await edition_of_answer(base, QUERIES[0], "full_text_search", editions)

    assert result.record.status == "succeeded", result.record.error
    assert "two" in last
