"""A process of a task runner is killed in the middle of a build: nothing that was paid for is paid for again."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import PrefectServer, Project, endpoint, prefect, project
from tests.flows.test_build import build
from tests.flows.test_task_runners import SECRET, recipe_for, write_documents

__all__ = ["endpoint", "prefect", "project"]  # fixtures, imported from the suite of the flows

pytestmark = [
    pytest.mark.xdist_group("prefect"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # Prefect's background clients
]


async def test_a_dask_worker_that_is_killed_costs_one_request_and_the_build_goes_on(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    """B-024, BQ-05."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    write_documents(project)
    project.use_endpoint(endpoint.base_url, SECRET)
    endpoint.script("stall", times=1)
    quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "scheduler_kwargs": quiet}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def kill_the_worker_that_waits() -> None:
            working = [address for address, tasks in client.processing().items() if tasks]
            os.kill(client.run(os.getpid, workers=working)[working[0]], signal.SIGKILL)

        killing = asyncio.create_task(_once_only_one_request_is_open(endpoint, kill_the_worker_that_waits))
        state = await build(
            prefect, project, recipe_for("killed-dask", "dask"), cluster_address=cluster.scheduler_address
        )
        await killing

    assert state.is_completed()
    assert _repeated(endpoint) in {1, 2}, endpoint.stats.seen


async def test_a_ray_worker_that_is_killed_costs_one_request_and_the_build_goes_on(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    pytest.importorskip("prefect_ray", reason="the extra ray is not installed")
    write_documents(project)
    project.use_endpoint(endpoint.base_url, SECRET)
    endpoint.script("stall", times=1)

    def kill_those_at_work() -> None:
        workers = [child for child in psutil.Process().children(recursive=True) if "ray::embed_chunks" in child.name()]
        assert workers
        for worker in workers:  # the second may be about to begin another group, and has paid for nothing yet
            worker.kill()

    killing = asyncio.create_task(_once_only_one_request_is_open(endpoint, kill_those_at_work))
    state = await build(prefect, project, recipe_for("killed-ray", "ray"))
    await killing

    assert state.is_completed()
    assert _repeated(endpoint) in {1, 2}, endpoint.stats.seen


async def test_a_build_whose_process_is_killed_fails_and_the_next_one_pays_for_one_request_again(
    prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    """B-024, BQ-05."""
    write_documents(project)
    project.use_endpoint(endpoint.base_url, SECRET)
    endpoint.script("stall", times=1)
    recipe = recipe_for("killed-processes", "processes")
    there_before = {process.pid for process in multiprocessing.active_children()}  # of other tests in this process

    def kill_one() -> None:
        started = [process for process in multiprocessing.active_children() if process.pid not in there_before]
        assert started
        started[0].kill()

    killing = asyncio.create_task(_once_only_one_request_is_open(endpoint, kill_one))
    failed = await build(prefect, project, recipe)
    await killing
    state = await build(prefect, project, recipe)

    assert failed.is_failed()
    assert "The task runner lost embed_chunks" in str(failed.message)
    assert state.is_completed()
    assert _repeated(endpoint) in {1, 2}, endpoint.stats.seen


async def _once_only_one_request_is_open(endpoint: OpenAIServer, act: Callable[[], None]) -> None:
    """Act when the request that is never answered is the only one under way, for a second."""
    quiet = 0
    deadline = time.monotonic() + 120
    while quiet < 10 and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        stats = endpoint.stats
        quiet = quiet + 1 if stats.requests - stats.answered == 1 and stats.requests > 3 else 0
    await asyncio.to_thread(act)


def _repeated(endpoint: OpenAIServer) -> int:
    """Texts that were sent more than once."""
    return sum(times > 1 for times in endpoint.stats.seen.values())
