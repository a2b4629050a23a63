"""The executor port: who runs the task runs of a step; and the inline executor, plain coroutines of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from lorebase.errors import LorebaseError, UnavailableError
from lorebase.recipes.model import RetrySpec, StepSpec
from lorebase.runs.groups import GroupRecord, GroupWork, StepWork

RunGroup = Callable[[GroupWork], Awaitable[GroupRecord]]
GroupDone = Callable[[GroupRecord], Awaitable[None]]


class StepExecutor(Protocol):
    """Runs the groups of a step, several at a time, each with the retries and the time limit of its step."""

    async def run_step(self, work: StepWork, spec: StepSpec, run: RunGroup, done: GroupDone) -> list[GroupRecord]:
        """Run every group once.

        Args:
            work: The step and its groups.
            spec: What the recipe says about retries and time limits.
            run: Does the work of one group.
            done: Told of every finished group.

        Returns:
            Records in the order of the groups.

        Raises:
            LorebaseError: The first failure of a group after its retries; groups in flight were cancelled.
        """
        ...

    async def reuse_step(self, work: StepWork) -> None:
        """Show that a step was finished before this run."""
        ...


def is_worth_another_try(error: BaseException, retry: RetrySpec) -> bool:
    """Whether a recipe's retry rule covers an error: retryable by class, and of the named codes where it names any."""
    return isinstance(error, LorebaseError) and error.retryable and (not retry.codes or error.code in retry.codes)


def delay_before(attempt: int, retry: RetrySpec) -> float:
    """Seconds to wait before a try; `attempt` counts from 2. The last configured delay serves all later ones."""
    if not retry.delays_seconds:
        return 0.0
    return retry.delays_seconds[min(attempt - 2, len(retry.delays_seconds) - 1)]


def step_timed_out(step_name: str, label: str, timeout_seconds: float | None) -> UnavailableError:
    """The error of a task run that passed the time limit of its step."""
    return UnavailableError(
        f"{step_name} ({label}) did not end within {timeout_seconds} seconds.",
        remedy="Raise timeout_seconds of the step, or look at what it waits for.",
        dependency=step_name,
    )


class InlineExecutor:
    """Runs groups as coroutines of the running event loop.

    Args:
        concurrency: Groups of one step in flight.
    """

    def __init__(self, concurrency: int = 4) -> None:
        self._concurrency = concurrency

    async def run_step(self, work: StepWork, spec: StepSpec, run: RunGroup, done: GroupDone) -> list[GroupRecord]:
        """Run every group once."""
        slots = asyncio.Semaphore(self._concurrency)

        async def one(group: GroupWork) -> GroupRecord:
            async with slots:
                record = await _with_retries(group, spec, run, work.name)
                await done(record)
                return record

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(one(group)) for group in work.groups]
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None
        return [task.result() for task in running]

    async def reuse_step(self, work: StepWork) -> None:
        """Nothing to show."""


def first_failure(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first exception of a task group that is not itself a group."""
    error: BaseException = failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def run_bare(run: RunGroup, group: GroupWork) -> GroupRecord:
    """Run a group; where tasks of its step failed together, the first failure alone is the one that retries look at."""
    try:
        return await run(group)
    except BaseExceptionGroup as failures:
        raise first_failure(failures) from failures


async def _with_retries(group: GroupWork, spec: StepSpec, run: RunGroup, step_name: str) -> GroupRecord:
    def wait(state: RetryCallState) -> float:
        return delay_before(state.attempt_number + 1, spec.retry)

    retrying = AsyncRetrying(
        stop=stop_after_attempt(spec.retry.attempts),
        wait=wait,
        retry=retry_if_exception(lambda error: is_worth_another_try(error, spec.retry)),
        reraise=True,
    )
    async for attempt in retrying:
        with attempt:
            try:
                async with asyncio.timeout(spec.timeout_seconds):
                    return await run_bare(run, group)
            except TimeoutError as error:
                raise step_timed_out(step_name, group.label, spec.timeout_seconds) from error
    raise AssertionError  # pragma: no cover (tenacity either returns from the block or re-raises)
