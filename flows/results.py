"""Where Prefect keeps the results of a workspace's task runs: a saved block over the workspace's own object store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from blocks import LorebaseObjectStore
from lorebase.fingerprint import fingerprint
from lorebase.workspace import Workspace


@asynccontextmanager
async def result_storage(workspace: Workspace) -> AsyncIterator[LorebaseObjectStore]:
    """The saved block for a workspace's results; its connections are given back at the end."""
    block = await save_result_storage(workspace)
    try:
        yield block
    finally:
        await asyncio.to_thread(block.close)


async def save_result_storage(workspace: Workspace) -> LorebaseObjectStore:
    """The saved block for a workspace's results; saving it again changes nothing.

    Prefect refuses result storage that its server does not know: other processes could not read the results.
    """
    block = LorebaseObjectStore.of(workspace.config.object_store, workspace.folder)
    # The name follows the place and never the secrets, so that a new secret changes the block of the same name.
    name = f"results-{fingerprint('result-storage', block.url, block.prefix, block.endpoint_url)[:12]}"
    await block.asave(name, overwrite=True)
    return block
