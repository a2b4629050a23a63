"""Searches of one query, and their results joined: each chunk once, with all searches that found it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lorebase.retrieval.model import QueryResult, SearchResult
from lorebase.retrieval.provenance import FoundBy, SearchDone

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Searched:
    """One search with what it found.

    Attributes:
        query: What was searched for.
        found: Its results, confirmed by the authority.
        variant: As in `FoundBy`.
        hop: As in `FoundBy`.
    """

    query: str
    found: QueryResult
    variant: int | None = None
    hop: int | None = None

    @property
    def ranking(self) -> list[str]:
        """Ids of the chunks, best first."""
        return [result.chunk_id for result in self.found.results]

    @property
    def done(self) -> SearchDone:
        """What is told of it."""
        return SearchDone(query=self.query, variant=self.variant, hop=self.hop, found=len(self.found.results))

    def found_by(self, rank: int) -> FoundBy:
        """The provenance of its result at that rank."""
        return FoundBy(mode=self.found.mode, query=self.query, rank=rank, variant=self.variant, hop=self.hop)


def joined(searches: Iterable[Searched]) -> dict[str, SearchResult]:
    """Every chunk that was found, as the first search that found it gave it, with the provenance of all."""
    results: dict[str, SearchResult] = {}
    provenance: dict[str, list[FoundBy]] = {}
    for search in searches:
        for result in search.found.results:
            results.setdefault(result.chunk_id, result)
            provenance.setdefault(result.chunk_id, []).append(search.found_by(result.rank))
    return {key: result.model_copy(update={"provenance": tuple(provenance[key])}) for key, result in results.items()}


def ranked(scored: Iterable[tuple[SearchResult, float]], limit: int) -> tuple[SearchResult, ...]:
    """The first `limit` of what is in order already, with their ranks and scores."""
    best = list(scored)[:limit]
    return tuple(
        result.model_copy(update={"rank": rank, "score": score}) for rank, (result, score) in enumerate(best, start=1)
    )


async def all_of(calls: Sequence[Awaitable[T]]) -> list[T]:
    """The answers of calls side by side; where one fails the others are waited for, and the first error is raised."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    good: list[T] = []
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        good.append(answer)
    return good
