"""The query modes, over indexes in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from lorebase.documents.model import Chunk
from lorebase.errors import RefusedError, UnavailableError, UnsupportedModeError, UsageError
from lorebase.index.ports import (
    Candidate,
    EntityFields,
    Equals,
    Filter,
    HasAnyTag,
    TextEntity,
    VectorEntity,
)
from lorebase.models.ports import EmbeddingBatch, EmbeddingFailure
from lorebase.retrieval.search import Retriever
from tests.fakes.memory_index import MemoryIndexStore, MemoryLexicalIndex, MemoryVectorIndex

WORDS = ("red", "green", "blue")


def vector_of(text: str) -> NDArray[np.float32]:
    """One axis a word of `WORDS`, so that nearness can be read off the text."""
    counts = np.array([text.split().count(word) for word in WORDS], dtype=np.float32)
    return counts / np.linalg.norm(counts) if counts.any() else np.full(3, 3**-0.5, dtype=np.float32)


class WordEmbedder:
    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        return EmbeddingBatch(np.stack([vector_of(text) for text in texts]))


class ActiveSet:
    """An authority that knows its chunks and remembers what it was asked."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = {chunk.chunk_id: chunk for chunk in chunks}
        self.asked: list[list[str]] = []

    async def resolve(self, candidates: Sequence[Candidate]) -> dict[str, Chunk]:
        self.asked.append([candidate.chunk_id for candidate in candidates])
        return {c.chunk_id: self.chunks[c.chunk_id] for c in candidates if c.chunk_id in self.chunks}


class Unreachable:
    """Any dependency, unreachable."""

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        raise UnavailableError("The model did not answer.", dependency="embedder")

    async def search(self, what: object, where: Filter, limit: int) -> list[Candidate]:
        raise UnavailableError("The index did not answer.", dependency="milvus")

    async def resolve(self, candidates: Sequence[Candidate]) -> dict[str, Chunk]:
        raise UnavailableError("The database did not answer.", dependency="database")


class House:
    """A small knowledge base: indexes, authority, and the retriever over both."""

    def __init__(self, vectors: MemoryVectorIndex, lexical: MemoryLexicalIndex, active: ActiveSet) -> None:
        self.vectors, self.lexical, self.active = vectors, lexical, active
        self.retriever = Retriever(active, vectors=vectors, embedder=WordEmbedder(), lexical=lexical)


async def house_of(
    texts: dict[str, str],
    *,
    inactive: Sequence[str] = (),
    hidden: Sequence[str] = (),
    tags: dict[str, str] | None = None,
) -> House:
    store = MemoryIndexStore()
    vectors, lexical = store.vectors("base", "p" * 32, 3), store.lexical("base")
    chunks = []
    for chunk_id, text in texts.items():
        fields = EntityFields(
            chunk_id,
            "doc",
            "rev",
            "base",
            searchable=chunk_id not in hidden,
            tags=((tags or {}).get(chunk_id, "none"),),
        )
        await vectors.upsert([VectorEntity(fields, vector_of(text))])
        await lexical.upsert([TextEntity(fields, text)])
        chunks.append(Chunk(chunk_id, "doc", "rev", "colours.md", "notes", 0, text, 3, 9, ("Colours",), page=2))
    return House(vectors, lexical, ActiveSet([chunk for chunk in chunks if chunk.chunk_id not in inactive]))


MODES = ("vector_search", "full_text_search", "hybrid_search")


async def ids_found(house: House, mode: str, query: str, **settings: object) -> list[str]:
    result = await getattr(house.retriever, mode)(query, **settings)
    return [found.chunk_id for found in result.results]


@pytest.mark.parametrize("mode", MODES)
async def test_the_best_chunk_comes_first_with_its_citation(mode: str) -> None:
    house = await house_of({"a": "red", "b": "red green", "c": "blue"})

    result = await getattr(house.retriever, mode)("  red green ", top_k=2)

    assert (result.mode, result.query) == (mode, "red green")
    assert [(found.rank, found.chunk_id) for found in result.results] == [(1, "b"), (2, "a")]
    best = result.results[0]
    assert best.score >= result.results[1].score
    assert (best.text, best.document.name, best.document.source) == ("red green", "colours.md", "notes")
    assert (best.citation.heading_path, best.citation.page, best.citation.start, best.citation.end) == (
        ("Colours",),
        2,
        3,
        9,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("query", "top_k"), [("", 5), (" \n", 5), ("q" * 2001, 5), ("red", 0), ("red", 101)])
async def test_what_is_out_of_range_is_refused_not_clamped(mode: str, query: str, top_k: int) -> None:
    house = await house_of({"a": "red"})

    with pytest.raises(UsageError):
        await getattr(house.retriever, mode)(query, top_k=top_k)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("query", "top_k"), [("q", 1), (f"  {'q' * 2000}  ", 100)])
async def test_the_ends_of_the_range_are_taken(mode: str, query: str, top_k: int) -> None:
    house = await house_of({"a": "red"})

    result = await getattr(house.retriever, mode)(query, top_k=top_k)

    assert result.query == query.strip()


@pytest.mark.parametrize("mode", MODES)
async def test_a_chunk_that_is_not_searchable_is_not_found(mode: str) -> None:
    house = await house_of({"a": "red", "b": "red"}, hidden=["a"])

    assert await ids_found(house, mode, "red") == ["b"]


@pytest.mark.parametrize("mode", MODES)
async def test_conditions_of_the_caller_hold_together_with_searchable(mode: str) -> None:
    house = await house_of({"a": "red", "b": "red", "c": "red"}, hidden=["a"], tags={"a": "x", "b": "x"})

    assert await ids_found(house, mode, "red", where=(HasAnyTag(("x",)),)) == ["b"]
    assert await ids_found(house, mode, "red", where=(Equals("searchable", value=False),)) == []


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_authority_does_not_confirm_is_left_out(mode: str) -> None:
    house = await house_of({"a": "red", "b": "red", "c": "red"}, inactive=["a", "c"])

    assert await ids_found(house, mode, "red") == ["b"]


async def test_the_authority_is_asked_once_where_enough_are_active() -> None:
    house = await house_of({f"c{number:03d}": "red" for number in range(60)})

    found = await ids_found(house, "vector_search", "red", top_k=10)

    assert found == [f"c{number:03d}" for number in range(10)]
    assert [len(asked) for asked in house.active.asked] == [40]


@pytest.mark.parametrize(("top_k", "recall"), [(1, 20), (5, 20), (6, 24), (50, 200), (100, 200)])
async def test_the_recall_is_four_times_top_k_from_20_to_200(top_k: int, recall: int) -> None:
    house = await house_of({f"c{number:03d}": "red" for number in range(300)})

    await house.retriever.full_text_search("red", top_k=top_k)

    assert [len(asked) for asked in house.active.asked] == [recall]


@pytest.mark.parametrize("mode", ["vector_search", "full_text_search"])
async def test_where_too_few_are_active_more_are_fetched_without_those_already_seen(mode: str) -> None:
    texts = {f"c{number:03d}": "red" for number in range(100)}
    house = await house_of(texts, inactive=[f"c{number:03d}" for number in range(25)])

    found = await ids_found(house, mode, "red", top_k=5)

    assert found == ["c025", "c026", "c027", "c028", "c029"]
    assert house.active.asked == [list(texts)[:20], list(texts)[:40]]


async def test_after_two_top_ups_what_was_found_is_given() -> None:
    texts = {f"c{number:03d}": "red" for number in range(100)}
    house = await house_of(texts, inactive=[f"c{number:03d}" for number in range(58)])

    found = await ids_found(house, "full_text_search", "red", top_k=5)

    assert found == ["c058", "c059"]
    assert len(house.active.asked) == 3


async def test_an_exhausted_index_is_not_asked_again() -> None:
    house = await house_of({"a": "red", "b": "red"}, inactive=["a"])

    await ids_found(house, "full_text_search", "red", top_k=5)

    assert house.active.asked == [["a", "b"]]


@pytest.mark.parametrize("query", ["?!", "。，！", "😀", "---"])
async def test_full_text_search_for_punctuation_finds_nothing(query: str) -> None:
    house = await house_of({"a": "red ?!。，"})

    assert await ids_found(house, "full_text_search", query) == []


async def test_hybrid_search_finds_what_only_one_of_the_searches_finds() -> None:
    house = await house_of({"a": "red", "b": "words red"})
    await house.vectors.delete((Equals("chunk_id", "a"),))
    await house.lexical.delete((Equals("chunk_id", "b"),))

    assert sorted(await ids_found(house, "hybrid_search", "red")) == ["a", "b"]


async def test_hybrid_search_fuses_the_ranks_that_are_left_after_the_re_check() -> None:
    house = await house_of({"a": "red red", "b": "red", "c": "red green"}, inactive=["a"])

    result = await house.retriever.hybrid_search("red")

    assert result.results[0].chunk_id == "b"
    assert result.results[0].score == pytest.approx(1 / 11 + 3 / 11)


async def test_hybrid_search_runs_both_searches_at_the_same_time() -> None:
    house = await house_of({"a": "red"})
    both = asyncio.Barrier(2)

    class Meeting:
        async def search(self, what: object, where: Filter, limit: int) -> list[Candidate]:
            async with asyncio.timeout(5):
                await both.wait()
            return [Candidate("a", "doc", "rev", 1.0)]

    retriever = Retriever(house.active, vectors=Meeting(), embedder=WordEmbedder(), lexical=Meeting())

    result = await retriever.hybrid_search("red")

    assert [found.chunk_id for found in result.results] == ["a"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_same_query_gives_the_same_result(mode: str) -> None:
    house = await house_of({f"c{number}": WORDS[number % 3] for number in range(30)})

    first = await getattr(house.retriever, mode)("red blue", top_k=20)
    second = await getattr(house.retriever, mode)("red blue", top_k=20)

    assert first == second


@pytest.mark.parametrize("broken", ["embedder", "vectors", "lexical", "active"])
async def test_an_unreachable_dependency_raises_and_never_gives_an_empty_result(broken: str) -> None:
    house = await house_of({"a": "red"})
    parts: dict[str, object] = {
        "active": house.active,
        "vectors": house.vectors,
        "embedder": WordEmbedder(),
        "lexical": house.lexical,
        broken: Unreachable(),
    }
    retriever = Retriever(parts.pop("active"), **parts)

    with pytest.raises(UnavailableError):
        await retriever.hybrid_search("red")


async def test_a_query_that_the_model_refuses_raises_with_its_reason() -> None:
    class Refusing:
        async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
            return EmbeddingBatch(np.zeros((1, 3), np.float32), (EmbeddingFailure(0, "INPUT_TOO_LONG", "Too long."),))

    house = await house_of({"a": "red"})
    retriever = Retriever(house.active, vectors=house.vectors, embedder=Refusing())

    with pytest.raises(RefusedError, match="INPUT_TOO_LONG"):
        await retriever.vector_search("red")


@pytest.mark.parametrize(
    ("mode", "step"),
    [
        ("vector_search", "index_vectors"),
        ("full_text_search", "index_full_text"),
        ("hybrid_search", "index_full_text"),
    ],
)
async def test_a_mode_without_its_index_names_the_step_that_is_missing(mode: str, step: str) -> None:
    retriever = Retriever(ActiveSet([]))

    with pytest.raises(UnsupportedModeError, match=step):
        await getattr(retriever, mode)("red")


async def test_every_result_keeps_what_each_search_gave_it() -> None:
    house = await house_of({"a": "red", "b": "blue words"})

    fused = (await house.retriever.hybrid_search("red")).results
    by_text = (await house.retriever.full_text_search("red")).results

    scores = {found.chunk_id: found.scores for found in fused}
    assert scores["a"] is not None
    assert scores["a"].vector == pytest.approx(1.0)
    assert scores["a"].full_text is not None
    assert scores["b"] is not None
    assert scores["b"].full_text is None
    assert by_text[0].scores is not None
    assert (by_text[0].scores.vector, by_text[0].scores.full_text) == (None, by_text[0].score)
