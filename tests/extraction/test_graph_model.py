"""A graph out of facts: what it says of entities and relations, and what holds for it."""

from __future__ import annotations

import subprocess
import sys
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.extraction.communities import communities_of
from lorebase.extraction.graph_building import build_facts
from lorebase.extraction.graph_kinds import KNOWLEDGE_GRAPH, GraphFact
from lorebase.extraction.graph_model import MAX_ALIASES, MAX_DESCRIPTION_BYTES, graph_of
from lorebase.extraction.mentions import EntityMention
from lorebase.extraction.resolution import resolve
from lorebase.extraction.resolution_kinds import RESOLVED_ENTITIES
from tests.extraction.mentioning import entities_in, relations_in

ENTITIES = [
    entities_in("d1", "c1", ("Acme", "organization"), ("Norwick", "place")),
    entities_in("d2", "c2", ("ACME", "organization"), ("Li Wei", "person")),
    entities_in("d3", "c3", ("Acme", "company"), ("Norwick", "place")),
]
RELATIONS = [
    relations_in("d1", "c1", ("Acme", "operates in", "Norwick")),
    relations_in("d2", "c2", ("Li Wei", "works for", "ACME")),
    relations_in("d3", "c3", ("Acme", "Operates in", "Norwick"), ("Acme", "knows", "Nobody")),
]


def entity_fact(document: str, chunk: str, name: str, **values: object) -> GraphFact:
    facts = {
        "entity_id": "ent-1",
        "target_id": "",
        "type": "concept",
        "description": "",
        "aliases": (),
        "confidence": 1.0,
    }
    return GraphFact(document_id=document, chunk_id=chunk, name=name, **{**facts, **values})


def test_names_types_and_evidence_of_one_entity_come_together() -> None:
    graph = graph_of(build_facts(resolve(ENTITIES, RELATIONS).mentions, RELATIONS).facts)

    acme = next(entity for entity in graph.entities if entity.name == "Acme")
    assert (acme.types, acme.aliases, acme.chunks, acme.documents) == (("organization", "company"), ("ACME",), 3, 3)
    assert sorted((one.name, one.chunks) for one in graph.relations) == [("Operates in", 2), ("works for", 1)]
    stating = {one.chunk_id for one in graph.evidence if one.fact_id.startswith("rel-")}
    assert stating == {"c1", "c2", "c3"}


def test_a_relation_to_a_name_that_nothing_mentions_is_counted_and_left_out() -> None:
    built = build_facts(resolve(ENTITIES, RELATIONS).mentions, RELATIONS)

    assert built.unresolved == 1
    assert len(graph_of(built.facts).relations) == 2


def test_a_relation_between_two_names_of_one_entity_is_none() -> None:
    entities = [entities_in("d1", "c1", ("Acme", "organization"), ("ACME", "organization"))]

    built = build_facts(resolve(entities, []).mentions, [relations_in("d1", "c1", ("Acme", "is", "ACME"))])

    assert (built.reflexive, graph_of(built.facts).relations) == (1, ())


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_facts_do_not_depend_on_the_order(random: Random) -> None:
    mentions = resolve(ENTITIES, RELATIONS).mentions

    shuffled = build_facts(random.sample(mentions, len(mentions)), random.sample(RELATIONS, len(RELATIONS)))

    assert shuffled == build_facts(mentions, RELATIONS)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(["d1", "d2", "d3"])))
def test_a_fact_dies_with_its_last_document_and_not_before(gone: set[str]) -> None:
    """BQ-09."""
    facts = build_facts(resolve(ENTITIES, RELATIONS).mentions, RELATIONS).facts

    left = graph_of(fact for fact in facts if fact.document_id not in gone)

    names = {entity.name for entity in left.entities}
    assert ("Norwick" in names) == (not {"d1", "d3"} <= gone)
    assert ("Li Wei" in names) == ("d2" not in gone)
    assert {one.document_id for one in left.evidence} == {"d1", "d2", "d3"} - gone
    known = {entity.entity_id for entity in left.entities}
    assert all({relation.source_id, relation.target_id} <= known for relation in left.relations)


def test_what_is_kept_of_an_entity_in_many_documents_is_bounded() -> None:
    """C47."""
    facts = [
        entity_fact(
            f"d{number}", f"c{number}", "灯塔", description=f"灯塔的第{number}件事。" * 5, aliases=(f"塔{number}",)
        )
        for number in range(500)
    ]

    entity = graph_of(facts).entities[0]

    assert entity.documents == 500
    assert len(entity.aliases) == MAX_ALIASES
    assert len(entity.description.encode()) <= MAX_DESCRIPTION_BYTES
    assert entity.description.endswith("。")


def test_one_long_statement_is_cut_between_characters() -> None:
    entity = graph_of([entity_fact("d1", "c1", "灯塔", description="灯" * 5_000)]).entities[0]

    assert set(entity.description) == {"灯"}
    assert len(entity.description.encode()) <= MAX_DESCRIPTION_BYTES


def test_rows_survive_their_objects() -> None:
    mentions = resolve(
        [entities_in("d1", "c1", EntityMention("灯塔", "place", "亮", aliases=("Tower",)), ("灯塔", "concept"))], []
    ).mentions
    facts = build_facts(mentions, []).facts

    assert RESOLVED_ENTITIES.decode(RESOLVED_ENTITIES.encode(mentions)) == mentions
    assert KNOWLEDGE_GRAPH.decode(KNOWLEDGE_GRAPH.encode(facts)) == facts


def test_two_groups_that_hardly_touch_are_two_communities() -> None:
    edges = [("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 1.0), ("x", "y", 1.0), ("c", "x", 0.1)]

    found = communities_of(["a", "b", "c", "x", "y", "alone"], edges)

    assert found == {"a": 0, "b": 0, "c": 0, "x": 1, "y": 1, "alone": 2}


def test_communities_are_the_same_in_every_process() -> None:
    script = (
        "from lorebase.extraction.communities import communities_of\n"
        "ids = [f'e{n}' for n in range(120)]\n"
        "edges = [(ids[n], ids[(n * 7 + 3) % 120], 1.0) for n in range(120)]\n"
        "print(sorted(communities_of(ids, edges).items()))\n"
    )

    answers = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(answers) == 1
    assert "('e0', " in answers.pop()


def test_no_entities_are_no_communities() -> None:
    assert communities_of([], []) == {}
