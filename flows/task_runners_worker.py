"""A task run in another process than its flow's: what it is sent, and how it does its group with that."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext

from flows.workspaces import opened_workspace
from lorebase.artifacts.lease import lease_in_force, read_lease
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import ConfigurationError, ConflictError, LorebaseError
from lorebase.models.limit_shares import EndpointShares, settled, shared_out
from lorebase.recipes.expansion import PlannedStep
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.recipes.validation import validated_steps
from lorebase.runs.builder import opened_recipe
from lorebase.runs.executor import run_bare
from lorebase.runs.groups import GroupRecord, GroupRunner, GroupWork, RunTraits, StepWork, reference_of
from lorebase.runs.planning import step_fingerprint, step_identity
from lorebase.runs.step import StepExecutionContext
from lorebase.workspace import Workspace

_logger = logging.getLogger(__name__)


class GroupOrder:
    """A group as another process is told of it: references and the recipe's text, no contents and no secrets.

    A plain object, so that Prefect does not look into it for inputs.

    Attributes:
        key: Where Prefect keeps the small result.
        recipe: The recipe as YAML.
        folder: Folder of the recipe's file, absolute.
        workspace: Folder of the workspace, absolute, or block:NAME. Its secrets are those of the process that opens it.
        step_name: The step's name in the recipe.
        step_fingerprint: What the flow's process took the step for.
        task_key: The step with its inputs.
        input_artifacts: Names of the artifacts that the step reads.
        group: The partitions, by reference.
        traits: What the build tells its task runs.
        shares: What of the endpoints that the step asks its process may use.
    """

    def __init__(
        self,
        key: str,
        recipe: str,
        folder: str,
        workspace: str,
        work: StepWork,
        group: GroupWork,
        shares: EndpointShares = MappingProxyType({}),
    ) -> None:
        self.key = key
        self.recipe = recipe
        self.folder = folder
        self.workspace = workspace
        self.step_name = work.name
        self.step_fingerprint = work.fingerprint
        self.task_key = work.task_key
        self.input_artifacts = work.input_artifacts
        self.group = group
        self.traits: RunTraits = work.traits
        self.shares = dict(shares)


def _result_key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    key: str = parameters["order"].key
    return key


@task(persist_result=True, result_serializer="json", cache_policy=CacheKeyFnPolicy(cache_key_fn=_result_key))
async def run_ordered_group(order: GroupOrder) -> str:
    """Make the partitions of a group in this process; the answer is the reference that Prefect keeps."""
    try:
        return reference_of(await do_group(order))
    except LorebaseError as error:
        _logger.info("%s failed.", order.key, exc_info=True)
        _leave_causes_behind(error)
        raise


def _leave_causes_behind(error: LorebaseError) -> None:
    """Make an error fit to travel: some libraries' errors cannot be read back, and take ours along."""
    error.__cause__ = error.__context__ = None


async def do_group(order: GroupOrder) -> GroupRecord:
    """Open workspace, models and ledger of an order, do its group, and close them.

    Raises:
        ConflictError: The build no longer holds the lease of its base.
        ConfigurationError: This process would make something else than the flow's process expects.
        LorebaseError: As `GroupRunner.run`.
    """
    recipe = parse_recipe(order.recipe, folder=Path(order.folder))
    async with opened_workspace(order.workspace) as workspace:
        endpoints = shared_out(workspace.config.endpoints, order.shares)
        workspace.config = workspace.config.model_copy(update={"endpoints": endpoints})
        record = await _record_of(order, recipe, workspace)
        await settled(endpoints, order.shares)
        return record


async def _record_of(order: GroupOrder, recipe: KnowledgeRecipe, workspace: Workspace) -> GroupRecord:
    steps = validated_steps(recipe)
    planned = next(step for step in steps if step.name == order.step_name)
    layout, traits = BaseLayout(recipe.name), order.traits
    await asyncio.to_thread(require_lease_of, workspace.object_store, layout, traits.run_id)
    keeps = not traits.rebuild
    async with opened_recipe(workspace, recipe, steps, traits.run_id, reads_kept_replies=keeps) as (opened, _):
        context = replace(opened, stages_searchable=traits.stages_searchable)
        _require_same_step(order, planned, context)
        work = StepWork(
            name=planned.name,
            index=planned.index,
            step=planned.step,
            fingerprint=order.step_fingerprint,
            task_key=order.task_key,
            input_artifacts=order.input_artifacts,
            groups=(order.group,),
            traits=traits,
        )
        runner = GroupRunner(workspace.object_store, layout, work, context, rebuild=traits.rebuild)
        return await run_bare(runner.run, order.group)


def require_lease_of(store: ObjectStore, layout: BaseLayout, run_id: str) -> None:
    """Make sure that a run holds the lease of its base: the flow's process renews it for as long as it lives.

    Raises:
        ConflictError: It was given back, has run out, or somebody else holds it; the group must not begin.
    """
    held = lease_in_force(store, layout.lease)
    if held is None or held.holder != run_id:
        last = held or read_lease(store, layout.lease)
        holder = f"{last.holder} had it last" if last else "nobody has it"
        raise ConflictError(
            f"Run {run_id} does not hold the lease of its knowledge base any more: {holder}.",
            remedy="Start the build again; its workers need the same object store.",
        )


def _require_same_step(order: GroupOrder, planned: PlannedStep, context: StepExecutionContext) -> None:
    if step_fingerprint(step_identity(planned.step, context)) != order.step_fingerprint:
        raise ConfigurationError(
            f"This worker would make something else of {order.step_name} than the build that it works for: its "
            "version of Lorebase, of a parser or of a model differs.",
            remedy="Give workers the same installation and the same workspace as the process of the flow.",
        )
