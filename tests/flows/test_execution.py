"""What every executor holds to, asked of both; and what the Prefect executor shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lorebase.errors import ConfigurationError, LorebaseError, RateLimitedError, UnavailableError
from lorebase.recipes.model import RetrySpec, StepSpec
from lorebase.runs.executor import InlineExecutor, StepExecutor
from lorebase.runs.groups import GroupRecord, GroupWork, StepWork
from steps.parse_documents import ParseDocuments
from steps.split_documents import SplitDocuments
from tests.flows.conftest import PrefectServer, upstream_of

InExecutor = Callable[[Callable[[StepExecutor], Awaitable[Any]]], Awaitable[Any]]


def work_of(groups: int, *, name: str = "parse_documents", finished: tuple[str, ...] = ()) -> StepWork:
    return StepWork(
        name=name,
        index=0,
        step=ParseDocuments(),
        fingerprint="f" * 32,
        task_key="t" * 32,
        input_artifacts=("source_documents",),
        groups=tuple(GroupWork(f"g{number}", f"{number} of {groups}", ()) for number in range(1, groups + 1)),
        finished_groups=finished,
    )


def record_of(group: GroupWork) -> GroupRecord:
    return GroupRecord(group_key=group.key, step_fingerprint="f" * 32, run_id="r", partitions=())


def spec_of(**options: Any) -> StepSpec:
    return StepSpec(type="parse_documents", **options)


class Told:
    """What an executor told of finished groups."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def __call__(self, record: GroupRecord) -> None:
        self.keys.append(record.group_key)


@pytest.fixture(params=["inline", "prefect"])
def in_executor(request: pytest.FixtureRequest) -> InExecutor:
    """Calls a coroutine function with an executor, inside a flow run where that executor needs one."""

    async def inline(act: Callable[[StepExecutor], Awaitable[Any]]) -> Any:
        return await act(InlineExecutor(concurrency=2))

    async def in_prefect(act: Callable[[StepExecutor], Awaitable[Any]]) -> Any:
        prefect: PrefectServer = request.getfixturevalue("prefect")
        return await prefect.run(lambda: in_flow(act))

    return inline if request.param == "inline" else in_prefect


async def in_flow(act: Callable[[StepExecutor], Awaitable[Any]], **options: Any) -> Any:
    from prefect import flow

    from flows.execution import PrefectExecutor

    @flow(name="executor-rules")
    async def around() -> Any:
        return await act(PrefectExecutor("rules", concurrency=2))

    return await around(**options)


async def test_records_come_in_the_order_of_the_groups_and_each_is_told_once(in_executor: InExecutor) -> None:
    told = Told()

    async def run(group: GroupWork) -> GroupRecord:
        await asyncio.sleep(0.05 if group.key == "g1" else 0)
        return record_of(group)

    records = await in_executor(lambda executor: executor.run_step(work_of(5), spec_of(), run, told))

    assert [record.group_key for record in records] == ["g1", "g2", "g3", "g4", "g5"]
    assert sorted(told.keys) == ["g1", "g2", "g3", "g4", "g5"]


async def test_no_more_groups_run_at_once_than_asked_for(in_executor: InExecutor) -> None:
    running, most = 0, 0

    async def run(group: GroupWork) -> GroupRecord:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return record_of(group)

    await in_executor(lambda executor: executor.run_step(work_of(6), spec_of(), run, Told()))

    assert most == 2


async def test_the_error_that_the_work_raised_comes_out_as_it_was(in_executor: InExecutor) -> None:
    raised = RateLimitedError("The endpoint asked to wait.", remedy="Wait.", retry_after_seconds=3)

    async def run(group: GroupWork) -> GroupRecord:
        raise raised

    with pytest.raises(RateLimitedError) as caught:
        await in_executor(lambda executor: executor.run_step(work_of(1), spec_of(), run, Told()))

    assert caught.value is raised


async def test_an_error_that_is_none_of_lorebase_comes_out_too(in_executor: InExecutor) -> None:
    async def run(group: GroupWork) -> GroupRecord:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await in_executor(lambda executor: executor.run_step(work_of(1), spec_of(), run, Told()))


async def test_the_first_of_several_failures_of_one_group_counts(in_executor: InExecutor) -> None:
    tries = 0

    async def run(group: GroupWork) -> GroupRecord:
        nonlocal tries
        tries += 1
        if tries < 2:
            raise ExceptionGroup("of the step's own tasks", [UnavailableError("down"), UnavailableError("down")])
        return record_of(group)

    retry = RetrySpec(attempts=2, delays_seconds=(0.01,))
    records = await in_executor(lambda executor: executor.run_step(work_of(1), spec_of(retry=retry), run, Told()))

    assert (len(records), tries) == (1, 2)


@pytest.mark.parametrize(
    ("error", "retry", "tries"),
    [
        (UnavailableError("down"), RetrySpec(attempts=3, delays_seconds=(0.01,)), 3),
        (UnavailableError("down"), RetrySpec(attempts=3, delays_seconds=()), 3),
        (UnavailableError("down"), RetrySpec(attempts=1), 1),
        (ConfigurationError("wrong"), RetrySpec(attempts=3, delays_seconds=(0.01,)), 1),
        (UnavailableError("down"), RetrySpec(attempts=3, delays_seconds=(0.01,), codes=("RATE_LIMITED",)), 1),
    ],
)
async def test_a_group_is_tried_as_often_as_its_rule_says(
    in_executor: InExecutor, error: LorebaseError, retry: RetrySpec, tries: int
) -> None:
    tried = 0

    async def run(group: GroupWork) -> GroupRecord:
        nonlocal tried
        tried += 1
        raise error

    with pytest.raises(type(error)):
        await in_executor(lambda executor: executor.run_step(work_of(1), spec_of(retry=retry), run, Told()))

    assert tried == tries


async def test_a_group_that_takes_too_long_is_stopped_and_worth_another_try(in_executor: InExecutor) -> None:
    tried = 0

    async def run(group: GroupWork) -> GroupRecord:
        nonlocal tried
        tried += 1
        if tried == 1:
            await asyncio.sleep(60)
        return record_of(group)

    spec = spec_of(timeout_seconds=0.3, retry=RetrySpec(attempts=2, delays_seconds=(0.01,)))
    records = await in_executor(lambda executor: executor.run_step(work_of(1), spec, run, Told()))

    assert (len(records), tried) == (1, 2)


async def test_a_group_that_always_takes_too_long_names_the_limit(in_executor: InExecutor) -> None:
    async def run(group: GroupWork) -> GroupRecord:
        await asyncio.sleep(60)
        return record_of(group)

    with pytest.raises(UnavailableError, match=r"parse_documents \(1 of 1\) did not end within 0.3 seconds"):
        await in_executor(lambda executor: executor.run_step(work_of(1), spec_of(timeout_seconds=0.3), run, Told()))


async def test_a_failure_cancels_the_groups_that_run_beside_it(in_executor: InExecutor) -> None:
    cancelled = []

    async def run(group: GroupWork) -> GroupRecord:
        if group.key == "g2":
            await asyncio.sleep(0.2)
            raise ConfigurationError("wrong")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(group.key)
            raise
        return record_of(group)

    with pytest.raises(ConfigurationError):
        await in_executor(lambda executor: executor.run_step(work_of(3), spec_of(), run, Told()))

    assert "g1" in cancelled


async def test_a_cancellation_reaches_the_work_and_passes_through(in_executor: InExecutor) -> None:
    began, cancelled = asyncio.Event(), False

    async def run(group: GroupWork) -> GroupRecord:
        nonlocal cancelled
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled = True
            raise
        return record_of(group)

    building = asyncio.create_task(
        in_executor(lambda executor: executor.run_step(work_of(1), spec_of(), run, Told()))  # type: ignore[arg-type]  # a coroutine
    )
    await began.wait()
    building.cancel()

    with pytest.raises(asyncio.CancelledError):
        await building
    assert cancelled


async def test_a_termination_signal_that_hits_one_group_cancels_the_whole_build(prefect: PrefectServer) -> None:
    from prefect.exceptions import TerminationSignal

    cancelled = []

    async def run(group: GroupWork) -> GroupRecord:
        if group.key == "g2":
            await asyncio.sleep(0.2)
            raise TerminationSignal(signal=15)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(group.key)
            raise
        return record_of(group)

    async def build() -> None:
        await prefect.run(lambda: in_flow(lambda executor: executor.run_step(work_of(2), spec_of(), run, Told())))

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(build())
    assert cancelled == ["g1"]


async def test_several_groups_are_numbered_and_sealed_under_the_name_of_the_step(prefect: PrefectServer) -> None:
    async def run(group: GroupWork) -> GroupRecord:
        return record_of(group)

    async def act(executor: StepExecutor) -> None:
        await executor.run_step(work_of(3, name="{odd} name"), spec_of(), run, Told())
        following = StepWork("split", 1, SplitDocuments(), "s" * 32, "t" * 32, ("parsed_documents",))
        await executor.reuse_step(following)

    state = await prefect.run(lambda: in_flow(act, return_state=True))

    runs = prefect.task_runs(state, 5)
    groups = {"{odd} name 1 of 3", "{odd} name 2 of 3", "{odd} name 3 of 3"}
    assert upstream_of(runs["{odd} name"], runs) == groups
    assert upstream_of(runs["split"], runs) == {"{odd} name"}
    assert runs["split"]["state_name"] == "Reused"


async def test_at_most_64_finished_groups_are_shown(prefect: PrefectServer) -> None:
    async def run(group: GroupWork) -> GroupRecord:
        return record_of(group)

    finished = tuple(f"done{number}" for number in range(70))
    state = await prefect.run(
        lambda: in_flow(
            lambda executor: executor.run_step(work_of(1, finished=finished), spec_of(), run, Told()), return_state=True
        )
    )

    runs = prefect.task_runs(state, 66)
    assert sum(" reused " in name for name in runs) == 64
    assert runs["parse_documents"]["state"]["message"] == "1 task runs, 70 of earlier builds reused"
