"""What people look at in a graph: an entity with what lies around it, and the chunks that say so."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from lorebase.errors import NotFoundError, UsageError
from lorebase.extraction.graph_model import Evidence, GraphEntity, GraphRelation
from lorebase.extraction.resolution_forms import normal_form
from lorebase.index.ports import Candidate
from lorebase.retrieval.graph_expansion import expand
from lorebase.retrieval.graph_reading import SnapshotGraph
from lorebase.retrieval.graph_seeds import Seed
from lorebase.retrieval.ports import ActiveChunks

MAX_SHOWN_ENTITIES = 60
EVIDENCE_SHOWN = 3
EXCERPT_CHARS = 300
_HOMONYMS_NAMED = 8


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EvidenceView(_Frozen):
    """A chunk that states something, with the beginning of its text."""

    chunk_id: str
    document_id: str
    document: str
    excerpt: str


class EntityView(_Frozen):
    """An entity, and how many relations it is away from where one looks from."""

    entity_id: str
    name: str
    types: tuple[str, ...]
    aliases: tuple[str, ...]
    description: str
    community: int
    chunks: int
    documents: int
    hops: int = 0

    @classmethod
    def of(cls, entity: GraphEntity, hops: int = 0) -> EntityView:
        """The view of an entity."""
        return cls(
            entity_id=entity.entity_id,
            name=entity.name,
            types=entity.types,
            aliases=entity.aliases,
            description=entity.description,
            community=entity.community,
            chunks=entity.chunks,
            documents=entity.documents,
            hops=hops,
        )


class RelationView(_Frozen):
    """A relation with its evidence."""

    source_id: str
    source: str
    name: str
    target_id: str
    target: str
    weight: float
    chunks: int
    evidence: tuple[EvidenceView, ...]


class GraphView(_Frozen):
    """A part of a graph. `centre` is the entity it was asked for, None where the largest ones are shown."""

    base_name: str
    centre: str | None
    entities: tuple[EntityView, ...]
    relations: tuple[RelationView, ...]


async def find_entity(graph: SnapshotGraph, wanted: str) -> GraphEntity:
    """The entity of an id or a name.

    Raises:
        NotFoundError: There is none.
        UsageError: Several have that name; names their ids and what is around each.
    """
    by_id = await graph.entities([wanted])
    if by_id:
        return by_id[wanted]
    named = (await graph.named([normal_form(wanted)])).get(normal_form(wanted), [])
    if not named:
        raise NotFoundError(
            f"The graph of {graph.base_name!r} has no entity {wanted!r}.",
            remedy=f"`lorebase entities {graph.base_name}` lists them.",
        )
    if len(named) > 1:
        told = [await _told(graph, entity) for entity in named[:_HOMONYMS_NAMED]]
        raise UsageError(
            f"{len(named)} entities of {graph.base_name!r} are named {wanted!r}: {'; '.join(told)}.",
            remedy="Give the id of one of them.",
            entity_ids=[entity.entity_id for entity in named],
        )
    return named[0]


async def _told(graph: SnapshotGraph, entity: GraphEntity) -> str:
    """An entity with what tells it from its homonyms."""
    relations = await graph.relations([entity.entity_id], 1)
    others = await graph.entities([end for one in relations for end in (one.source_id, one.target_id)])
    names = [other.name for key, other in others.items() if key != entity.entity_id]
    beside = f", beside {names[0]}" if names else ""
    return f"{entity.entity_id} ({', '.join(entity.types)}{beside})"


async def view_of(
    graph: SnapshotGraph,
    active: ActiveChunks,
    centre: GraphEntity | None,
    *,
    hops: int = 1,
    max_entities: int = MAX_SHOWN_ENTITIES,
) -> GraphView:
    """An entity with what is around it, or the largest entities and what is between them.

    Args:
        graph: The graph.
        active: The authority; evidence that it does not confirm is left out.
        centre: The entity; None for the largest ones.
        hops: How many relations away from the centre, 1 or 2.
        max_entities: Most entities.
    """
    seeds = [centre] if centre else await graph.largest(max_entities)
    around = await expand(
        graph, [Seed(entity, 1.0) for entity in seeds], max_hops=hops if centre else 1, max_entities=max_entities
    )
    evidence = await graph.evidence(list(around.relations), EVIDENCE_SHOWN)
    shown = await _evidence_views(active, evidence)
    reached = sorted(
        around.entities.values(),
        key=lambda one: (len(one.path), -one.weight, -one.entity.chunks, one.entity.entity_id),
    )
    names = {key: one.entity.name for key, one in around.entities.items()}
    return GraphView(
        base_name=graph.base_name,
        centre=centre.entity_id if centre else None,
        entities=tuple(EntityView.of(one.entity, len(one.path) // 2) for one in reached),
        relations=tuple(
            _relation_view(
                relation, names, [shown[one.chunk_id] for one in evidence.get(key, ()) if one.chunk_id in shown]
            )
            for key, relation in sorted(around.relations.items(), key=lambda item: (-item[1].weight, item[0]))
        ),
    )


def _relation_view(relation: GraphRelation, names: dict[str, str], evidence: Sequence[EvidenceView]) -> RelationView:
    return RelationView(
        source_id=relation.source_id,
        source=names[relation.source_id],
        name=relation.name,
        target_id=relation.target_id,
        target=names[relation.target_id],
        weight=relation.weight,
        chunks=relation.chunks,
        evidence=tuple(evidence),
    )


async def _evidence_views(active: ActiveChunks, evidence: dict[str, list[Evidence]]) -> dict[str, EvidenceView]:
    wanted = {one.chunk_id: one.document_id for found in evidence.values() for one in found}
    chunks = await active.resolve([Candidate(key, document_id, "", 0.0) for key, document_id in sorted(wanted.items())])
    return {
        key: EvidenceView(
            chunk_id=key,
            document_id=chunk.document_id,
            document=chunk.document_name,
            excerpt=" ".join(chunk.text.split())[:EXCERPT_CHARS],
        )
        for key, chunk in chunks.items()
    }
