"""What a caller may ask of governed knowledge. Who asks is no part of it: that comes from the trusted context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lorebase.errors import InvalidInputError
from lorebase.governance.tags import MAX_TAGS, checked_tag
from lorebase.ids import is_slug
from lorebase.index.ports import Filter, HasAllTags, HasAnyTag
from lorebase.retrieval.request import MAX_QUERY_CHARS

DEFAULT_TOP_K = 5
MAX_TOP_K = 20

GovernedMode = Literal["vector_search", "full_text_search", "hybrid_search"]


class RetrievalRequest(BaseModel):
    """A question with its filters. Values out of range are errors when it is used; nothing is clamped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_id: str = Field(description="The knowledge base.")
    query: str = Field(description="1 to 2,000 characters.")
    top_k: int = Field(DEFAULT_TOP_K, description="Most pieces of evidence, 1 to 20.")
    all_tags: tuple[str, ...] = Field((), description="Evidence has all of these tags; at most 20.")
    any_tags: tuple[str, ...] = Field((), description="Evidence has at least one of these tags; at most 20.")
    mode: GovernedMode | None = Field(None, description="How to search; by default as the base can do best.")

    @property
    def where(self) -> Filter:
        """The filter on tags; both conditions hold, and an empty list is none."""
        every = (HasAllTags(self.all_tags),) if self.all_tags else ()
        return (*every, HasAnyTag(self.any_tags)) if self.any_tags else every


def checked_retrieval(request: RetrievalRequest) -> RetrievalRequest:
    """The request, trimmed.

    Raises:
        InvalidInputError: A value is out of range; `facts["field"]` names it.
    """
    query = request.query.strip()
    if not 1 <= len(query) <= MAX_QUERY_CHARS:
        raise _invalid("query", f"The query has {len(query)} characters.", f"Use 1 to {MAX_QUERY_CHARS}.")
    if not 1 <= request.top_k <= MAX_TOP_K:
        raise _invalid("top_k", f"top_k is {request.top_k}.", f"Use 1 to {MAX_TOP_K}.")
    if not is_slug(request.base_id):
        raise _invalid("base_id", f"{request.base_id[:80]!r} is no name of a base.", "Use a-z, 0-9 and hyphens.")
    return request.model_copy(
        update={
            "query": query,
            "all_tags": _tags("all_tags", request.all_tags),
            "any_tags": _tags("any_tags", request.any_tags),
        }
    )


def _tags(field: str, tags: Sequence[str]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS:
        raise _invalid(field, f"There are {len(tags)} tags in {field}.", f"Use at most {MAX_TAGS}.")
    return tuple(dict.fromkeys(checked_tag(tag) for tag in tags))


def _invalid(field: str, message: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(message, remedy=remedy, field=field)
