"""Entities by rule: on small texts exactly these, on any text no error and exact places."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.documents.model import Chunk
from lorebase.extraction.gazetteer import GazetteerEntry
from lorebase.extraction.rules.entities import EntityRules


def chunk_of(text: str, *heading_path: str) -> Chunk:
    return Chunk("chunk-1", "document-1", "r1", "harbour.md", "documents", 0, text, 0, len(text), heading_path)


def read(text: str, *heading_path: str, rules: EntityRules | None = None) -> list[tuple[str, str, str]]:
    mentions = (rules or EntityRules()).read(chunk_of(text, *heading_path)).entities
    return [(mention.name, mention.type, mention.method) for mention in mentions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Yesterday Dr. Marie Curie's team joined the World Health Organization (WHO) in Geneva.",
            [
                ("Marie Curie", "person", "name"),
                ("World Health Organization", "organization", "abbreviation"),
                ("Geneva", "other", "name"),
            ],
        ),
        ("Beans are sown in May. We water them on Monday.", []),
        ("A dory is a boat with a flat bottom.", [("dory", "concept", "definition")]),
        ("It is a boat. This is a lamp.", []),
        (
            "The Lighthouse Trust was founded by Captain Mary Jones, and it owns the North Pier.",
            [
                ("Lighthouse Trust", "organization", "name"),
                ("Captain Mary Jones", "person", "name"),
                ("North Pier", "other", "name"),
            ],
        ),
        ("She studied at the University of Oxford.", [("University of Oxford", "organization", "name")]),
        ("ALL VISITORS MUST LEAVE NOW.", []),
        (
            "世界卫生组织（WHO）总部位于日内瓦。",
            [("世界卫生组织", "organization", "abbreviation"), ("日内瓦", "place", "name")],
        ),
        (
            "李四光是一位地质学家，毕业于北京大学。",
            [("李四光", "person", "definition"), ("北京大学", "organization", "name")],
        ),
        (
            "国家知识产权局（以下简称“国知局”）负责专利。",
            [("国家知识产权局", "organization", "abbreviation")],
        ),
        ("GraphRAG是一种检索方法。", [("GraphRAG", "concept", "definition")]),
        ("他喜欢读《红楼梦》。", [("红楼梦", "work", "name")]),
        ("这是一种方法。它是一个想法。", []),
    ],
)  # fmt: skip
def test_rules_read_exactly_these_entities(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(text) == expected


def test_the_short_name_in_brackets_is_an_alias_and_no_entity_of_its_own() -> None:
    mentions = EntityRules().read(chunk_of("The World Health Organization (WHO) met. The WHO agreed.")).entities

    assert [(mention.name, mention.aliases) for mention in mentions] == [("World Health Organization", ("WHO",))]


def test_a_definition_is_the_description() -> None:
    mentions = EntityRules().read(chunk_of("A dory is a boat with a flat bottom. It floats.")).entities

    assert mentions[0].description == "A dory is a boat with a flat bottom."


def test_a_known_name_is_found_by_each_of_its_names_with_its_type_in_any_case_and_width() -> None:
    rules = EntityRules([GazetteerEntry(name="Lorebase", type="Product", aliases=("洛尔库",))])

    found = [
        read(text, rules=rules)
        for text in ("We use ＬＯＲＥＢＡＳＥ daily.", "我们每天使用洛尔库。", "Unknown names only.")
    ]

    assert found == [[("ＬＯＲＥＢＡＳＥ", "product", "gazetteer")], [("洛尔库", "product", "gazetteer")], []]


def test_two_names_of_one_known_thing_are_one_entity() -> None:
    rules = EntityRules([GazetteerEntry(name="Lorebase", type="product", aliases=("LB",))])

    mentions = rules.read(chunk_of("Lorebase, or LB for short, builds.")).entities

    assert [(mention.name, mention.aliases) for mention in mentions] == [("Lorebase", ("LB",))]


def test_only_wanted_types_are_kept() -> None:
    text = "Captain Mary Jones founded the Lighthouse Trust."

    assert read(text, rules=EntityRules(entity_types=["person"])) == [("Captain Mary Jones", "person", "name")]


def test_over_the_limit_the_surest_stay_and_the_others_are_counted() -> None:
    rules = EntityRules([GazetteerEntry(name="Geneva", type="place")], most=1)

    result = rules.read(chunk_of("Captain Mary Jones met Ann Lee in Geneva."))

    assert [mention.name for mention in result.entities] == ["Geneva"]
    assert result.dropped == 2


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("3.2 Berth fees", [("Berth fees", "topic", "heading")]),
        ("第三章 收费标准", [("收费标准", "topic", "heading")]),
        ("Introduction", []),
        ("概述", []),
        ("What does it cost?", []),
        ("7", []),
    ],
)
def test_the_innermost_heading_is_a_topic_unless_it_says_nothing(
    heading: str, expected: list[tuple[str, str, str]]
) -> None:
    assert read("nothing else here", "Guide", heading) == expected


_PIECES = st.sampled_from(
    [
        "The World Health Organization (WHO)", "Dr. ", "李四光", "是一位", "（简称", "）", "《", "》", " is a ",
        "GPT-4", "\n\n", "。", ". ", "\u200b", "e\u0301", "🙂", "((", "Ａ", "'s", "，", "of the ",
        "\ud800", "\x00", "ﬁ", "İ",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=12), max_size=25).map("".join), st.text(max_size=12))
def test_rules_never_raise_and_every_place_is_exact(text: str, heading: str) -> None:
    rules = EntityRules([GazetteerEntry(name="GPT-4", aliases=("e", "李"))])

    mentions = rules.read(chunk_of(text, heading)).entities

    for mention in mentions:
        assert (mention.start, mention.end) == (-1, -1) or text[mention.start : mention.end] == mention.name
    assert len({(mention.name, mention.type) for mention in mentions}) == len(mentions)
