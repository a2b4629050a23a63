"""The items of work of extraction: a chunk, with what must be known before it is read, under a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lorebase.documents.model import Chunk
from lorebase.extraction.mentions import EntityMention
from lorebase.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class ExtractionItem:
    """A chunk to read.

    Attributes:
        key: Digest of all that a reader is shown, so that equal chunks of two documents are one item.
        chunk: The chunk.
        entities: For relations: its entities.
    """

    key: str
    chunk: Chunk
    entities: tuple[EntityMention, ...] = ()

    @property
    def document_name(self) -> str:
        """What people call the chunk."""
        return f"{self.chunk.document_name} #{self.chunk.position}"


def entity_item(chunk: Chunk) -> ExtractionItem:
    """A chunk whose entities are to be read."""
    return ExtractionItem(_key("entities", chunk, ()), chunk)


def relation_item(chunk: Chunk, entities: Sequence[EntityMention]) -> ExtractionItem:
    """A chunk whose relations are to be read."""
    return ExtractionItem(_key("relations", chunk, entities), chunk, tuple(entities))


def _key(task: str, chunk: Chunk, entities: Sequence[EntityMention]) -> str:
    # The places of mentions count from the beginning of the text, which the indexed text alone does not give away.
    named = [[entity.name, *entity.aliases] for entity in entities]
    return fingerprint(task, chunk.indexed_text, len(chunk.text), named)
