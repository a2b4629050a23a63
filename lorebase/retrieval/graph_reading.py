"""The graph of one snapshot, read from the tables that were made of its artifact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import UnsupportedModeError
from lorebase.extraction.graph_kinds import KNOWLEDGE_GRAPH
from lorebase.extraction.graph_model import Evidence, GraphEntity, GraphRelation
from lorebase.extraction.graph_ports import GraphStore
from lorebase.runs.derived import stage_tables


@dataclass(frozen=True, slots=True)
class SnapshotGraph:
    """One snapshot's graph: it stays what it is, whatever goes live meanwhile.

    Attributes:
        store: The graphs.
        base_name: The base.
        content_key: Content of the snapshot's graph.
    """

    store: GraphStore
    base_name: str
    content_key: str

    async def named(self, forms: Sequence[str]) -> dict[str, list[GraphEntity]]:
        """Entities by the normal forms of their names."""
        return await self.store.named(self.base_name, self.content_key, forms)

    async def entities(self, entity_ids: Sequence[str]) -> dict[str, GraphEntity]:
        """Entities by id."""
        return await self.store.entities(self.base_name, self.content_key, entity_ids)

    async def largest(self, limit: int) -> list[GraphEntity]:
        """The entities that most chunks name."""
        return await self.store.largest(self.base_name, self.content_key, limit)

    async def relations(self, entity_ids: Sequence[str], limit_each: int) -> list[GraphRelation]:
        """The heaviest relations of each entity."""
        return await self.store.relations(self.base_name, self.content_key, entity_ids, limit_each)

    async def evidence(self, fact_ids: Sequence[str], limit_each: int) -> dict[str, list[Evidence]]:
        """The surest evidence of each entity or relation."""
        return await self.store.evidence(self.base_name, self.content_key, fact_ids, limit_each)

    async def entities_of_chunks(self, chunk_ids: Sequence[str]) -> dict[str, list[str]]:
        """Entities by the chunks that name them."""
        return await self.store.entities_of_chunks(self.base_name, self.content_key, chunk_ids)


async def snapshot_graph(graphs: GraphStore, objects: ObjectStore, snapshot: Snapshot) -> SnapshotGraph:
    """The graph of a snapshot; tables that are missing are made again from its artifact.

    Raises:
        UnsupportedModeError: The snapshot has no graph.
        CorruptObjectError: Tables are missing, and so is the artifact.
        UnavailableError: The database does not answer.
    """
    reference = snapshot.artifacts.get(KNOWLEDGE_GRAPH.name)
    if reference is None:
        raise UnsupportedModeError(
            f"{snapshot.base_name!r} has no knowledge graph.",
            remedy="Add `- use: knowledge_graph` to the procedures of its recipe and build again.",
        )
    artifacts = {KNOWLEDGE_GRAPH.name: reference}
    await stage_tables(objects, BaseLayout(snapshot.base_name), [graphs], artifacts)
    return SnapshotGraph(graphs, snapshot.base_name, reference.fingerprint)
