"""What vectors of names may join, and what they never join by themselves."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.extraction.mentions import ChunkEntities, EntityMention
from lorebase.extraction.name_vectors import NameCosines, NameSpace, NameVector, name_vector_key
from lorebase.extraction.resolution import resolve
from tests.extraction.mentioning import entities_in, groups_of, relations_in

COSINES = NameCosines(translation=0.8, abbreviation=0.6, margin=0.05)
DIMENSIONS = 16
MEANINGS = (
    ("Berlin", "柏林"), ("Germany", "德国"), ("Spree", "施普雷河"), ("Type A", "A型", "B型"), ("Li Wei", "李伟"),
    ("Acme", "顶点公司"), ("sick leave", "病假"), ("World Health Organization", "WHO"), ("世界卫生组织", "世卫组织"),
)  # fmt: skip


def vector_of(meaning: int) -> np.ndarray:
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[meaning] = 1
    return vector


ROWS = [
    NameVector(name_vector_key(name), "d0", vector_of(number))
    for number, names in enumerate(MEANINGS)
    for name in names
]
SPACE = NameSpace.of(ROWS, COSINES)


def reasons(entities: list[ChunkEntities], space: NameSpace | None = SPACE) -> list[tuple[str, float]]:
    found = resolve(entities, [], space=space)
    return sorted((mention.merge_reason, mention.merge_score) for mention in found.mentions if mention.merge_id)


def two_languages() -> list[ChunkEntities]:
    return [
        entities_in("d1", "c1", ("Berlin", "place"), ("Germany", "place"), ("Spree", "place")),
        entities_in("d2", "c2", ("柏林", "place"), ("德国", "place"), ("施普雷河", "place")),
    ]


def test_a_translation_in_like_company_is_one_entity_for_a_recorded_reason_and_cosine() -> None:
    assert reasons(two_languages()) == [("translation", 1.0)] * 3


def test_without_vectors_translations_are_two_entities() -> None:
    assert reasons(two_languages(), space=None) == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([("Berlin", "place")], [("柏林", "place")]),
        ([("Berlin", "place"), ("Acme", "organization")], [("柏林", "place"), ("德国", "place")]),
    ],
)
def test_near_vectors_join_nothing_without_like_company(
    left: list[tuple[str, str]], right: list[tuple[str, str]]
) -> None:
    assert reasons([entities_in("d1", "c1", *left), entities_in("d2", "c2", *right)]) == []


def test_company_that_stands_beside_both_in_one_chunk_is_no_evidence() -> None:
    both = [("Berlin", "place"), ("柏林", "place"), ("Acme", "organization")]

    assert reasons([entities_in("d1", "c1", *both)]) == []


def test_company_of_everything_is_no_evidence() -> None:
    crowd = [entities_in(f"x{number}", f"x{number}", ("GmbH", "organization")) for number in range(30)]
    entities = [
        entities_in("d1", "c1", ("Berlin", "place"), ("GmbH", "organization")),
        entities_in("d2", "c2", ("柏林", "place"), ("GmbH", "organization")),
    ]

    assert reasons(entities) == [("translation", 1.0)]
    assert reasons([*entities, *crowd]) == []


def test_names_of_two_classes_are_two_entities_however_near() -> None:
    entities = [
        entities_in("d1", "c1", ("Berlin", "person"), ("Germany", "place"), ("Spree", "place")),
        entities_in("d2", "c2", ("柏林", "place"), ("德国", "place"), ("施普雷河", "place")),
    ]

    assert len(reasons(entities)) == 2


def test_things_without_a_class_need_more_company() -> None:
    one = [
        entities_in("d1", "c1", ("sick leave", "concept"), ("Germany", "place")),
        entities_in("d2", "c2", ("病假", "concept"), ("德国", "place")),
    ]
    two = [*one, entities_in("d1", "c3", ("sick leave", "concept"), ("HR", "concept")),
           entities_in("d2", "c4", ("病假", "concept"), ("HR", "concept"))]  # fmt: skip

    assert "病假" not in {
        name for group in groups_of(resolve(one, [], space=SPACE)) if len(group) > 1 for _, name in group
    }
    assert frozenset({("d1", "sick leave"), ("d2", "病假")}) in groups_of(resolve(two, [], space=SPACE))


def test_one_of_a_kind_is_never_the_next_one_though_its_vector_is_the_same() -> None:
    beside = [("HR", "organization"), ("ISO", "organization"), ("DIN", "organization")]
    entities = [
        entities_in("d1", "c1", ("Type A", "concept"), *beside),
        entities_in("d2", "c2", ("B型", "concept"), *beside),
    ]

    assert reasons(entities) == []
    assert ("translation", 1.0) in reasons([entities[0], entities_in("d2", "c2", ("A型", "concept"), *beside)])


def test_persons_are_one_only_in_the_same_organization() -> None:
    names = [("Li Wei", "person"), ("Acme", "organization")], [("李伟", "person"), ("顶点公司", "organization")]
    entities = [entities_in("d1", "c1", *names[0]), entities_in("d2", "c2", *names[1])]
    beside = [entities_in("d1", "c3", ("Acme", "organization"), ("Germany", "place")),
              entities_in("d2", "c4", ("顶点公司", "organization"), ("德国", "place"))]  # fmt: skip
    works = [
        relations_in("d1", "c1", ("Li Wei", "works for", "Acme")),
        relations_in("d2", "c2", ("李伟", "任职", "顶点公司")),
    ]

    loose = resolve([*entities, *beside], [], space=SPACE)
    tied = resolve([*entities, *beside], works, space=SPACE)

    persons = frozenset({("d1", "Li Wei"), ("d2", "李伟")})
    assert persons not in groups_of(loose)
    assert persons in groups_of(tied)


@pytest.mark.parametrize(("short", "long"), [("WHO", "World Health Organization"), ("世卫组织", "世界卫生组织")])
def test_an_abbreviation_in_like_company_is_one_entity(short: str, long: str) -> None:
    def corpus(kind: str) -> list[ChunkEntities]:
        return [
            entities_in("d1", "c1", (short, kind), ("Germany", "place")),
            entities_in("d2", "c2", (long, "organization"), ("Germany", "place")),
        ]

    assert reasons(corpus("organization")) == [("abbreviation", 1.0)]
    assert reasons(corpus("place")) == []


def test_an_undone_translation_stays_undone() -> None:
    entities = two_languages()
    merged = next(one for one in resolve(entities, [], space=SPACE).mentions if one.merge_id)

    found = resolve(entities, [], [(merged.name_key, merged.merged_with)], SPACE)

    assert found.refused == 1
    assert found.entities == 4
    assert merged.merge_id not in {mention.merge_id for mention in found.mentions}


def test_vectors_of_zeros_join_nothing() -> None:
    zeros = [NameVector(row.key, "d0", np.zeros(DIMENSIONS, dtype=np.float32)) for row in ROWS]

    assert reasons(two_languages(), NameSpace.of(zeros, COSINES)) == []


@st.composite
def bilingual(draw: st.DrawFn) -> list[ChunkEntities]:
    """Small bases in two languages, with namesakes, abbreviations and things that are told by a letter."""
    names = [name for group in MEANINGS for name in group]
    types = st.sampled_from(("person", "organization", "place", "concept"))
    return [
        entities_in(
            f"doc-{draw(st.integers(0, 4))}",
            f"chk-{number}",
            *(
                EntityMention(name, kind)
                for name, kind in draw(st.dictionaries(st.sampled_from(names), types, min_size=2, max_size=6)).items()
            ),
        )
        for number in range(draw(st.integers(2, 7)))
    ]


@settings(max_examples=100, deadline=None)
@given(bilingual(), st.randoms(use_true_random=False))
def test_with_vectors_the_decision_does_not_depend_on_the_order_and_can_be_undone(
    entities: list[ChunkEntities], random: Random
) -> None:
    shuffled = random.sample(entities, len(entities))
    space = NameSpace.of(random.sample(ROWS, len(ROWS)), COSINES)

    one, other = resolve(entities, [], space=SPACE), resolve(shuffled, [], space=space)
    merged = next((mention for mention in one.mentions if mention.merge_id), None)
    pair = (merged.name_key, merged.merged_with) if merged else ("a", "b")
    after = {mention.name_key: mention.entity_id for mention in resolve(entities, [], [pair], SPACE).mentions}

    assert one == other
    assert merged is None or after[pair[0]] != after[pair[1]]
