"""The Prefect executor: each group of a step is a task run of the flow run in which the build goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from prefect import Task, task
from prefect.cache_policies import NO_CACHE, CacheKeyFnPolicy
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.exceptions import TerminationSignal
from prefect.states import Completed

from blocks import LorebaseObjectStore
from flows.execution_elsewhere import OtherProcesses, cause_elsewhere
from flows.execution_rules import TaskRunRule, literal, rule_of, tags_of, task_run_options
from lorebase.errors import LorebaseError, UnavailableError
from lorebase.recipes.model import StepSpec
from lorebase.runs.executor import (
    GroupDone,
    RunGroup,
    first_failure,
    run_bare,
)
from lorebase.runs.groups import GroupRecord, GroupWork, StepWork, reference_of

REUSED_STATE = "Reused"
"""Name of the state of a task run whose work was finished by an earlier build."""

FINISHED_GROUPS_SHOWN = 64
GROUPS_IN_THIS_PROCESS = 4


class GroupCall:
    """What one task run does. A plain object, so that Prefect does not look into it for inputs.

    Attributes:
        key: Where Prefect keeps the small result: knowledge base, step, group.
        record: What the group has finished, once it has.
        error: What the last try raised.
        answer: What Prefect was given: one text, kept. Prefect knows results and what is in them by identity: a part
            that two results share, or an identity that is used again, draws an edge that is not there.
    """

    def __init__(self, key: str, act: Callable[[], Awaitable[GroupRecord]]) -> None:
        self.key = key
        self.record: GroupRecord | None = None
        self.error: BaseException | None = None
        self.answer = ""
        self._act = act

    async def run(self) -> str:
        """Do the work; the answer is the reference that Prefect keeps, never contents."""
        self.error = None
        try:
            self.record = await self._act()
        except BaseException as error:
            self.error = error
            raise
        self.answer = reference_of(self.record)
        return self.answer


def _result_key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    key: str = parameters["call"].key
    return key


@task(persist_result=True, result_serializer="json", cache_policy=CacheKeyFnPolicy(cache_key_fn=_result_key))
async def run_group(call: GroupCall) -> str:
    """Make the partitions of a group."""
    return await call.run()


@task(persist_result=True, result_serializer="json", cache_policy=CacheKeyFnPolicy(cache_key_fn=_result_key))
async def show_finished_group(call: GroupCall) -> State[str]:
    """Show a group of an earlier build; Prefect does not get here where it still has the group's result."""
    call.answer = json.dumps({"key": call.key})
    return Completed(name=REUSED_STATE, message="Finished by an earlier build.", data=call.answer)


@task(persist_result=False, cache_policy=NO_CACHE)
async def show_finished_step(message: str) -> State[None]:
    """Show a step that an earlier build has finished."""
    return Completed(name=REUSED_STATE, message=message)


@task(persist_result=False, cache_policy=NO_CACHE)
async def seal_step(message: str) -> State[None]:
    """Stand for a step whose groups are all done, so that later steps wait for one state."""
    return Completed(message=message)


class PrefectExecutor:
    """Runs groups as task runs, in this event loop or in other processes.

    Made inside the flow run of one build, in the task that it runs in.

    What is finished is decided by the object store before a group comes here; what Prefect keeps is for people to see.

    Args:
        base_name: The knowledge base.
        results: Saved block for Prefect's results; None leaves them to Prefect's own default.
        concurrency: Groups of one step in flight.
        elsewhere: Does the groups that need not run in this process; None keeps all of them here.
    """

    def __init__(
        self,
        base_name: str,
        *,
        results: LorebaseObjectStore | None = None,
        concurrency: int = GROUPS_IN_THIS_PROCESS,
        elsewhere: OtherProcesses | None = None,
    ) -> None:
        self._base_name = base_name
        self._results = results
        self._concurrency = concurrency
        self._elsewhere = elsewhere
        self._build = asyncio.current_task()
        self._state_of_artifact: dict[str, State[Any]] = {}
        self._calls: list[GroupCall] = []  # kept for their answers, see there

    async def run_step(self, work: StepWork, spec: StepSpec, run: RunGroup, done: GroupDone) -> list[GroupRecord]:
        """Run every group once; see `StepExecutor.run_step`."""
        slots = asyncio.Semaphore(self._concurrency)
        upstream = self._upstream(work)
        shown = work.finished_groups[:FINISHED_GROUPS_SHOWN]
        whole = len(work.groups) == 1 and not shown
        states: list[State[Any]] = []

        async def show(key: str, place: int) -> None:
            async with slots:
                states.append(await self._show_finished(work, key, f"{place} of {len(shown)}", upstream))

        async def one(group: GroupWork) -> GroupRecord:
            async with slots:
                name = work.name if whole else f"{work.name} {group.label}"
                state, record = await self._run_group(work, group, name, spec, run, upstream)
                states.append(state)
                await done(record)
                return record

        try:
            async with asyncio.TaskGroup() as tasks:
                for place, key in enumerate(shown, start=1):
                    tasks.create_task(show(key, place))
                running = [tasks.create_task(one(group)) for group in work.groups]
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None
        self._state_of_artifact[work.step.produces.name] = states[0] if whole else await self._seal(work, states)
        return [task_of_group.result() for task_of_group in running]

    async def reuse_step(self, work: StepWork) -> None:
        """Show that a step was finished before this run: one task run named as the step."""
        shown = show_finished_step.with_options(name=work.name, task_run_name=literal(work.name), tags=tags_of(work))
        state = await self._state_of(shown, "An earlier build finished it.", wait_for=self._upstream(work))
        self._state_of_artifact[work.step.produces.name] = state

    def _upstream(self, work: StepWork) -> list[State[Any]]:
        """States of the steps whose artifacts a step reads; the scan of the sources is no task run."""
        states = [self._state_of_artifact.get(name) for name in work.input_artifacts]
        return [state for state in states if state is not None]

    async def _run_group(
        self,
        work: StepWork,
        group: GroupWork,
        name: str,
        spec: StepSpec,
        run: RunGroup,
        upstream: Sequence[State[Any]],
    ) -> tuple[State[Any], GroupRecord]:
        rule = rule_of(work, group.label, spec)
        options = task_run_options(work, name, rule)
        key = self._key(work, group.key)
        if self._elsewhere is not None and self._elsewhere.take(work):
            return await self._run_elsewhere(self._elsewhere, work, group, key, rule, options, upstream)
        call = GroupCall(key, lambda: run_bare(run, group))
        self._calls.append(call)
        async with self._elsewhere.keeping(work) if self._elsewhere else nullcontext():
            state = await self._state_of(run_group.with_options(**options), call, wait_for=upstream)
        if state.is_completed() and call.record is not None:
            return state, call.record
        raise _cause(state, call.error, rule)

    async def _run_elsewhere(
        self,
        elsewhere: OtherProcesses,
        work: StepWork,
        group: GroupWork,
        key: str,
        rule: TaskRunRule,
        options: dict[str, Any],
        upstream: Sequence[State[Any]],
    ) -> tuple[State[Any], GroupRecord]:
        async def ended() -> State[Any]:
            return await elsewhere.run(key, work, group, options, upstream)

        state = await self._guarded(work.name, ended)
        if state.is_completed():
            return state, await elsewhere.record_of(work, group)
        raise _cause(state, await cause_elsewhere(state, rule), rule)

    async def _show_finished(
        self, work: StepWork, group_key: str, label: str, upstream: Sequence[State[Any]]
    ) -> State[Any]:
        call = GroupCall(self._key(work, group_key), _never)
        self._calls.append(call)
        shown = show_finished_group.with_options(
            name=work.name,
            task_run_name=literal(f"{work.name} reused {label}"),
            tags=tags_of(work),
            refresh_cache=False,
        )
        return await self._state_of(shown, call, wait_for=upstream)

    async def _seal(self, work: StepWork, states: Sequence[State[Any]]) -> State[Any]:
        message = f"{len(work.groups)} task runs"
        if work.finished_groups:
            message += f", {len(work.finished_groups)} of earlier builds reused"
        sealed = seal_step.with_options(name=work.name, task_run_name=literal(work.name), tags=tags_of(work))
        return await self._state_of(sealed, message, wait_for=states)

    async def _state_of(self, ready: Task[..., Any], argument: object, *, wait_for: Sequence[State[Any]]) -> State[Any]:
        """Run a task to its final state; a failure stays in the state, a cancellation passes through.

        Raises:
            UnavailableError: Prefect does not run it.
        """

        async def ended() -> State[Any]:
            with self._results_kept():
                state: State[Any] = await ready(argument, wait_for=list(wait_for), return_state=True)
                return state

        return await self._guarded(ready.name, ended)

    async def _guarded(self, name: str, ended: Callable[[], Awaitable[State[Any]]]) -> State[Any]:
        try:
            return await ended()
        except LorebaseError:
            raise
        except TerminationSignal as stop:
            # Prefect's handler of SIGTERM raises in whatever code runs at that moment, here in the work of one group,
            # but it is the whole build that is asked to stop.
            if self._build is not None:
                self._build.cancel()
            raise asyncio.CancelledError from stop
        except Exception as error:
            # Whatever the work itself raises is in the state: this comes from Prefect.
            raise UnavailableError(
                f"Prefect could not run {name}: {type(error).__name__}: {error}.",
                remedy="Check that the Prefect server is up, then build again: what is finished stays finished.",
                dependency="prefect",
            ) from error

    def _key(self, work: StepWork, group_key: str) -> str:
        return f"{self._base_name}/{_path_part(work.name)}/{group_key}"

    @contextmanager
    def _results_kept(self) -> Iterator[None]:
        """The flow run's context with our block as the place of results.

        Given to each task instead, Prefect would resolve it again for every task run, with a new client of 25 ms.
        """
        run = FlowRunContext.get()
        if run is None or self._results is None:
            yield
            return
        store = run.result_store.model_copy(update={"result_storage": self._results})
        with run.model_copy(update={"result_store": store}):
            yield


def _cause(state: State[Any], raised: BaseException | None, rule: TaskRunRule) -> BaseException:
    """What ended a task run: the very error that the work raised, where it raised one."""
    if state.name == "TimedOut" and isinstance(state.data, TimeoutError):
        return rule.translated(state.data)
    if raised is not None and not isinstance(raised, asyncio.CancelledError):
        return raised
    return UnavailableError(
        f"The task run of {rule.step_name} ({rule.label}) ended as {state.name}: "
        f"{state.message or 'without a reason'}.",
        remedy="Look at the task run in the Prefect UI, then build again.",
        dependency="prefect",
    )


def _path_part(name: str) -> str:
    """A step name as one part of a readable key."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name).lstrip(".") or "_"


async def _never() -> GroupRecord:
    raise AssertionError  # pragma: no cover (a finished group is only shown)
