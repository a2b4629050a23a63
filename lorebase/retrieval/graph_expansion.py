"""From seeds to what lies around them: entities within a few relations, with the path that led to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lorebase.extraction.graph_model import GraphEntity, GraphRelation
from lorebase.retrieval.graph_ports import Graph
from lorebase.retrieval.graph_seeds import Seed

MAX_HOPS = 2
MAX_ENTITIES = 120
MAX_RELATIONS_EACH = 24
DECAY = 0.5
"""What is left of an entity's weight one relation further."""


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity that was reached.

    Attributes:
        entity: The entity.
        weight: That of its seed, halved with every relation on the way.
        path: From the seed to it: entity, relation, entity, ... as names.
    """

    entity: GraphEntity
    weight: float
    path: tuple[str, ...]


@dataclass(slots=True)
class Neighbourhood:
    """Everything that was reached: entities by id, and the relations between them by id."""

    entities: dict[str, Reached] = field(default_factory=dict)
    relations: dict[str, GraphRelation] = field(default_factory=dict)

    def relation_path(self, relation: GraphRelation) -> tuple[str, ...]:
        """The path to the heavier end of a relation, and the relation."""
        source, target = self.entities[relation.source_id], self.entities[relation.target_id]
        near, far = (source, target) if _comes_first(source, target) else (target, source)
        arrow = outgoing(relation.name) if near is source else incoming(relation.name)
        return (*near.path, arrow, far.entity.name)


def outgoing(name: str) -> str:
    """A relation on a path, followed from its source to its target."""
    return f"-[{name}]->"


def incoming(name: str) -> str:
    """A relation on a path, followed against its direction."""
    return f"<-[{name}]-"


async def expand(
    graph: Graph, seeds: Sequence[Seed], *, max_hops: int = MAX_HOPS, max_entities: int = MAX_ENTITIES
) -> Neighbourhood:
    """The entities around the seeds, nearest and heaviest first, and the relations between them.

    Args:
        graph: The graph.
        seeds: Where to start.
        max_hops: Most relations between a seed and an entity.
        max_entities: Most entities; of each at most 24 relations are followed.
    """
    start = {seed.entity.entity_id: Reached(seed.entity, seed.weight, (seed.entity.name,)) for seed in seeds}
    found = Neighbourhood(start)
    frontier = list(found.entities)
    stated: dict[str, GraphRelation] = {}
    for _hop in range(max_hops):
        relations = await graph.relations(frontier, MAX_RELATIONS_EACH)
        stated |= {relation.relation_id: relation for relation in relations}
        new = _next(found, relations)
        room = max_entities - len(found.entities)
        best = sorted(new.items(), key=lambda item: (-item[1][0], item[0]))[: max(room, 0)]
        entities = await graph.entities([key for key, _ in best])
        frontier = [key for key, _ in best if key in entities]
        for key, (weight, path) in best:
            if key in entities:
                found.entities[key] = Reached(entities[key], weight, (*path, entities[key].name))
        if not frontier:
            break
    found.relations = {
        key: relation
        for key, relation in sorted(stated.items())
        if relation.source_id in found.entities and relation.target_id in found.entities
    }
    return found


def _next(found: Neighbourhood, relations: Sequence[GraphRelation]) -> dict[str, tuple[float, tuple[str, ...]]]:
    """Entities one relation further, each with the heaviest way to it."""
    new: dict[str, tuple[float, tuple[str, ...]]] = {}
    for relation in relations:
        for here, there, arrow in (
            (relation.source_id, relation.target_id, outgoing(relation.name)),
            (relation.target_id, relation.source_id, incoming(relation.name)),
        ):
            near = found.entities.get(here)
            if near is None or there in found.entities:
                continue
            sure = relation.weight / (1.0 + relation.weight)
            weight = near.weight * DECAY * (0.5 + 0.5 * sure)
            if there not in new or weight > new[there][0]:
                new[there] = (weight, (*near.path, arrow))
    return new


def _comes_first(left: Reached, right: Reached) -> bool:
    return _distance(left) <= _distance(right)


def _distance(reached: Reached) -> tuple[int, float, str]:
    return len(reached.path), -reached.weight, reached.entity.entity_id
