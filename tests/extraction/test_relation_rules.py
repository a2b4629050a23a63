"""Relations by rule: named by what stands between two entities of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.extraction.mentions import EntityMention
from lorebase.extraction.rules.relations import read_relations


def entity(name: str, *aliases: str) -> EntityMention:
    return EntityMention(name, "other", aliases=aliases)


def relations(text: str, *entities: EntityMention) -> list[tuple[str, str, str]]:
    found, _ = read_relations(text, entities, most=10)
    return [(relation.source, relation.type, relation.target) for relation in found]


@pytest.mark.parametrize(
    ("text", "source", "kind", "target"),
    [
        ("The Trust was founded by Mary Jones in 1920.", "Trust", "was founded by", "Mary Jones"),
        ("Mary Jones, a captain, owns the North Pier.", "Mary Jones", "owns", "North Pier"),
        ("OpenAI in San Francisco hires.", "OpenAI", "in", "San Francisco"),
        ("Mary Jones and Ann Lee.", "Mary Jones", "mentioned with", "Ann Lee"),
        ("世界卫生组织总部位于日内瓦。", "世界卫生组织", "位于", "日内瓦"),
        ("李四光是地质学家，毕业于北京大学。", "李四光", "毕业于", "北京大学"),
        ("上海图书馆与北京海洋研究所合作。", "上海图书馆", "合作", "北京海洋研究所"),
        ("图谱检索由微软公司提出。", "图谱检索", "由提出", "微软公司"),
        ("李四光、任正非。", "李四光", "同现", "任正非"),
    ],
)
def test_the_words_between_two_entities_name_their_relation(text: str, source: str, kind: str, target: str) -> None:
    assert relations(text, entity(source), entity(target)) == [(source, kind, target)]


def test_entities_of_different_sentences_are_not_related() -> None:
    assert relations("Mary Jones sails. Ann Lee walks.", entity("Mary Jones"), entity("Ann Lee")) == []


def test_an_alias_stands_for_its_entity() -> None:
    found = relations("The WHO met Mary Jones.", entity("World Health Organization", "WHO"), entity("Mary Jones"))

    assert found == [("World Health Organization", "met", "Mary Jones")]


def test_standing_beside_each_other_says_nothing_where_a_verb_says_more() -> None:
    text = "Mary Jones met Ann Lee. Mary Jones, Ann Lee."

    assert relations(text, entity("Mary Jones"), entity("Ann Lee")) == [("Mary Jones", "met", "Ann Lee")]


def test_the_sentence_is_the_evidence() -> None:
    text = "It rains. Mary Jones met Ann Lee. It shines."

    found, _ = read_relations(text, [entity("Mary Jones"), entity("Ann Lee")], most=10)

    assert [text[relation.start : relation.end] for relation in found] == ["Mary Jones met Ann Lee."]


def test_over_the_limit_those_with_a_verb_stay_and_the_others_are_counted() -> None:
    text = "Mary Jones, Ann Lee. Ann Lee met Li Wei."
    entities = [entity("Mary Jones"), entity("Ann Lee"), entity("Li Wei")]

    found, dropped = read_relations(text, entities, most=1)

    assert [(relation.source, relation.target) for relation in found] == [("Ann Lee", "Li Wei")]
    assert dropped == 1


_PIECES = st.sampled_from(["A", "李", "met", "位于", "，", ". ", " ", "\n", "由", "𝔘", "\ud800", "'s"])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_PIECES | st.text(max_size=4)).map("".join),
    st.lists(st.text(min_size=1, max_size=3), max_size=4),
)
def test_rules_never_raise_and_relate_only_given_entities(text: str, names: list[str]) -> None:
    entities = [entity("A"), entity("李"), *map(entity, names)]

    found, _ = read_relations(text, entities, most=50)

    for relation in found:
        assert relation.source != relation.target
        assert {relation.source, relation.target} <= {"A", "李", *names}
        assert 0 <= relation.start < relation.end <= len(text)
