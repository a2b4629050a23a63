"""Which names are worth a vector."""

from __future__ import annotations

from random import Random

import pytest

from lorebase.extraction.mentions import ChunkEntities
from lorebase.extraction.resolution_comparable import comparable_names
from tests.extraction.mentioning import entities_in, relations_in

ENGLISH = entities_in("en", "c1", ("Berlin", "place"), ("Germany", "place"), ("Gleis 9", "concept"))
CHINESE = entities_in("zh", "c2", ("柏林", "place"), ("施普雷河", "place"), ("九号站台", "concept"))


def wanted(*entities: ChunkEntities) -> frozenset[str]:
    return comparable_names(entities, [])


@pytest.mark.parametrize("chunks", [[ENGLISH], [CHINESE], [ENGLISH, entities_in("de", "c3", ("Spree", "place"))]])
def test_names_in_one_script_need_no_vectors(chunks: list[ChunkEntities]) -> None:
    assert wanted(*chunks) == frozenset()


def test_names_with_a_counterpart_of_their_class_in_another_script_do() -> None:
    assert wanted(ENGLISH, CHINESE) == {"Berlin", "Germany", "柏林", "施普雷河", "Gleis 9", "九号站台"}


def test_numbers_that_differ_and_classes_that_differ_leave_no_counterpart() -> None:
    other = entities_in("zh", "c2", ("柏林", "organization"), ("八号站台", "concept"), ("2001年", "date"))

    assert wanted(ENGLISH, other) == frozenset()


@pytest.mark.parametrize("foreign", ["Берлин", "柏林", "ベルリン"])
def test_foreign_words_in_a_text_do_not_make_it_a_text_in_two_languages(foreign: str) -> None:
    towns = [
        (name, "place")
        for name in ("Ashby", "Belton", "Corby", "Denton", "Elmdon", "Fenby", "Gorton", "Harby", "Kelby")
    ]
    towns += [(f"New {name}", kind) for name, kind in towns]
    page = entities_in("page", "c1", *towns, (foreign, "place"))

    assert wanted(page) == frozenset()
    assert len(wanted(page, entities_in("own", "c2", (foreign, "place")))) == 19


def test_persons_need_an_organization_that_tells_who_they_are() -> None:
    persons = [
        entities_in("en", "c1", ("Li Wei", "person"), ("Acme", "organization"), ("Zhang San", "person")),
        entities_in("zh", "c2", ("李伟", "person"), ("顶点公司", "organization"), ("张三", "person")),
    ]
    works = [relations_in("en", "c1", ("Li Wei", "works for", "Acme")),
             relations_in("zh", "c2", ("李伟", "任职", "顶点公司"))]  # fmt: skip

    assert comparable_names(persons, works) == {"Li Wei", "李伟", "Acme", "顶点公司"}
    assert comparable_names(persons, []) == {"Acme", "顶点公司"}


@pytest.mark.parametrize(("short", "long"), [("WHO", "World Health Organization"), ("世卫组织", "世界卫生组织")])
def test_an_abbreviation_is_compared_with_what_has_its_letters_in_one_language_too(short: str, long: str) -> None:
    named = [
        (short, "organization"),
        (long, "organization"),
        ("UNESCO", "organization"),
        ("教科文组织", "organization"),
    ]
    chunks = [
        entities_in("d", f"c{number}", name)
        for number, name in enumerate(named)
        if name[0].isascii() == short.isascii()
    ]

    assert wanted(*chunks) == {short, long}


def test_one_spelling_stands_for_all() -> None:
    spelt = [entities_in("d1", "s1", ("BERLIN", "place")), entities_in("d2", "s2", ("Ｂｅｒｌｉｎ", "place"))]

    found = wanted(ENGLISH, *spelt, entities_in("d4", "c4", ("Berlin", "place")), CHINESE)

    assert found == wanted(ENGLISH, CHINESE)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_documents_changes_nothing(seed: int) -> None:
    chunks = [ENGLISH, CHINESE, entities_in("d3", "c3", ("ber-lin", "place"), ("WHO", "organization")),
              entities_in("d4", "c4", ("World Health Organization", "organization"), ("Berlin", "place"))]  # fmt: skip

    assert wanted(*Random(seed).sample(chunks, len(chunks))) == wanted(*chunks)
