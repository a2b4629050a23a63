"""From resolved mentions and relations to the facts of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lorebase.extraction.communities import communities_of
from lorebase.extraction.graph_kinds import GraphFact
from lorebase.extraction.mentions import ChunkRelations
from lorebase.extraction.resolution_forms import clean_name
from lorebase.extraction.resolution_kinds import ResolvedMention

MAX_DESCRIPTION_CHARS = 500


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """The facts of a graph.

    Attributes:
        facts: By document, chunk, entity, target and name.
        unresolved: Relations whose names no mention of their chunk has.
        reflexive: Relations whose two names turned out to be one entity.
    """

    facts: list[GraphFact]
    unresolved: int
    reflexive: int


def build_facts(
    mentions: Sequence[ResolvedMention], relations: Iterable[ChunkRelations], *, resolution: float = 1.0
) -> BuiltGraph:
    """The facts of a graph, in whatever order its parts come.

    Args:
        mentions: Every mention with its entity.
        relations: Relations of the same chunks.
        resolution: Of the communities, see `communities_of`.
    """
    entity_of: dict[tuple[str, str], str] = {}
    for mention in sorted(mentions, key=lambda one: (one.chunk_id, one.name, one.type)):
        entity_of.setdefault((mention.chunk_id, mention.name), mention.entity_id)
    facts = {_key(fact): fact for fact in map(_entity_fact, mentions)}
    unresolved = reflexive = 0
    between: dict[tuple[str, ...], GraphFact] = {}
    for row in sorted(relations, key=lambda row: (row.document_id, row.chunk_id)):
        for relation in row.relations:
            source = entity_of.get((row.chunk_id, clean_name(relation.source)))
            target = entity_of.get((row.chunk_id, clean_name(relation.target)))
            if source is None or target is None:
                unresolved += 1
            elif source == target:
                reflexive += 1
            else:
                fact = GraphFact(
                    document_id=row.document_id,
                    chunk_id=row.chunk_id,
                    entity_id=source,
                    target_id=target,
                    name=clean_name(relation.type),
                    type="",
                    description=relation.description[:MAX_DESCRIPTION_CHARS],
                    aliases=(),
                    confidence=relation.confidence,
                )
                between.setdefault(_key(fact), fact)
    weights = [(fact.entity_id, fact.target_id, max(fact.confidence, 0.01)) for fact in between.values()]
    communities = communities_of((mention.entity_id for mention in mentions), weights, resolution=resolution)
    told = {key: replace(fact, community=communities[fact.entity_id]) for key, fact in facts.items()} | between
    return BuiltGraph([told[key] for key in sorted(told)], unresolved, reflexive)


def _entity_fact(mention: ResolvedMention) -> GraphFact:
    return GraphFact(
        document_id=mention.document_id,
        chunk_id=mention.chunk_id,
        entity_id=mention.entity_id,
        target_id="",
        name=mention.name,
        type=mention.type,
        description=mention.description,
        aliases=mention.aliases,
        confidence=mention.confidence,
    )


def _key(fact: GraphFact) -> tuple[str, ...]:
    return (fact.document_id, fact.chunk_id, fact.entity_id, fact.target_id, fact.name, fact.type)
