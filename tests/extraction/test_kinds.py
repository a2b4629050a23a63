"""Rows of mentions survive being stored."""

from __future__ import annotations

from lorebase.extraction.kinds import ENTITY_MENTIONS, RELATION_MENTIONS
from lorebase.extraction.mentions import ChunkEntities, ChunkRelations, EntityMention, RelationMention


def test_rows_of_entities_are_read_as_they_were_written_those_without_entities_too() -> None:
    rows = [
        ChunkEntities(
            "0" * 32,
            "c1",
            "d1",
            "model",
            (
                EntityMention("灯塔", "place", "每晚亮灯", 0, 2, 0.6, "name", ("Lighthouse",)),
                EntityMention("Harbour", "topic", method="heading"),
            ),
            dropped=3,
        ),
        ChunkEntities("1" * 32, "c2", "d1", "rules"),
    ]

    decoded = ENTITY_MENTIONS.decode(ENTITY_MENTIONS.encode(rows))

    assert decoded == rows


def test_rows_of_relations_are_read_as_they_were_written_those_without_relations_too() -> None:
    rows = [
        ChunkRelations(
            "0" * 32, "c1", "d1", "model", (RelationMention("A", "B", "works for", "A works for B.", 0, 14),)
        ),
        ChunkRelations("1" * 32, "c2", "d1", "rules", dropped=1),
    ]

    decoded = RELATION_MENTIONS.decode(RELATION_MENTIONS.encode(rows))

    assert decoded == rows


def test_erasure_tells_both_kinds_apart_by_their_columns() -> None:
    assert set(ENTITY_MENTIONS.schema.names) != set(RELATION_MENTIONS.schema.names)
