"""The lease for operations that are no build: rollback, cleaning up, forgetting."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from lorebase.artifacts.lease import DEFAULT_LEASE_SECONDS, Lease, acquire_lease
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectInventory
from lorebase.ids import new_run_id
from lorebase.runs.opened_stores import OpenedStores


class MaintainedWorkspace(OpenedStores, Protocol):
    """What these operations ask of the place they run in."""

    @property
    def object_store(self) -> ObjectInventory:
        """Where everything is kept."""
        ...


@asynccontextmanager
async def exclusive(
    workspace: MaintainedWorkspace, layout: BaseLayout, operation: str, *, lease_seconds: float = DEFAULT_LEASE_SECONDS
) -> AsyncIterator[Lease]:
    """Hold the base's lease, and give indexes and connections back at the end.

    Args:
        workspace: Where the base is.
        layout: The base.
        operation: One word for whoever finds the base busy.
        lease_seconds: After a kill, so long nobody else can work on the base.

    Raises:
        NotFoundError: The workspace does not know the base; nothing was written.
        ConflictError: A build or another operation goes on.
    """
    now = workspace.clock.now
    try:
        await asyncio.to_thread(_require_known, workspace.object_store, layout)
        lease = await asyncio.to_thread(
            acquire_lease,
            workspace.object_store,
            layout.lease,
            holder=f"{operation}-{new_run_id(now(), workspace.random)}",
            now=now,
            seconds=lease_seconds,
            note=socket.gethostname(),
        )
        with lease:
            try:
                yield lease
            finally:  # before the lease goes: whoever holds it next opens the files of embedded indexes
                await workspace.index_store.close()
    finally:
        await workspace.close()


def _require_known(store: ObjectInventory, layout: BaseLayout) -> None:
    if not store.exists(layout.latest_run):
        SnapshotStore(store, layout).require_live()
