"""What graph search needs from others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lorebase.extraction.graph_model import Evidence, GraphEntity, GraphRelation
from lorebase.index.ports import EntityFields, Filter


class Graph(Protocol):
    """The graph of one snapshot. Unknown ids are passed over."""

    async def named(self, forms: Sequence[str]) -> dict[str, list[GraphEntity]]:
        """Entities by the normal forms of their names."""
        ...

    async def entities(self, entity_ids: Sequence[str]) -> dict[str, GraphEntity]:
        """Entities by id."""
        ...

    async def relations(self, entity_ids: Sequence[str], limit_each: int) -> list[GraphRelation]:
        """The heaviest relations of each entity."""
        ...

    async def evidence(self, fact_ids: Sequence[str], limit_each: int) -> dict[str, list[Evidence]]:
        """The surest evidence of each entity or relation."""
        ...

    async def entities_of_chunks(self, chunk_ids: Sequence[str]) -> dict[str, list[str]]:
        """Entities by the chunks that name them."""
        ...


class FieldsOfChunks(Protocol):
    """Says which chunks fulfil a filter; every `lorebase.index.ports` index does."""

    async def fields(self, where: Filter) -> list[EntityFields]:
        """The fields of every entity that matches."""
        ...
