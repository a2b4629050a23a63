"""The processes that the task runs of a build run in: started for the build, or a cluster that is there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any
from uuid import UUID

from prefect.client.schemas.objects import State
from prefect.context import SettingsContext
from prefect.futures import PrefectFuture
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner

from lorebase.errors import ConfigurationError, UnavailableError
from lorebase.recipes.model import ExecutionSpec

GROUPS_ON_A_CLUSTER = 64
"""Task runs handed to a cluster of unknown size at once; it keeps those waiting that it has no worker for."""

_LOOPBACK = "127.0.0.1"

_RAY_OBJECT_BYTES = 100 * 2**20
"""Shared memory that a Ray started here reserves, instead of a third of all: only references go through it."""


_REMEDIES_AT_THE_ADDRESS = "Look whether the cluster runs there, with the same versions of Python and of its packages."
_REMEDIES_HERE = (
    "Build again when the machine has a processor to spare (Ray's parts wait 15 seconds for each other), "
    "use task_runner threads or processes, or give the address of a cluster that runs already."
)


@asynccontextmanager
async def started_task_runner(execution: ExecutionSpec, address: str = "") -> AsyncIterator[TaskRunner[Any] | None]:
    """The runner of a build's task runs, for as long as the context is open; None where they stay in this process.

    At the end task runs that have not begun are given up, and those under way in processes of this machine are waited
    for: what they finish stays finished.

    Args:
        execution: Which runner, and how many processes.
        address: A Dask scheduler or Ray cluster that is there already; by default one is started on this machine.

    Raises:
        ConfigurationError: The runner is not installed, or an address does not go with it.
        UnavailableError: Its processes did not start, or nothing answers at the address.
    """
    runner = _runner(execution, address)
    if runner is None:
        yield None
        return
    try:
        await asyncio.to_thread(_start, runner)
    except Exception as error:
        where = f"at {address!r}" if address else "on this machine"
        raise UnavailableError(
            f"The task runner {execution.task_runner!r} did not start {where}: "
            f"{type(error).__name__}: {str(error).rstrip('.')}.",
            remedy=_REMEDIES_AT_THE_ADDRESS if address else _REMEDIES_HERE,
            dependency="task runner",
        ) from error
    try:
        yield runner
    finally:
        await asyncio.to_thread(runner.__exit__, *sys.exc_info())


def groups_at_once(execution: ExecutionSpec, address: str = "") -> int:
    """How many task runs of a step are handed to the runner at once."""
    if execution.workers is not None:
        return execution.workers
    return GROUPS_ON_A_CLUSTER if address else _processors()


class EndedTaskRun(PrefectFuture[Any]):
    """A task run that has ended, as a future: what a task that is submitted can be told to wait for."""

    def __init__(self, state: State[Any]) -> None:
        self._known = state
        self._final_state = state  # what Prefect's `wait` looks at

    @property
    def task_run_id(self) -> UUID:
        """Its id."""
        task_run_id = self._known.state_details.task_run_id
        assert task_run_id is not None  # noqa: S101 (states of flow runs never come here)
        return task_run_id

    @property
    def state(self) -> State[Any]:
        """Its final state."""
        return self._known

    def wait(self, timeout: float | None = None) -> None:
        """Nothing: it has ended."""

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:  # noqa: ANN401, FBT001, FBT002 (Prefect's signature)
        """What it returned."""
        del timeout
        state: Any = self._known  # `_sync` is not declared
        return state.result(raise_on_failure=raise_on_failure, _sync=True)

    def add_done_callback(self, fn: Callable[[PrefectFuture[Any]], None]) -> None:
        """Call it at once."""
        fn(self)


async def final_state(future: PrefectFuture[Any]) -> State[Any]:
    """The final state of a submitted task run; where the wait is cancelled, it is given up if it has not begun.

    Raises:
        Exception: Whatever kept the runner from running it, in the runner's own class.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def tell(_: PrefectFuture[Any]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(ended.set)

    future.add_done_callback(tell)
    try:
        await ended.wait()
    except asyncio.CancelledError:
        _give_up(future)
        raise
    return await asyncio.to_thread(_state_of, future)


def _start(runner: TaskRunner[Any]) -> None:
    runner.__enter__()
    # Dask's makes its cluster when it is first asked for, and two where two threads ask at once.
    getattr(runner, "client", None)


def _state_of(future: PrefectFuture[Any]) -> State[Any]:
    future.wait()
    if not future.state.is_final():
        future.result(raise_on_failure=False)  # raises what `wait` passes over
    return future.state


def _give_up(future: PrefectFuture[Any]) -> None:
    handle: Any = getattr(future, "wrapped_future", None)
    if hasattr(handle, "cancel"):
        handle.cancel()
    elif handle is not None:
        import_module("ray").cancel(handle)  # Ray's references are values without methods


def _runner(execution: ExecutionSpec, address: str) -> TaskRunner[Any] | None:
    kind = execution.task_runner
    if address and kind not in {"dask", "ray"}:
        raise ConfigurationError(
            f"The task runner {kind!r} has no address, but {address!r} is given.",
            remedy="Use task_runner dask or ray, or leave the address out.",
        )
    if kind == "threads":
        return None
    if kind == "processes":
        return ProcessPoolTaskRunner(
            max_workers=execution.workers or _processors(),
            subprocess_message_processor_factories=[_in_settings_of_this_context()],
        )
    return (_dask if kind == "dask" else _ray)(execution.workers or _processors(), address)


def _in_settings_of_this_context() -> Any:  # noqa: ANN401 (a factory whose type Prefect keeps to itself)
    """What makes the pool's own thread, which hands on states and log lines of its processes, use our server.

    The thread knows nothing of settings that hold in a context only, and would start a server of its own.
    """
    settings = SettingsContext.get()

    def begin() -> Callable[[str, Any], tuple[str, Any]]:
        if settings is not None:
            settings.model_copy().__enter__()  # for as long as the thread lives
        return lambda kind, message: (kind, message)

    return begin


def _dask(workers: int, address: str) -> TaskRunner[Any]:
    kind = _installed("prefect_dask", "dask").DaskTaskRunner
    if address:
        runner: TaskRunner[Any] = kind(address=address)
        return runner
    started: TaskRunner[Any] = kind(
        cluster_kwargs={
            "n_workers": workers,
            # A task run brings its own threads and event loop; two in one process would share a parser's memory.
            "threads_per_worker": 1,
            "processes": True,
            "host": _LOOPBACK,
            "scheduler_kwargs": {"dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"},
        }
    )
    return started


def _ray(workers: int, address: str) -> TaskRunner[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reads nothing else, and would report to its makers
    if not address:
        # What Ray is started with on laptops. Elsewhere it takes 127.0.0.1 for the address that other machines reach,
        # and listens there. It reads the variable when it is imported.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    kind = _installed("prefect_ray", "ray").RayTaskRunner
    if address:
        runner: TaskRunner[Any] = kind(address=address, init_kwargs={"log_to_driver": False})
        return runner
    if not import_module("ray").util.get_node_ip_address().startswith("127."):
        raise ConfigurationError(
            "Ray was loaded here for a cluster of machines, and would listen beyond this one.",
            remedy="Build in a process of its own, without RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER in its environment.",
        )
    started: TaskRunner[Any] = kind(
        init_kwargs={
            "address": "local",  # without it Ray would join a cluster that somebody else has started on this machine
            "num_cpus": workers,
            "include_dashboard": False,
            "_node_ip_address": _LOOPBACK,
            "object_store_memory": _RAY_OBJECT_BYTES,
            "log_to_driver": False,  # log lines of task runs are with the flow run; Ray would print them again
        }
    )
    return started


def _installed(module: str, extra: str) -> Any:  # noqa: ANN401 (a module that need not be installed)
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"The task runner {extra!r} is not installed here: {error}.",
            remedy=f"Install lorebase[{extra}], or use task_runner threads or processes.",
        ) from error


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
