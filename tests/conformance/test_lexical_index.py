"""What every index of words does: the embedded Milvus, a Milvus server, and the fake in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lorebase.index.ports import Equals, IndexStore, LexicalIndex, TextEntity
from tests.conformance.index_stores import EMBEDDED_AND_FAKE, base_name, fields_of, opened

__all__ = ["base_name"]  # a fixture, imported

# Servers before 2.5 have no full text, and ours is one of them: tests/index/test_milvus_server.py holds what it says.
WITH_FULL_TEXT = [*EMBEDDED_AND_FAKE, *(["server"] if os.environ.get("LOREBASE_TEST_MILVUS_URI") else [])]


@pytest.fixture(params=WITH_FULL_TEXT)
async def text_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexStore]:
    async with opened(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture
async def lexical(text_store: IndexStore, base_name: str) -> AsyncIterator[LexicalIndex]:
    index = text_store.lexical(base_name)
    yield index
    await index.drop()


def passage(chunk_id: str, text: str) -> TextEntity:
    return TextEntity(fields_of(chunk_id), text)


async def test_writing_a_known_id_again_takes_the_place_of_the_row(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "quarterly report")])
    await lexical.upsert([passage("a", "holiday calendar")])

    assert await lexical.count(()) == 1
    assert await lexical.search("report", (), 5) == []
    assert [candidate.chunk_id for candidate in await lexical.search("calendar", (), 5)] == ["a"]


async def test_switched_words_are_found_as_before(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "企业知识库建设"), passage("b", "年度报告")])

    await lexical.set_searchable(["a", "b"], searchable=False)
    await lexical.set_searchable(["a"], searchable=True)

    found = await lexical.search("知识库 报告", (Equals("searchable", value=True),), 5)
    assert [candidate.chunk_id for candidate in found] == ["a"]


async def test_an_index_of_words_that_was_never_written_is_empty(lexical: LexicalIndex) -> None:
    assert await lexical.count(()) == 0
    assert await lexical.search("anything", (), 5) == []
    await lexical.drop()


async def test_the_words_of_cards_and_of_questions_lie_apart_from_those_of_chunks(
    text_store: IndexStore, base_name: str
) -> None:
    indexes = [text_store.lexical(base_name, kind=kind) for kind in ("chunks", "cards", "faq")]
    for number, index in enumerate(indexes):
        await index.upsert([passage(f"c{number}", "lighthouse")])

    found = [[one.chunk_id for one in await index.search("lighthouse", (), 5)] for index in indexes]

    assert found == [["c0"], ["c1"], ["c2"]]
    for index in indexes:
        await index.drop()


async def test_chinese_is_found_by_any_stretch_of_it(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "企业知识库建设"), passage("b", "年度财务报告"), passage("c", "一只小狗")])

    assert [candidate.chunk_id for candidate in await lexical.search("知识库", (), 5)] == ["a"]
    assert [candidate.chunk_id for candidate in await lexical.search("报告", (), 5)] == ["b"]
    assert [candidate.chunk_id for candidate in await lexical.search("狗", (), 5)] == ["c"]


async def test_traditional_chinese_finds_simplified_and_the_other_way_around(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "图书馆每天八点开门"), passage("b", "圖書館的燈塔")])
    for query, sought in (("幾點開門", {"a"}), ("灯塔", {"b"}), ("圖書館", {"a", "b"})):
        assert {candidate.chunk_id for candidate in await lexical.search(query, (), 5)} == sought


async def test_english_is_found_whatever_its_case_and_ending(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "The Pumps were INSTALLED."), passage("b", "Payment terms: 30 days")])

    assert [candidate.chunk_id for candidate in await lexical.search("installing a pump", (), 5)] == ["a"]
    assert [candidate.chunk_id for candidate in await lexical.search("ＰＡＹＭＥＮＴ", (), 5)] == ["b"]


async def test_the_passage_with_more_of_the_words_comes_first_and_scores_are_above_zero(lexical: LexicalIndex) -> None:
    await lexical.upsert([passage("a", "red"), passage("b", "red green"), passage("c", "blue")])

    found = await lexical.search("red green", (), 5)

    assert [candidate.chunk_id for candidate in found] == ["b", "a"]
    assert all(candidate.score > 0 for candidate in found)


@pytest.mark.parametrize("text", ["", "  ", "?!。，", "😀"])
async def test_a_text_without_words_finds_nothing_and_may_be_indexed(lexical: LexicalIndex, text: str) -> None:
    await lexical.upsert([passage("a", text), passage("b", "words ?!。，")])

    assert await lexical.search(text, (), 5) == []
    assert await lexical.count(()) == 2
