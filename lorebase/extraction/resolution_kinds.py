"""What resolution leaves: every mention with the entity that it names, and how its name came to that entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lorebase.artifacts.kinds import ArtifactKind


@dataclass(frozen=True, slots=True)
class ResolvedMention:
    """A name in a chunk with the entity that it stands for.

    Everything that is known of an entity is in the rows of its mentions: what no row says any more is gone.

    Attributes:
        document_id: The document.
        chunk_id: The chunk.
        entity_id: The entity.
        name_key: Key of the name in its sense: homonyms have other keys.
        name: As written.
        type: As extracted.
        description: What the chunk says about it.
        aliases: Other names that the chunk gives it.
        confidence: From 0 to 1.
        merge_id: Which merge joined this name to the entity; empty for the name that the others were joined to.
        merged_with: Key of the name that it was joined to.
        merge_reason: Why.
        merge_score: How sure, from 0 to 1; of a translation or an abbreviation the cosine of the two names.
    """

    document_id: str
    chunk_id: str
    entity_id: str
    name_key: str
    name: str
    type: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    confidence: float = 1.0
    merge_id: str = ""
    merged_with: str = ""
    merge_reason: str = ""
    merge_score: float = 0.0


_TEXTS = ("document_id", "chunk_id", "entity_id", "name_key", "name", "type", "description")
_MERGE = ("merge_id", "merged_with", "merge_reason")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("aliases", pa.list_(pa.string())),
        ("confidence", pa.float64()),
        *((name, pa.string()) for name in _MERGE),
        ("merge_score", pa.float64()),
    ]
)


def _columns(rows: Sequence[ResolvedMention]) -> list[Any]:
    return [[getattr(row, name) for row in rows] for name in _SCHEMA.names]


def _rows(table: pa.Table) -> list[ResolvedMention]:
    return [ResolvedMention(aliases=tuple(row.pop("aliases")), **row) for row in table.to_pylist()]


RESOLVED_ENTITIES: ArtifactKind[ResolvedMention] = ArtifactKind(
    name="resolved_entities",
    schema=_SCHEMA,
    to_columns=_columns,
    to_rows=_rows,
    document_id=lambda row: row.document_id,
)
