"""Bases with a graph, built by the real builder with rules in place of a model."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.retrieval.graph_reading import SnapshotGraph, snapshot_graph
from tests.fakes.workspace import FakeWorkspace

LAYOUT = BaseLayout("demo")
RECIPE = """
name: demo
sources: [{folder: documents}]
models: {embedding: {provider: local}}
partitions: 8
procedures:
  - use: hybrid_index
    with: {max_tokens: 60}
  - use: knowledge_graph
    with: {mode: rules}
"""
ACME = "# Staff of Acme\n\nLi Wei is the chief financial officer of Acme Corporation.\n"
BOREALIS = "# Staff of Borealis\n\nLi Wei is the chief financial officer of Borealis Limited.\n"
HARBOUR = "# Harbour\n\nAcme Corporation operates the pier of Norwick.\n"
TOWER = "# 灯塔\n\n北港灯塔由海洋局管理。海洋局位于上海市。张伟担任海洋局局长。\n"


def live_of(workspace: FakeWorkspace) -> Snapshot:
    return SnapshotStore(workspace.object_store, LAYOUT).require_live()


async def graph_of_base(workspace: FakeWorkspace, snapshot: Snapshot | None = None) -> SnapshotGraph:
    return await snapshot_graph(workspace.graph_store, workspace.object_store, snapshot or live_of(workspace))


async def names_in(graph: SnapshotGraph) -> set[str]:
    return {entity.name for entity in await graph.largest(1_000)}


class DyingBeforeSnapshots(LocalObjectStore):
    """A local store whose process is killed before the first snapshot is written."""

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        if key.startswith(f"{LAYOUT.snapshots}/"):
            os.kill(os.getpid(), signal.SIGKILL)
        super().put(key, content, durable=durable)


def main() -> None:
    """Build the base of a folder and die between staging and activation."""
    import asyncio

    from lorebase import KnowledgeBase
    from tests.fakes.workspace import recipe_in

    folder = Path(sys.argv[1])
    workspace = FakeWorkspace(folder / "ws")
    workspace.object_store = DyingBeforeSnapshots(folder / "ws" / "objects")  # type: ignore[misc]  # a cached property
    asyncio.run(KnowledgeBase("demo", workspace).rebuild(recipe_in(folder, RECIPE)))


if __name__ == "__main__":
    main()
