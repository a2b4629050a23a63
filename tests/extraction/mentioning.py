"""Chunks with mentions, written short."""

from __future__ import annotations

from lorebase.extraction.mentions import ChunkEntities, ChunkRelations, EntityMention, RelationMention
from lorebase.extraction.resolution import Resolution


def entities_in(document: str, chunk: str, *mentions: EntityMention | tuple[str, str]) -> ChunkEntities:
    """A chunk that names entities, each a mention or a name with its type."""
    return ChunkEntities(
        key="",
        chunk_id=chunk,
        document_id=document,
        mode="rules",
        entities=tuple(one if isinstance(one, EntityMention) else EntityMention(*one) for one in mentions),
    )


def relations_in(document: str, chunk: str, *relations: tuple[str, str, str]) -> ChunkRelations:
    """A chunk that states relations, each as source, keyword, target."""
    return ChunkRelations(
        key="",
        chunk_id=chunk,
        document_id=document,
        mode="rules",
        relations=tuple(RelationMention(source, target, keyword) for source, keyword, target in relations),
    )


def groups_of(resolution: Resolution) -> set[frozenset[tuple[str, str]]]:
    """Which mentions name one entity, as document and name."""
    groups: dict[str, set[tuple[str, str]]] = {}
    for mention in resolution.mentions:
        groups.setdefault(mention.entity_id, set()).add((mention.document_id, mention.name))
    return {frozenset(group) for group in groups.values()}
