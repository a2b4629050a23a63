"""Builds by two workers of a Prefect server on PostgreSQL: at once, and taken over where one of them is killed."""

from __future__ import annotations

import asyncio
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.two_workers import TwoWorkers, two_workers, wait_until
from tests.fakes.openai_server import OpenAIServer

pytestmark = [
    pytest.mark.xdist_group("prefect"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # Prefect's background clients
    pytest.mark.timeout(600),
]

SILENCE = timedelta(seconds=40)
"""Over one heartbeat, which Prefect lets nobody send more often than every 30 seconds."""


def test_two_workers_build_two_bases_at_once(tmp_path: Path) -> None:
    """B-027."""
    with OpenAIServer(latency_seconds=0.5) as model, two_workers(tmp_path, model) as running:
        model.script("stall", times=2)
        stuck = [running.start("one"), running.start("two")]
        wait_until(lambda: model.stats.in_flight == 2, running.logs)
        for run_id in stuck:
            running.server.post(f"/flow_runs/{run_id}/set_state", {"state": {"type": "CANCELLING"}})
        cancelled = [running.ended(run_id)["state_type"] for run_id in stuck]

        ended = [running.ended(running.start(name, wait_seconds=60))["state_type"] for name in ("one", "two")]

        assert cancelled == ["CANCELLED", "CANCELLED"]
        assert ended == ["COMPLETED", "COMPLETED"], running.logs()
        assert running.lease_is_free("one")
        assert running.lease_is_free("two")


def test_a_run_whose_worker_is_killed_is_found_crashed_and_the_next_takes_over(tmp_path: Path) -> None:
    """B-024, C97."""
    with OpenAIServer() as model, two_workers(tmp_path, model) as running:
        asyncio.run(running.server.run(_shorten_the_silence))
        model.script("stall", times=1)
        killed = running.start("one")
        wait_until(lambda: model.stats.in_flight == 1, running.logs)
        _kill_the_worker_at_work(running)

        follower = running.start("one", wait_seconds=60)  # the deployment has one slot, which the dead run holds

        assert running.ended(follower, seconds=300)["state_type"] == "COMPLETED", running.logs()
        assert running.ended(killed)["state_type"] == "CRASHED"
        assert running.lease_is_free("one")
        assert max(model.stats.seen.values()) == 2


async def _shorten_the_silence() -> None:
    from prefect.client.orchestration import get_client

    from flows.setup import ZOMBIE_AUTOMATION, zombie_automation

    automation = zombie_automation()
    trigger: Any = automation.trigger
    short = automation.model_copy(update={"trigger": trigger.model_copy(update={"within": SILENCE})})
    async with get_client() as client:
        for found in await client.read_automations_by_name(ZOMBIE_AUTOMATION):
            await client.update_automation(found.id, short)


def _kill_the_worker_at_work(running: TwoWorkers) -> subprocess.Popen[bytes]:
    """Kill the worker that has a flow's process, and that process, as a machine that is lost does."""
    psutil = pytest.importorskip("psutil", reason="the extra dask is not installed")
    children = {worker: psutil.Process(worker.pid).children(recursive=True) for worker in running.workers}
    worker = max(children, key=lambda one: len(children[one]))
    assert children[worker], "no worker has a flow's process"
    for process in (psutil.Process(worker.pid), *children[worker]):
        process.kill()
    worker.wait()
    return worker
