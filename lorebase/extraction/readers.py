"""How one item is read: the port that a run of a step calls, and the reading by rule."""

from __future__ import annotations

from typing import Protocol

from lorebase.extraction.items import ExtractionItem
from lorebase.extraction.mentions import ChunkEntities, ChunkRelations
from lorebase.extraction.rules.entities import EntityRules
from lorebase.extraction.rules.relations import read_relations
from lorebase.models.ports import ModelUsage

MentionRow = ChunkEntities | ChunkRelations
ENTITIES_OF_A_RELATION = 2


class RuleReader(Protocol):
    """Reads an item by rule. Blocking; never raises for any text."""

    def read(self, item: ExtractionItem) -> MentionRow:
        """The row of the item."""
        ...


class ModelReader(Protocol):
    """Reads an item by asking a model."""

    @property
    def concurrency(self) -> int:
        """How many items the model takes on at once."""
        ...

    def without_asking(self, item: ExtractionItem) -> MentionRow | None:
        """The row of an item that has none but one answer, such as relations where there is one entity."""
        ...

    async def read(self, item: ExtractionItem) -> tuple[MentionRow, ModelUsage]:
        """The row of the item, and what it took.

        Raises:
            DependencyError: There is no answer; `concerns_one_request` says whether others may have one.
        """
        ...

    def expected(self, item: ExtractionItem) -> ModelUsage:
        """What it will take."""
        ...

    def stand_in(self, item: ExtractionItem) -> MentionRow:
        """A row for plans, for which later steps have as much to do as for a real one."""
        ...


class EntityRuleReader:
    """Entities by rule."""

    def __init__(self, rules: EntityRules) -> None:
        self._rules = rules

    def read(self, item: ExtractionItem) -> ChunkEntities:
        """The entities of the item's chunk."""
        read = self._rules.read(item.chunk)
        chunk = item.chunk
        return ChunkEntities(item.key, chunk.chunk_id, chunk.document_id, "rules", read.entities, read.dropped)


class RelationRuleReader:
    """Relations by rule.

    Args:
        most: Most relations of a chunk.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    def read(self, item: ExtractionItem) -> ChunkRelations:
        """The relations of the item's chunk."""
        chunk = item.chunk
        relations, dropped = read_relations(chunk.text, item.entities, most=self._most)
        return ChunkRelations(item.key, chunk.chunk_id, chunk.document_id, "rules", relations, dropped)
