"""What people and programs see of a knowledge base: its record with counts beside every type."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from lorebase.recipes.model import ParserRuleSpec
from lorebase.registry.card_types import CardType, card_types_customised
from lorebase.registry.record import (
    BaseModels,
    BaseStatistics,
    IndexSettings,
    KnowledgeBaseRecord,
    RecipeReference,
    RecordHead,
)
from lorebase.registry.source_types import SourceType


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BaseSummary(_Frozen):
    """A knowledge base in a list."""

    id: str
    name: str
    description: str = ""
    root_dir: str = ""
    is_default: bool = False
    source_count: int = 0
    card_count: int = 0
    note_count: int = 0
    build_version: int = 0
    created_at: datetime | None = Field(None, description="Empty text in JSON where there is no base.")
    updated_at: datetime | None = Field(None, description="As `created_at`.")

    @field_serializer("created_at", "updated_at")
    def _empty_for_none(self, value: datetime | None) -> str:
        return value.isoformat().replace("+00:00", "Z") if value else ""


class KnowledgeBaseView(BaseSummary):
    """A knowledge base with everything that is configured."""

    recipe: RecipeReference | None = None
    parsers: tuple[ParserRuleSpec, ...] = ()
    index: IndexSettings = IndexSettings()
    models: BaseModels = BaseModels()
    source_types: tuple[SourceType, ...] = ()
    card_types: tuple[CardType, ...] = ()
    card_types_customised: bool = Field(default=False, description="Whether card types differ from the built-in ones.")


def empty_base(base_id: str) -> KnowledgeBaseView:
    """What stands in for a base that there is not."""
    return KnowledgeBaseView(id=base_id, name=base_id)


def summary_of(record: KnowledgeBaseRecord | RecordHead) -> BaseSummary:
    """The record as a line of a list."""
    statistics = record.statistics
    return BaseSummary(
        id=record.id,
        name=record.name,
        description=record.description,
        root_dir=record.root_dir,
        is_default=record.is_default,
        source_count=statistics.source_count,
        card_count=statistics.card_count,
        note_count=statistics.note_count,
        build_version=statistics.build_version,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def view_of(record: KnowledgeBaseRecord) -> KnowledgeBaseView:
    """The record with the counts of its statistics beside every type, 0 where there are none."""
    return KnowledgeBaseView(
        **dict(summary_of(record)),
        recipe=record.recipe,
        parsers=record.parsers,
        index=record.index,
        models=record.models,
        source_types=counted_source_types(record.source_types, record.statistics),
        card_types=counted_card_types(record.card_types, record.statistics),
        card_types_customised=card_types_customised(record.card_types),
    )


def counted_source_types(types: tuple[SourceType, ...], statistics: BaseStatistics) -> tuple[SourceType, ...]:
    """The types, each with the number of its documents."""
    counts = statistics.sources_by_type
    return tuple(known.model_copy(update={"source_count": counts.get(known.id, 0)}) for known in types)


def counted_card_types(types: tuple[CardType, ...], statistics: BaseStatistics) -> tuple[CardType, ...]:
    """The types, each with the number of its cards."""
    counts = statistics.cards_by_type
    return tuple(known.model_copy(update={"card_count": counts.get(known.id, 0)}) for known in types)
