"""The facts of a knowledge graph: each is what one chunk says, so that a fact goes with the last chunk that says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lorebase.artifacts.kinds import ArtifactKind


@dataclass(frozen=True, slots=True)
class GraphFact:
    """What one chunk says of an entity, or of two and how they are related.

    Attributes:
        document_id: The document.
        chunk_id: The chunk.
        entity_id: The entity; of a relation the one that it starts from.
        target_id: The entity that a relation leads to; empty where the fact is about one entity alone.
        name: The entity's name in this chunk; of a relation its keyword.
        type: The entity's type in this chunk; empty for a relation.
        description: What the chunk says.
        aliases: Other names of the entity in this chunk.
        confidence: From 0 to 1.
        community: Number of the entity's community, 0 is the largest; -1 for a relation.
    """

    document_id: str
    chunk_id: str
    entity_id: str
    target_id: str
    name: str
    type: str
    description: str
    aliases: tuple[str, ...]
    confidence: float
    community: int = -1

    @property
    def is_relation(self) -> bool:
        """Whether it is about two entities."""
        return bool(self.target_id)


_TEXTS = ("document_id", "chunk_id", "entity_id", "target_id", "name", "type", "description")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("aliases", pa.list_(pa.string())),
        ("confidence", pa.float64()),
        ("community", pa.int32()),
    ]
)


def _columns(rows: Sequence[GraphFact]) -> list[Any]:
    return [[getattr(row, name) for row in rows] for name in _SCHEMA.names]


def _rows(table: pa.Table) -> list[GraphFact]:
    return [GraphFact(aliases=tuple(row.pop("aliases")), **row) for row in table.to_pylist()]


KNOWLEDGE_GRAPH: ArtifactKind[GraphFact] = ArtifactKind(
    name="knowledge_graph",
    schema=_SCHEMA,
    to_columns=_columns,
    to_rows=_rows,
    document_id=lambda row: row.document_id,
)
