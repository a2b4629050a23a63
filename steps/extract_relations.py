"""The step that reads how the entities of every chunk are related."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from lorebase.artifacts.kinds import CHUNKS, ArtifactKind
from lorebase.extraction.extraction_step import ExtractionStep
from lorebase.extraction.items import ExtractionItem, relation_item
from lorebase.extraction.kinds import ENTITY_MENTIONS, RELATION_MENTIONS
from lorebase.extraction.model_relations import RelationModelReader
from lorebase.extraction.prompts.relation_prompt import RELATION_PROMPT
from lorebase.extraction.prompts.wording import PromptWording
from lorebase.extraction.readers import RelationRuleReader
from lorebase.models.chat import ChatModel
from lorebase.runs.step import Partition, StepExecutionContext


class ExtractRelations(ExtractionStep):
    """Read the relations that every chunk states between its entities. Unlocks nothing by itself; the graph needs it.

    A chunk whose entities failed is left to the build that finds them.
    """

    relation_types: tuple[str, ...] = Field(
        (), max_length=50, description="Types of relations that the model may answer; none leaves the choice to it."
    )
    max_relations_per_chunk: int = Field(48, ge=1, le=400, description="Most relations of one chunk.")

    type_name: ClassVar[str] = "extract_relations"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS, ENTITY_MENTIONS)
    produces: ClassVar[ArtifactKind[Any]] = RELATION_MENTIONS
    prompt: ClassVar[PromptWording] = RELATION_PROMPT
    mention_name: ClassVar[str] = "relations"

    @field_validator("relation_types")
    @classmethod
    def _plain_types(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        types = tuple(dict.fromkeys(" ".join(kind.split()).lower() for kind in value))
        if "" in types:
            raise ValueError("a relation type is blank")
        return types

    def _items(self, partition: Partition) -> list[ExtractionItem]:
        entities = {row.chunk_id: row.entities for row in partition.rows(ENTITY_MENTIONS)}
        chunks = partition.rows(CHUNKS)
        return [relation_item(chunk, entities[chunk.chunk_id]) for chunk in chunks if chunk.chunk_id in entities]

    def _model_reader(self, model: ChatModel, context: StepExecutionContext) -> RelationModelReader:
        return RelationModelReader(
            model,
            relation_types=self.relation_types,
            most=self.max_relations_per_chunk,
            language=self.language,
            session_id=f"knowledge:{context.base_name}",
        )

    def _rule_reader(self) -> RelationRuleReader:
        return RelationRuleReader(self.max_relations_per_chunk)
