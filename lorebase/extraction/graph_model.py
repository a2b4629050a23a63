"""The knowledge graph as queries see it: entities and relations with their evidence, put together from facts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lorebase.extraction.graph_kinds import GraphFact
from lorebase.extraction.resolution_forms import normal_form
from lorebase.fingerprint import fingerprint

MAX_DESCRIPTION_BYTES = 2_000
MAX_ALIASES = 32


@dataclass(frozen=True, slots=True)
class GraphEntity:
    """An entity.

    Attributes:
        entity_id: Its identity.
        name: The name that most chunks give it.
        types: Its types, the most frequent first.
        aliases: Its other names, the most frequent first, at most 32.
        description: What chunks say of it, at most 2,000 bytes of UTF-8, cut between statements.
        community: Number of its community.
        chunks: How many chunks name it.
        documents: How many documents do.
    """

    entity_id: str
    name: str
    types: tuple[str, ...]
    aliases: tuple[str, ...]
    description: str
    community: int
    chunks: int
    documents: int


@dataclass(frozen=True, slots=True)
class GraphRelation:
    """A relation between two entities.

    Attributes:
        relation_id: Its identity.
        source_id: The entity it starts from.
        target_id: The entity it leads to.
        name: Its keyword.
        description: What chunks say of it, at most 2,000 bytes.
        weight: Sum of the confidences of its evidence.
        chunks: How many chunks state it.
    """

    relation_id: str
    source_id: str
    target_id: str
    name: str
    description: str
    weight: float
    chunks: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chunk that names an entity or states a relation."""

    fact_id: str
    chunk_id: str
    document_id: str
    confidence: float


@dataclass(frozen=True, slots=True)
class KnowledgeGraph:
    """A whole graph; everything in it is in the order of its ids."""

    entities: tuple[GraphEntity, ...]
    relations: tuple[GraphRelation, ...]
    evidence: tuple[Evidence, ...]


def graph_of(facts: Iterable[GraphFact]) -> KnowledgeGraph:
    """Put a graph together. A relation whose entities are not both in the facts is left out."""
    of_entity: dict[str, list[GraphFact]] = defaultdict(list)
    of_relation: dict[str, list[GraphFact]] = defaultdict(list)
    for fact in sorted(facts, key=_reading_order):
        if fact.is_relation:
            of_relation[relation_id(fact.entity_id, fact.name, fact.target_id)].append(fact)
        else:
            of_entity[fact.entity_id].append(fact)
    whole = {
        key: found
        for key, found in of_relation.items()
        if found[0].entity_id in of_entity and found[0].target_id in of_entity
    }
    return KnowledgeGraph(
        entities=tuple(_entity(key, of_entity[key]) for key in sorted(of_entity)),
        relations=tuple(_relation(key, whole[key]) for key in sorted(whole)),
        evidence=tuple(
            evidence for group in (of_entity, whole) for key in sorted(group) for evidence in _evidence(key, group[key])
        ),
    )


def relation_id(source_id: str, name: str, target_id: str) -> str:
    """Identity of a relation: its two entities and its keyword, however that is written."""
    return f"rel-{fingerprint('relation', source_id, normal_form(name), target_id)}"


def _reading_order(fact: GraphFact) -> tuple[str, str, str, str, str, str]:
    return (fact.document_id, fact.chunk_id, fact.entity_id, fact.target_id, fact.name, fact.type)


def _entity(entity_id: str, facts: Sequence[GraphFact]) -> GraphEntity:
    names = Counter(fact.name for fact in facts)
    ranked = sorted(names, key=lambda name: (-names[name], name))
    given = Counter(alias for fact in facts for alias in fact.aliases if alias not in names)
    types = Counter(fact.type for fact in facts)
    return GraphEntity(
        entity_id=entity_id,
        name=ranked[0],
        types=tuple(sorted(types, key=lambda kind: (-types[kind], kind))),
        aliases=tuple([*ranked[1:], *sorted(given, key=lambda name: (-given[name], name))][:MAX_ALIASES]),
        description=_joined(fact.description for fact in facts),
        community=facts[0].community,
        chunks=len({fact.chunk_id for fact in facts}),
        documents=len({fact.document_id for fact in facts}),
    )


def _relation(key: str, facts: Sequence[GraphFact]) -> GraphRelation:
    names = Counter(fact.name for fact in facts)
    return GraphRelation(
        relation_id=key,
        source_id=facts[0].entity_id,
        target_id=facts[0].target_id,
        name=min(names, key=lambda name: (-names[name], name)),
        description=_joined(fact.description for fact in facts),
        weight=sum(evidence.confidence for evidence in _evidence(key, facts)),
        chunks=len({fact.chunk_id for fact in facts}),
    )


def _evidence(key: str, facts: Sequence[GraphFact]) -> list[Evidence]:
    """One evidence a chunk, as sure as the surest fact in it."""
    found: dict[str, Evidence] = {}
    for fact in facts:
        known = found.get(fact.chunk_id)
        if known is None or known.confidence < fact.confidence:
            found[fact.chunk_id] = Evidence(key, fact.chunk_id, fact.document_id, fact.confidence)
    return [found[chunk_id] for chunk_id in sorted(found)]


def _joined(descriptions: Iterable[str]) -> str:
    """Different statements, one a line, as many as fit whole; a first one that is too long is cut."""
    lines: list[str] = []
    left = MAX_DESCRIPTION_BYTES
    for line in dict.fromkeys(text.strip() for text in descriptions if text.strip()):
        size = len(line.encode("utf-8", "replace")) + 1
        if size <= left:
            lines.append(line)
            left -= size
        elif not lines:
            return line.encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
    return "\n".join(lines)
