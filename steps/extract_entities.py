"""The step that reads the entities of every chunk."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from lorebase.artifacts.kinds import CHUNKS, ArtifactKind
from lorebase.extraction.extraction_step import ExtractionStep
from lorebase.extraction.gazetteer import GazetteerEntry, check_gazetteer
from lorebase.extraction.items import ExtractionItem, entity_item
from lorebase.extraction.kinds import ENTITY_MENTIONS
from lorebase.extraction.model_entities import EntityModelReader
from lorebase.extraction.prompts.entity_prompt import ENTITY_PROMPT
from lorebase.extraction.prompts.wording import PromptWording
from lorebase.extraction.readers import EntityRuleReader
from lorebase.extraction.rules.entities import EntityRules
from lorebase.models.chat import ChatModel
from lorebase.runs.step import Partition, StepExecutionContext


class ExtractEntities(ExtractionStep):
    """Read the entities that every chunk names. Unlocks nothing by itself; `extract_relations` and the graph need it.

    A text that was read before, in whatever document, is taken from the ledger.
    """

    entity_types: tuple[str, ...] = Field(
        (), max_length=50, description="Types of entities to keep, such as person or place; none keeps every type."
    )
    gazetteer: tuple[GazetteerEntry, ...] = Field((), description="Names known beforehand, with their types.")
    max_entities_per_chunk: int = Field(32, ge=1, le=200, description="Most entities of one chunk.")

    type_name: ClassVar[str] = "extract_entities"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS,)
    produces: ClassVar[ArtifactKind[Any]] = ENTITY_MENTIONS
    prompt: ClassVar[PromptWording] = ENTITY_PROMPT
    mention_name: ClassVar[str] = "entities"

    @field_validator("entity_types")
    @classmethod
    def _plain_types(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        types = tuple(dict.fromkeys(" ".join(kind.split()).lower() for kind in value))
        if "" in types:
            raise ValueError("an entity type is blank")
        return types

    @field_validator("gazetteer")
    @classmethod
    def _small_enough(cls, value: tuple[GazetteerEntry, ...]) -> tuple[GazetteerEntry, ...]:
        check_gazetteer(value)
        return value

    def _items(self, partition: Partition) -> list[ExtractionItem]:
        return [entity_item(chunk) for chunk in partition.rows(CHUNKS)]

    def _model_reader(self, model: ChatModel, context: StepExecutionContext) -> EntityModelReader:
        return EntityModelReader(
            model,
            entity_types=self.entity_types,
            gazetteer=self.gazetteer,
            most=self.max_entities_per_chunk,
            language=self.language,
            session_id=f"knowledge:{context.base_name}",
        )

    def _rule_reader(self) -> EntityRuleReader:
        return EntityRuleReader(EntityRules(self.gazetteer, self.entity_types, self.max_entities_per_chunk))
