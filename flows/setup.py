"""The flow that makes a Prefect server ready for Lorebase; run again, it changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound
from prefect.workers.utilities import get_default_base_job_template_for_infrastructure_type

from blocks import LorebaseObjectStore, LorebaseWorkspace
from flows.results import save_result_storage
from flows.workspaces import BLOCK_PREFIX, open_workspace
from lorebase.errors import ConfigurationError
from lorebase.ids import is_slug

WORK_POOL = "lorebase"
WORK_POOL_TYPE = "process"
ZOMBIE_AUTOMATION = "lorebase: crash flow runs without a heartbeat"
HEARTBEAT_SECONDS = 30
SILENCE_SECONDS = 3 * HEARTBEAT_SECONDS


@flow(name="set-up-lorebase")
async def set_up_lorebase(workspace: str = ".lorebase") -> dict[str, Any]:
    """Register blocks, result storage, work pool and the automation that ends runs whose process has died.

    Args:
        workspace: Folder of the workspace, or block:NAME of a saved LorebaseWorkspace block.
    """
    await LorebaseObjectStore.aregister_type_and_schema()
    await LorebaseWorkspace.aregister_type_and_schema()
    results = await save_result_storage(await open_workspace(workspace))
    async with get_client() as client:
        await _ensure_work_pool(client)
        await _ensure_automation(client)
    return {
        "result_storage": f"{LorebaseObjectStore.get_block_type_slug()}/{results._block_document_name}",  # noqa: SLF001 (no public name)
        "work_pool": WORK_POOL,
        "automation": ZOMBIE_AUTOMATION,
    }


async def save_workspace(workspace: str, name: str) -> str:
    """Save a workspace's configuration as a block, over the one of that name; returns what flows call it.

    Raises:
        ConfigurationError: `name` is no name of a block.
    """
    if not is_slug(name):
        raise ConfigurationError(f"{name!r} is no name of a block.", remedy="Use a-z, 0-9 and hyphens.")
    await LorebaseWorkspace.of(await open_workspace(workspace)).asave(name, overwrite=True)
    return f"{BLOCK_PREFIX}{name}"


def zombie_automation() -> AutomationCore:
    """A flow run that had heartbeats and shows nothing for three of them becomes Crashed.

    A worker that is stopped kills its flow processes and tells nobody; such runs would stay Running for ever and keep
    the slot of their deployment.
    """
    return AutomationCore(
        name=ZOMBIE_AUTOMATION,
        description="A worker that is stopped or killed leaves its flow runs Running; this ends them.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},
            match={"prefect.resource.id": ["prefect.flow-run.*"]},
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=SILENCE_SECONDS),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED, message=f"No heartbeat for {SILENCE_SECONDS} seconds: its process has died."
            )
        ],
    )


async def _ensure_work_pool(client: PrefectClient) -> None:
    try:
        await client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        template = await get_default_base_job_template_for_infrastructure_type(WORK_POOL_TYPE)
        await client.create_work_pool(
            WorkPoolCreate(
                name=WORK_POOL,
                type=WORK_POOL_TYPE,
                description="Builds of knowledge bases, each in a process of its own.",
                base_job_template=template or {},
            )
        )


async def _ensure_automation(client: PrefectClient) -> None:
    if not await client.read_automations_by_name(ZOMBIE_AUTOMATION):
        await client.create_automation(zombie_automation())
