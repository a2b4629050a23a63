"""Communities: entities that are more related to each other than to the rest."""

from __future__ import annotations

from collections.abc import Iterable

SEED = 20_260


def communities_of(
    entity_ids: Iterable[str], weights: Iterable[tuple[str, str, float]], *, resolution: float = 1.0, seed: int = SEED
) -> dict[str, int]:
    """The community of every entity, by the Louvain method (Blondel et al. 2008).

    The same graph gives the same communities, in whatever order it is told and in every process.

    Args:
        entity_ids: All entities; one without relations is a community of its own.
        weights: Relations between two of them with their weight, above 0; several of one pair add up.
        resolution: Above 1 for smaller communities, below for larger ones.
        seed: Of the order in which entities are looked at.

    Returns:
        A number for each entity; 0 is the largest community, equal sizes by their smallest entity.
    """
    import networkx as nx  # noqa: PLC0415 (takes 0.2 s, and only the building of graphs needs it)

    ordered = sorted(set(entity_ids))
    # Numbers instead of ids: the library keeps sets of nodes, and the order of a set of texts differs by process.
    number = {entity_id: place for place, entity_id in enumerate(ordered)}
    graph = nx.Graph()
    graph.add_nodes_from(range(len(ordered)))
    for source, target, weight in sorted(weights):
        left, right = number[source], number[target]
        if left != right:
            before = graph.get_edge_data(left, right, {"weight": 0.0})["weight"]
            graph.add_edge(left, right, weight=before + weight)
    found = nx.community.louvain_communities(graph, weight="weight", resolution=resolution, seed=seed)
    by_size = sorted(found, key=lambda members: (-len(members), min(members)))
    return {ordered[member]: place for place, members in enumerate(by_size) for member in members}
