"""What is asked of a store of knowledge graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lorebase.extraction.graph_model import Evidence, GraphEntity, GraphRelation
from lorebase.runs.derived import DerivedTables


class GraphReader(Protocol):
    """Reads one graph: that of a base and a content, as a snapshot names it. Unknown ids are passed over."""

    async def named(self, base_name: str, content_key: str, forms: Sequence[str]) -> dict[str, list[GraphEntity]]:
        """Entities by the normal forms of their names and aliases; homonyms by falling number of chunks, then id."""
        ...

    async def entities(self, base_name: str, content_key: str, entity_ids: Sequence[str]) -> dict[str, GraphEntity]:
        """Entities by id."""
        ...

    async def largest(self, base_name: str, content_key: str, limit: int) -> list[GraphEntity]:
        """The entities that most chunks name, then by id."""
        ...

    async def relations(
        self, base_name: str, content_key: str, entity_ids: Sequence[str], limit_each: int
    ) -> list[GraphRelation]:
        """Relations from or to the entities, each once; of each entity the `limit_each` heaviest, then by id."""
        ...

    async def evidence(
        self, base_name: str, content_key: str, fact_ids: Sequence[str], limit_each: int
    ) -> dict[str, list[Evidence]]:
        """Evidence by entity or relation: of each the `limit_each` surest, then by chunk id."""
        ...

    async def entities_of_chunks(
        self, base_name: str, content_key: str, chunk_ids: Sequence[str]
    ) -> dict[str, list[str]]:
        """Ids of the entities that each chunk names, sorted, by chunk id."""
        ...


class GraphStore(DerivedTables, GraphReader, Protocol):
    """Keeps graphs and reads them."""
