"""Candidates of an index, re-checked against the authority: what every search of an index has in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from lorebase.index.ports import Candidate, Filter, NoneOf
from lorebase.retrieval.request import SearchRequest

MAX_TOP_UPS = 2
"""How often more candidates are fetched when the re-check left too few."""

FoundT = TypeVar("FoundT")
Search = Callable[[Filter], Awaitable[list[Candidate]]]
Resolve = Callable[[Sequence[Candidate]], Awaitable[Mapping[str, FoundT]]]
"""The authority: what candidates stand for, by their id; those that are not live are left out."""


async def recalled(request: SearchRequest, search: Search, resolve: Resolve[FoundT]) -> dict[str, tuple[FoundT, float]]:
    """Candidates that the authority confirms, with their scores, best first.

    The index may lag behind the authority. Where that leaves fewer than `top_k`, the search is repeated without
    the ids that were seen, at most `MAX_TOP_UPS` times. The authority is asked for all of them each time, so that
    what is returned is of one moment: it may have been switched between two rounds.

    Raises:
        DependencyError: Index or authority did not answer.
    """
    seen: dict[str, Candidate] = {}
    live: Mapping[str, FoundT] = {}
    for _round in range(1 + MAX_TOP_UPS):
        found = await search((*request.where, NoneOf("chunk_id", tuple(seen))) if seen else request.where)
        new = {candidate.chunk_id: candidate for candidate in found if candidate.chunk_id not in seen}
        if not new:
            break
        seen |= new
        live = await resolve(tuple(seen.values()))
        # Where the authority drops candidates the index is being switched: it may hold others by now.
        is_exhausted = len(found) < request.recall and len(live) == len(seen)
        if len(live) >= request.top_k or is_exhausted:
            break
    best_first = sorted(seen.values(), key=lambda candidate: (-candidate.score, candidate.chunk_id))
    return {
        candidate.chunk_id: (live[candidate.chunk_id], candidate.score)
        for candidate in best_first
        if candidate.chunk_id in live
    }
