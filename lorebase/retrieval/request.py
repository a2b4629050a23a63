"""What a query may ask."""

from __future__ import annotations

from dataclasses import dataclass

from lorebase.errors import UsageError
from lorebase.index.ports import Equals, Filter

MAX_QUERY_CHARS = 2_000
MAX_TOP_K = 100
DEFAULT_TOP_K = 10

RECALL_FACTOR = 4
MIN_RECALL = 20
MAX_RECALL = 200

SEARCHABLE = Equals("searchable", value=True)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query that was checked.

    Attributes:
        query: 1 to 2,000 characters, without white space around them.
        top_k: Most results, 1 to 100.
        where: What a candidate must fulfil; always includes that it is searchable.
    """

    query: str
    top_k: int
    where: Filter

    @property
    def recall(self) -> int:
        """How many candidates to look at before the re-check."""
        return min(max(self.top_k * RECALL_FACTOR, MIN_RECALL), MAX_RECALL)


def checked_request(query: str, top_k: int, where: Filter) -> SearchRequest:
    """The request, or why it is none. Nothing is clamped: the caller learns what it asked for.

    Raises:
        UsageError: Query blank or too long, `top_k` outside its range.
    """
    trimmed = query.strip()
    if not trimmed:
        raise UsageError("The query is empty.", remedy="Ask something.")
    if len(trimmed) > MAX_QUERY_CHARS:
        raise UsageError(
            f"The query has {len(trimmed)} characters; at most {MAX_QUERY_CHARS} are searched for.",
            remedy="Shorten it.",
            chars=len(trimmed),
        )
    if not 1 <= top_k <= MAX_TOP_K:
        raise UsageError(f"top_k is {top_k}; it must be from 1 to {MAX_TOP_K}.", top_k=top_k)
    return SearchRequest(query=trimmed, top_k=top_k, where=(SEARCHABLE, *where))
