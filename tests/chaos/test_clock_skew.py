"""Builders whose clocks are an hour apart: live leases stay, dead ones run out, and history keeps its order."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lorebase import Workspace
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.runs.cleaning import clean_up
from lorebase.runs.history import base_history
from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import StoreAddress, write_workspace
from tests.chaos.scene import Edition, Model, examine, is_stopped, run, started, wait_until
from tests.fakes.ahead_clock import AheadClock
from tests.fakes.workspace import FakeWorkspace
from tests.runs.snapshot_checks import LAYOUT, build_of, names_found

CONFLICT = 3


@pytest.mark.parametrize(("holder", "rival"), [(-1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
def test_a_rival_whose_clock_is_an_hour_off_waits_for_a_holder_that_lives(
    tmp_path: Path, model: Model, editions: dict[str, Edition], holder: float, rival: float
) -> None:
    """BQ-08."""
    order = BuildOrder(editions["one"].recipe, tmp_path / "workspace", lease_seconds=60.0, wait_seconds=0)
    write_workspace(order.workspace, model.base_url)
    stopped = replace(order, kill_at=20, signal=signal.SIGSTOP, clock_ahead_hours=holder)
    with started(stopped) as first:
        wait_until(lambda: is_stopped(first.pid))

        refused = run(replace(order, clock_ahead_hours=rival))
        os.kill(first.pid, signal.SIGCONT)
        first.join(60)
        code = first.exitcode

    assert (refused, code) == (CONFLICT, 0), order.errors.read_text()
    assert asyncio.run(examine(Workspace.load(order.workspace))) == editions["one"].base


@pytest.mark.parametrize("on_s3", [False, True])
def test_the_lease_of_a_killed_builder_whose_clock_was_an_hour_fast_is_free_after_its_seconds(
    tmp_path: Path, model: Model, editions: dict[str, Edition], bucket: StoreAddress, on_s3: bool
) -> None:
    order = BuildOrder(editions["one"].recipe, tmp_path / "workspace")
    write_workspace(order.workspace, model.base_url, bucket if on_s3 else None)

    killed = run(replace(order, kill_at=20, clock_ahead_hours=1.0))
    code = run(order)

    assert (killed, code) == (-signal.SIGKILL, 0), order.errors.read_text()
    assert asyncio.run(examine(Workspace.load(order.workspace))) == editions["one"].base


async def test_snapshots_and_history_keep_the_order_of_the_builds_and_cleaning_keeps_the_last_ones(
    tmp_path: Path,
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    runs = []
    for number, hours in enumerate((1, 0, -1)):
        workspace.clock = AheadClock(timedelta(hours=hours))
        runs.append((await build_of(tmp_path, workspace, {"harbour.md": f"Harbour {number} has oil.\n"})).run_id)

    order = [snapshot.run_id for snapshot in SnapshotStore(workspace.object_store, LAYOUT).all()]
    shown = [line.snapshot_id for line in base_history(workspace.object_store, LAYOUT).snapshots]
    report = await clean_up(workspace, LAYOUT, keep=2, apply=True)

    assert order == runs
    assert shown == runs[::-1]
    assert report.removed_snapshots == (runs[0],)
    assert await names_found(workspace, "oil") == {"harbour.md"}


@pytest.mark.parametrize("hours", [-1, 1])
async def test_cleaning_by_a_clock_that_is_an_hour_off_leaves_what_is_being_written(tmp_path: Path, hours: int) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, {"harbour.md": "Whale oil.\n"})
    half = tmp_path / "ws/objects" / LAYOUT.prefix / "x.json.writing-1"
    half.write_bytes(b"half")
    workspace.clock = AheadClock(timedelta(hours=hours, minutes=hours))

    report = await clean_up(workspace, LAYOUT, apply=True)

    assert (report.freed_count, half.exists()) == (0, True)
