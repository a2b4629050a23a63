"""The task runs of a build that other processes do, as the flow's process sees them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.states import get_state_exception
from prefect.task_runners import TaskRunner

from blocks import LorebaseObjectStore
from flows.execution_rules import TaskRunRule
from flows.task_runners import EndedTaskRun, final_state
from flows.task_runners_worker import GroupOrder, run_ordered_group
from flows.workspaces import BLOCK_PREFIX
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConfigurationError, NotFoundError, UnavailableError
from lorebase.models.limit_shares import LimitShares
from lorebase.recipes.model import Budget, KnowledgeRecipe
from lorebase.runs.groups import GroupRecord, GroupWork, StepWork, read_group_record
from lorebase.runs.step import Step
from lorebase.workspace import Workspace


class OtherProcesses:
    """Hands groups to a task runner, and takes up what they left in the object store.

    Args:
        runner: Runs tasks in other processes; started.
        recipe: What is built.
        workspace: Where, as this process has opened it.
        where: What a worker opens it by: its folder, or block:NAME.
        results: Saved block for Prefect's results. Workers load it by its name.
        at_once: How many task runs the runner does at once.
    """

    def __init__(
        self,
        runner: TaskRunner[Any],
        recipe: KnowledgeRecipe,
        workspace: Workspace,
        where: str,
        results: LorebaseObjectStore,
        *,
        at_once: int,
    ) -> None:
        self._runner = runner
        self._recipe = recipe
        self._workspace = workspace
        self._where = where if where.startswith(BLOCK_PREFIX) else str(Path(where).absolute())
        self._results = f"{results.get_block_type_slug()}/{results._block_document_name}"  # noqa: SLF001 (no public name)
        self._limits = LimitShares(workspace.config.endpoints, at_once=at_once)
        self._ended: Counter[str] = Counter()  # groups by step

    def take(self, work: StepWork) -> bool:
        """Whether a step's groups may run in other processes.

        Embedded indexes are files that one process holds, and a budget is one counter: such steps stay here.
        """
        writes_index = type(work.step).index_of is not Step.index_of
        if writes_index and not self._workspace.has_index_server:
            return False
        return not (self._has_budget and self._providers(work))

    def keeping(self, work: StepWork) -> AbstractAsyncContextManager[None]:
        """Around a group that is done in this process: nobody else asks the endpoints that it asks.

        With a budget no other process asks any.
        """
        return nullcontext() if self._has_budget else self._limits.whole(self._providers(work))

    async def run(
        self,
        key: str,
        work: StepWork,
        group: GroupWork,
        options: dict[str, Any],
        upstream: Sequence[State[Any]],
    ) -> State[Any]:
        """Hand a group over with its share of the endpoints' limits, and wait for the final state of its task run.

        Raises:
            UnavailableError: The runner lost the processes that it should have run in.
        """
        run = FlowRunContext.get()
        if run is None:
            raise ConfigurationError("Task runs need a flow run.", remedy="Build inside a Prefect flow.")
        recipe, folder = self._recipe.to_yaml(), str(self._recipe.folder.absolute())
        submit: Any = run_ordered_group.with_options(**options, result_storage=self._results).submit
        waits_for = [EndedTaskRun(state) for state in upstream]
        peers = len(work.groups) - self._ended[work.task_key]
        try:
            async with self._limits.taken(self._providers(work), peers=peers) as shares:
                order = GroupOrder(key, recipe, folder, self._where, work, group, shares)
                with run.model_copy(update={"task_runner": self._runner}):
                    future = await asyncio.to_thread(submit, order, wait_for=waits_for)
                return await final_state(future)
        except Exception as error:
            # The work's own errors are in the state: a process of a pool was killed, or a cluster is gone.
            raise UnavailableError(
                f"The task runner lost {work.name} ({group.label}): {type(error).__name__}: {error}.",
                remedy="Look whether its processes were killed, for want of memory perhaps, then build again: "
                "what is finished stays finished.",
                dependency="task runner",
            ) from error
        finally:
            self._ended[work.task_key] += 1

    async def record_of(self, work: StepWork, group: GroupWork) -> GroupRecord:
        """What a finished task run left.

        Raises:
            ConfigurationError: Its process worked in another workspace.
        """
        store, layout = self._workspace.object_store, BaseLayout(self._recipe.name)
        try:
            return await asyncio.to_thread(read_group_record, store, layout, work.fingerprint, group.key)
        except NotFoundError as error:
            raise ConfigurationError(
                f"A worker has finished {work.name} ({group.label}), but not in this object store.",
                remedy="Give all workers the same workspace; on other machines a local folder is another folder.",
            ) from error

    @property
    def _has_budget(self) -> bool:
        return self._recipe.budget != Budget()

    def _providers(self, work: StepWork) -> set[str]:
        """Who serves the models that a step calls."""
        return self._recipe.models.providers(work.step.called_models())


async def cause_elsewhere(state: State[Any], rule: TaskRunRule) -> BaseException | None:
    """The error that the work raised in the other process; None where the process or Prefect ended it."""
    reading: Any = get_state_exception(state)  # declared to answer at once or later
    error: BaseException = await reading
    if state.name == "TimedOut" and rule.timeout_seconds is not None:
        return rule.translated(TimeoutError())
    return None if isinstance(error, (PrefectException, asyncio.CancelledError)) else error
