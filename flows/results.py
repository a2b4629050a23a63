"""Where Prefect keeps the results of a workspace's task runs: a saved block over the workspace's own object store."""

from __future__ import annotations

from blocks import LorebaseObjectStore
from lorebase.fingerprint import fingerprint
from lorebase.workspace import Workspace


async def save_result_storage(workspace: Workspace) -> LorebaseObjectStore:
    """The saved block for a workspace's results; saving it again changes nothing.

    Prefect refuses result storage that its server does not know: other processes could not read the results.
    """
    block = LorebaseObjectStore.of(workspace.config.object_store, workspace.folder)
    # The name follows the place and never the secrets, so that a new secret changes the block of the same name.
    name = f"results-{fingerprint('result-storage', block.url, block.prefix, block.endpoint_url)[:12]}"
    await block.asave(name, overwrite=True)
    return block
