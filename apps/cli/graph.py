"""Graphs from the command line: the entities of a base, their merges, and what is around one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from apps.cli.graph_page import graph_page
from apps.cli.html_page import write_html
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import UsageError
from lorebase.extraction.resolution_record import RecordedMerge, merges_of, undo_merge
from lorebase.ids import is_slug
from lorebase.retrieval.graph_reading import snapshot_graph
from lorebase.retrieval.graph_views import EntityView, GraphView, find_entity, view_of
from lorebase.retrieval.snapshot_chunks import ChunkCache, SnapshotChunks
from lorebase.runs.corrections import CorrectionStore, KeptApart

if TYPE_CHECKING:
    from lorebase.artifacts.snapshots import Snapshot
    from lorebase.workspace import Workspace


class EntityList(BaseModel):
    """The entities that most chunks name, and every merge."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    snapshot_id: str
    entities: tuple[EntityView, ...]
    merges: tuple[RecordedMerge, ...]
    kept_apart: tuple[str, ...]


class UndoneMerge(BaseModel):
    """A merge that the next build does not make."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    undone: KeptApart


async def entity_list(name: str, workspace: Workspace, limit: int) -> EntityList:
    """The largest entities of the live snapshot, with all merges.

    Raises:
        NotFoundError: Nothing was built yet.
        UnsupportedModeError: The snapshot has no graph.
    """
    snapshot = _live(name, workspace)
    store = workspace.object_store
    try:
        graph = await snapshot_graph(workspace.graph_store, store, snapshot)
        entities = await graph.largest(limit)
    finally:
        await workspace.graph_store.close()
    corrections = await asyncio.to_thread(CorrectionStore(store, BaseLayout(name)).all)
    return EntityList(
        name=name,
        snapshot_id=snapshot.snapshot_id,
        entities=tuple(EntityView.of(entity) for entity in entities),
        merges=tuple(await asyncio.to_thread(merges_of, store, snapshot)),
        kept_apart=tuple(correction.merge_id for correction in corrections),
    )


def undone(name: str, merge_id: str, workspace: Workspace) -> UndoneMerge:
    """Undo a merge from the next build on; see `undo_merge`."""
    snapshot = _live(name, workspace)
    correction = undo_merge(workspace.object_store, snapshot, merge_id, workspace.clock.now())
    return UndoneMerge(name=name, undone=correction)


async def graph_view(name: str, entity: str, workspace: Workspace, hops: int) -> GraphView:
    """What is around an entity; the largest entities where none is named.

    Raises:
        NotFoundError: Nothing was built yet, or there is no such entity.
        UsageError: Several entities have that name.
        UnsupportedModeError: The snapshot has no graph.
    """
    snapshot = _live(name, workspace)
    active = SnapshotChunks(workspace.object_store, snapshot, ChunkCache(workspace.object_store, BaseLayout(name)))
    try:
        graph = await snapshot_graph(workspace.graph_store, workspace.object_store, snapshot)
        centre = await find_entity(graph, entity) if entity else None
        return await view_of(graph, active, centre, hops=hops)
    finally:
        await workspace.graph_store.close()


def write_page(view: GraphView, file: Path) -> None:
    """Write a view as a page that needs nothing but itself.

    Raises:
        UsageError: The file cannot be written.
    """
    write_html(file, graph_page(view))


def entity_lines(found: EntityList) -> Iterator[str]:
    """The entities and their merges as lines of text."""
    merges: dict[str, list[RecordedMerge]] = {}
    for merge in found.merges:
        merges.setdefault(merge.entity_id, []).append(merge)
    if not found.entities:
        yield f"{found.name}: no entities."
    for entity in found.entities:
        also = f"  also {', '.join(entity.aliases)}" if entity.aliases else ""
        yield f"{entity.entity_id}  {entity.name}  ({', '.join(entity.types)})  {entity.chunks} chunks{also}"
        for merge in merges.get(entity.entity_id, ()):
            yield f"    {merge.merge_id}  {merge.name} = {merge.merged_with or '?'}  ({merge.reason} {merge.score:.2f})"
    if found.kept_apart:
        yield f"Kept apart on request: {', '.join(found.kept_apart)}"


def undone_lines(result: UndoneMerge) -> Iterator[str]:
    """An undone merge as lines of text."""
    yield f"{result.name}: {result.undone.merge_id} is undone; the next build keeps the two names apart."


def view_lines(view: GraphView) -> Iterator[str]:
    """A part of a graph as lines of text."""
    for entity in view.entities:
        if view.centre is None or entity.entity_id == view.centre:
            yield f"{entity.name}  ({', '.join(entity.types)})  {entity.chunks} chunks, community {entity.community}"
    for relation in view.relations:
        yield f"  {relation.source} -[{relation.name}]-> {relation.target}  ({relation.chunks} chunks)"
        for evidence in relation.evidence[:1]:
            yield f"      {evidence.document}: {evidence.excerpt}"


def _live(name: str, workspace: Workspace) -> Snapshot:
    if not is_slug(name):
        raise UsageError(f"{name!r} is no name of a knowledge base.", remedy="Use a-z, 0-9 and hyphens.")
    return SnapshotStore(workspace.object_store, BaseLayout(name)).require_live()
