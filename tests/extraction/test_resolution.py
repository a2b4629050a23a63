"""Which mentions name one entity, and which do not."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.extraction.mentions import ChunkEntities, ChunkRelations, EntityMention
from lorebase.extraction.resolution import resolve
from tests.extraction.mentioning import entities_in, groups_of, relations_in

NAMES = (
    "IBM",
    "ＩＢＭ",
    "ibm",
    "I.B.M.",
    "Li Wei",
    "LI WEI",
    "World Health Organization",
    "WHO",
    "灯塔",
    "灯塔局",
    "Acme Inc.",
    "Acme",
    "vector index",
    "vector indexes",
)
TYPES = ("person", "organization", "place", "concept", "other")


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[ChunkEntities], list[ChunkRelations]]:
    """Small bases with names that may or may not be one thing."""
    entities, relations = [], []
    for number in range(draw(st.integers(1, 6))):
        document = f"doc-{draw(st.integers(0, 3))}"
        named = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TYPES), min_size=1, max_size=5))
        mentions = [
            EntityMention(name, kind, aliases=draw(st.sampled_from([(), (), ("WHO",), ("IBM",)])))
            for name, kind in named.items()
        ]
        entities.append(entities_in(document, f"chk-{number}", *mentions))
        pairs = draw(st.lists(st.tuples(st.sampled_from(list(named)), st.sampled_from(list(named))), max_size=3))
        stated = [(left, "works for", right) for left, right in pairs if left != right]
        relations.append(relations_in(document, f"chk-{number}", *stated))
    return entities, relations


@settings(max_examples=150, deadline=None)
@given(corpora(), st.randoms(use_true_random=False))
def test_the_decision_does_not_depend_on_the_order(
    corpus: tuple[list[ChunkEntities], list[ChunkRelations]], random: Random
) -> None:
    entities, relations = corpus
    shuffled_entities, shuffled_relations = (
        random.sample(entities, len(entities)),
        random.sample(relations, len(relations)),
    )

    one, other = resolve(entities, relations), resolve(shuffled_entities, shuffled_relations)

    assert one == other


@settings(max_examples=80, deadline=None)
@given(corpora())
def test_an_entity_is_of_one_class_and_every_merge_can_be_undone(
    corpus: tuple[list[ChunkEntities], list[ChunkRelations]],
) -> None:
    entities, relations = corpus
    before = resolve(entities, relations)
    merged = next((mention for mention in before.mentions if mention.merge_id), None)

    pair = tuple(sorted((merged.name_key, merged.merged_with))) if merged else ("a", "b")
    after = resolve(entities, relations, [pair])

    entity_of = {mention.name_key: mention.entity_id for mention in after.mentions}
    assert set(entity_of) == {mention.name_key for mention in before.mentions}
    assert merged is None or entity_of[pair[0]] != entity_of[pair[1]]


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("ＩＢＭ", "IBM", "width"),
        ("Vector Index", "vector index", "case"),
        ("I.B.M", "I B M", "punctuation"),
        ("Jean-Luc", "Jean Luc", "punctuation"),
        ("灯塔（北港）", "灯塔(北港)", "width"),
        ("北港·灯塔", "北港灯塔", "punctuation"),
        ("vector indexes", "vector index", "plural"),
    ],
)
def test_names_that_are_written_differently_are_one_entity_for_a_recorded_reason(
    left: str, right: str, reason: str
) -> None:
    found = resolve([entities_in("d1", "c1", (left, "concept")), entities_in("d2", "c2", (right, "concept"))], [])

    assert found.entities == 1
    assert [mention.merge_reason for mention in found.mentions if mention.merge_id] == [reason]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("C++", "C"), ("C#", "C"), ("GPT-3", "GPT-4"), ("张伟", "张薇"), ("organ", "organization"),
        ("absorption", "adsorption"), ("Building 1", "Building 11"), ("北京", "北京大学"), ("dog house", "house dog"),
    ],
)  # fmt: skip
def test_names_that_only_look_alike_are_two_entities(left: str, right: str) -> None:
    found = resolve([entities_in("d1", "c1", (left, "concept"), (right, "concept"))], [])

    assert found.entities == 2


@pytest.mark.parametrize(
    ("left", "right"),
    [("Acme", "Acme Inc."), ("Acme Ltd", "ACME Co., Ltd."), ("华为技术", "华为技术有限公司")],
)
def test_an_organization_is_known_without_its_legal_form(left: str, right: str) -> None:
    found = resolve(
        [entities_in("d1", "c1", (left, "organization")), entities_in("d2", "c2", (right, "organization"))], []
    )

    assert found.entities == 1
    assert "legal_form" in {mention.merge_reason for mention in found.mentions}


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ("University of Oxford", "Oxford University", "organization"),
        ("The Lighthouse Trust", "Lighthouse Trust", "organization"),
        ("Dr. Mary Jones", "Mary Jones", "person"),
        ("李四光教授", "李四光", "person"),
    ],
)
def test_articles_titles_and_the_order_around_of_do_not_count(left: str, right: str, kind: str) -> None:
    found = resolve([entities_in("d1", "c1", (left, kind)), entities_in("d2", "c2", (right, kind))], [])

    assert found.entities == 1
    assert [mention.merge_reason for mention in found.mentions if mention.merge_id] == ["phrasing"]


def test_an_alias_joins_the_name_that_it_stands_for() -> None:
    long_form = EntityMention("World Health Organization", "organization", aliases=("WHO",))

    found = resolve([entities_in("d1", "c1", long_form), entities_in("d2", "c2", ("WHO", "organization"))], [])

    assert found.entities == 1
    assert [mention.merge_reason for mention in found.mentions if mention.merge_id] == ["alias"]


def test_an_abbreviation_of_two_things_joins_neither_to_the_other() -> None:
    """The same letters stand for what the document says; where it says nothing, for nothing."""
    association = EntityMention("American Medical Association", "organization", aliases=("AMA",))
    marketing = EntityMention("American Marketing Association", "organization", aliases=("AMA",))

    found = resolve(
        [
            entities_in("d1", "c1", association),
            entities_in("d1", "c2", ("AMA", "organization")),
            entities_in("d2", "c3", marketing),
            entities_in("d2", "c4", ("AMA", "organization")),
            entities_in("d3", "c5", ("AMA", "organization")),
        ],
        [],
    )

    assert groups_of(found) == {
        frozenset({("d1", "American Medical Association"), ("d1", "AMA")}),
        frozenset({("d2", "American Marketing Association"), ("d2", "AMA")}),
        frozenset({("d3", "AMA")}),
    }


@pytest.mark.parametrize(
    ("person", "first", "second", "role"),
    [("Li Wei", "Acme", "Borealis", "CFO of"), ("李伟", "北港公司", "南湾公司", "任职")],
)
def test_persons_of_one_name_in_different_organizations_are_kept_apart(
    person: str, first: str, second: str, role: str
) -> None:
    """C45."""
    entities = [
        entities_in("d1", "c1", (person, "person"), (first, "organization")),
        entities_in("d2", "c2", (person, "person"), (second, "organization")),
        entities_in("d3", "c3", (person, "person"), (first, "organization")),
        entities_in("d4", "c4", (person, "person")),
    ]
    relations = [
        relations_in("d1", "c1", (person, role, first)),
        relations_in("d2", "c2", (person, role, second)),
        relations_in("d3", "c3", (person, role, first)),
    ]

    found = resolve(entities, relations)

    persons = {group for group in groups_of(found) if any(name == person for _, name in group)}
    assert persons == {
        frozenset({("d1", person), ("d3", person)}), frozenset({("d2", person)}), frozenset({("d4", person)}),
    }  # fmt: skip


def test_a_person_without_a_namesake_is_one_wherever_the_name_stands() -> None:
    entities = [
        entities_in("d1", "c1", ("Li Wei", "person"), ("Acme", "organization")),
        entities_in("d2", "c2", ("LI WEI", "person")),
        entities_in("d3", "c3", ("Li Wei", "other")),
    ]

    found = resolve(entities, [relations_in("d1", "c1", ("Li Wei", "works for", "Acme"))])

    assert found.entities == 2


def test_a_place_is_no_person_of_the_same_name() -> None:
    found = resolve(
        [entities_in("d1", "c1", ("Washington", "place")), entities_in("d2", "c2", ("Washington", "person"))], []
    )

    assert found.entities == 2


def test_types_that_do_not_exclude_each_other_are_one_entity() -> None:
    """C46."""
    found = resolve(
        [entities_in("d1", "c1", ("GraphRAG", "concept")), entities_in("d1", "c2", ("GraphRAG", "technology"))], []
    )

    assert found.entities == 1
    assert {mention.type for mention in found.mentions} == {"concept", "technology"}


def test_a_rare_misspelling_joins_the_common_spelling() -> None:
    common = [entities_in("d1", f"c{number}", ("retrieval augmentation", "concept")) for number in range(3)]

    found = resolve([*common, entities_in("d2", "c9", ("retreival augmentation", "concept"))], [])

    assert found.entities == 1
    assert "spelling" in {mention.merge_reason for mention in found.mentions}


def test_an_undone_merge_stays_undone_and_its_alias_is_none_any_more() -> None:
    long_form = EntityMention("World Health Organization", "organization", aliases=("WHO",))
    entities = [entities_in("d1", "c1", long_form), entities_in("d2", "c2", ("WHO", "organization"))]
    merged = next(mention for mention in resolve(entities, []).mentions if mention.merge_id)

    found = resolve(entities, [], [(merged.name_key, merged.merged_with)])

    assert found.entities == 2
    assert found.refused == 1
    assert {mention.aliases for mention in found.mentions} == {()}


def test_equal_input_gives_equal_rows_again() -> None:
    entities = [entities_in("d1", "c1", ("IBM", "organization"), ("ibm", "organization"))]

    assert resolve(entities, []) == resolve(entities, [])


def test_no_mentions_are_no_entities() -> None:
    assert resolve([entities_in("d1", "c1")], [relations_in("d1", "c1")]).mentions == []
