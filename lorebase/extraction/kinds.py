"""The kinds of artifact that extraction leaves: one row a chunk, with the mentions that were read in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.mentions import ChunkEntities, ChunkRelations, EntityMention, RelationMention

_ROW = [("key", pa.string()), ("chunk_id", pa.string()), ("document_id", pa.string()), ("mode", pa.string())]
_MENTION = [
    ("type", pa.string()),
    ("description", pa.string()),
    ("start", pa.int32()),
    ("end", pa.int32()),
    ("confidence", pa.float64()),
    ("method", pa.string()),
]
_ENTITY = pa.struct([("name", pa.string()), *_MENTION, ("aliases", pa.list_(pa.string()))])
_RELATION = pa.struct([("source", pa.string()), ("target", pa.string()), *_MENTION])


def _entity_columns(rows: Sequence[ChunkEntities]) -> list[Any]:
    return [
        *([getattr(row, name) for row in rows] for name, _ in _ROW),
        [
            [{name: getattr(entity, name) for name in EntityMention.__slots__} for entity in row.entities]
            for row in rows
        ],
        [row.dropped for row in rows],
    ]


def _entity_rows(table: pa.Table) -> list[ChunkEntities]:
    return [
        ChunkEntities(
            entities=tuple(
                EntityMention(aliases=tuple(entity.pop("aliases")), **entity) for entity in row.pop("entities")
            ),
            **row,
        )
        for row in table.to_pylist()
    ]


ENTITY_MENTIONS: ArtifactKind[ChunkEntities] = ArtifactKind(
    name="entity_mentions",
    schema=pa.schema([*_ROW, ("entities", pa.list_(_ENTITY)), ("dropped", pa.int32())]),
    to_columns=_entity_columns,
    to_rows=_entity_rows,
    document_id=lambda row: row.document_id,
    item_key=lambda row: row.key,
)


def _relation_columns(rows: Sequence[ChunkRelations]) -> list[Any]:
    return [
        *([getattr(row, name) for row in rows] for name, _ in _ROW),
        [
            [{name: getattr(relation, name) for name in RelationMention.__slots__} for relation in row.relations]
            for row in rows
        ],
        [row.dropped for row in rows],
    ]


def _relation_rows(table: pa.Table) -> list[ChunkRelations]:
    return [
        ChunkRelations(relations=tuple(RelationMention(**relation) for relation in row.pop("relations")), **row)
        for row in table.to_pylist()
    ]


RELATION_MENTIONS: ArtifactKind[ChunkRelations] = ArtifactKind(
    name="relation_mentions",
    schema=pa.schema([*_ROW, ("relations", pa.list_(_RELATION)), ("dropped", pa.int32())]),
    to_columns=_relation_columns,
    to_rows=_relation_rows,
    document_id=lambda row: row.document_id,
    item_key=lambda row: row.key,
)
