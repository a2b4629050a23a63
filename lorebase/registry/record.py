"""The record of one knowledge base, how it is read from any JSON, and how it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lorebase.documents.parsing import DEFAULT_ENGINE
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes.model import ParserRuleSpec
from lorebase.registry.card_types import CardType, builtin_card_types, normalise_card_types, stored_card_type
from lorebase.registry.reading import (
    JsonObject,
    count_of,
    first_given,
    line_of,
    members_of,
    object_of,
    text_of,
    texts_of,
)
from lorebase.registry.source_types import (
    SourceType,
    builtin_source_types,
    normalise_source_types,
    stored_source_type,
)

DEFAULT_BASE_ID: Final = "default"
MAX_TOP_K: Final = 100


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecipeReference(_Frozen):
    """Where the recipe of a base stands."""

    path: str = Field("", description="Recipe file; empty where the recipe stands here.")
    inline: str = Field("", description="The recipe itself as YAML; read only where there is no path.")


class IndexSettings(_Frozen):
    """What of a base is searched, and how much a search gives."""

    vector: bool = Field(default=True, description="Whether it is searched by meaning.")
    full_text: bool = Field(default=True, description="Whether it is searched by words.")
    top_k: int = Field(10, ge=1, le=MAX_TOP_K, description="Results of a search that names no number.")


class BaseModels(_Frozen):
    """The models that a base uses; None follows the workspace."""

    embedding: EmbeddingModelSpec | None = Field(None, description="Model that turns text into vectors.")
    chat: str | None = Field(None, description="Endpoint and model for extraction and answers, `endpoint/model`.")
    rerank: str | None = Field(None, description="Endpoint and model for reranking, `endpoint/model`.")


class BaseStatistics(_Frozen):
    """What was counted in a base; a cache that can be computed again."""

    source_count: int = Field(0, ge=0, description="Documents.")
    card_count: int = Field(0, ge=0, description="Cards.")
    note_count: int = Field(0, ge=0, description="Notes.")
    build_version: int = Field(0, ge=0, description="Number of the last build.")
    sources_by_type: Mapping[str, int] = Field(default_factory=dict, description="Documents by source type.")
    cards_by_type: Mapping[str, int] = Field(default_factory=dict, description="Cards by card type.")


class KnowledgeBaseRecord(_Frozen):
    """One knowledge base: its configuration, and a partition of cached figures."""

    id: str = Field(description="Lower-case letters, digits and hyphens, 1 to 48; a folder's name.")
    name: str = Field(description="What people read, in any language.")
    description: str = ""
    root_dir: str = Field("", description="Folder of its tree.")
    is_default: bool = False
    recipe: RecipeReference | None = None
    parsers: tuple[ParserRuleSpec, ...] = Field((), description="First match wins; without one the built-in engine.")
    index: IndexSettings = IndexSettings()
    models: BaseModels = BaseModels()
    source_types: tuple[SourceType, ...] = Field(default_factory=builtin_source_types)
    card_types: tuple[CardType, ...] = Field(default_factory=builtin_card_types)
    created_at: datetime
    updated_at: datetime
    statistics: BaseStatistics = BaseStatistics()


@dataclass(frozen=True, slots=True)
class RecordHead:
    """What a list shows of a base: read without its types, of which a registry holds many.

    Attributes:
        id: As in the record, like all others.
        name: What people read.
        description: Any text.
        root_dir: Folder of its tree.
        is_default: Whether it is the default base.
        created_at: When it was made.
        updated_at: When it was last changed.
        statistics: What was counted in it.
    """

    id: str
    name: str
    description: str
    root_dir: str
    is_default: bool
    created_at: datetime
    updated_at: datetime
    statistics: BaseStatistics


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record as it was read.

    Attributes:
        record: The record.
        warnings: What of the stored one was left out, each sentence beginning with its code.
    """

    record: KnowledgeBaseRecord
    warnings: tuple[str, ...]


def engine_for(parsers: Sequence[ParserRuleSpec], file_type: str) -> str:
    """The engine for a file type: that of the first rule that names it, otherwise `builtin`.

    Args:
        parsers: The rules of a base.
        file_type: Such as `pdf`, `.PDF` or ` Pdf `.
    """
    wanted = _plain_type(file_type)
    return next((rule.engine for rule in parsers if wanted in rule.file_types), DEFAULT_ENGINE)


def read_head(data: Mapping[str, object], base_id: str, now: datetime) -> RecordHead:
    """The head of the record that a stored object stands for; see `read_record`."""
    return RecordHead(
        id=base_id,
        name=line_of(data.get("name")) or base_id,
        description=text_of(data.get("description")),
        root_dir=text_of(first_given(data, "root_dir", "rootDir")),
        is_default=first_given(data, "is_default", "isDefault") is True or base_id == DEFAULT_BASE_ID,
        created_at=_read_time(first_given(data, "created_at", "createdAt"), now),
        updated_at=_read_time(first_given(data, "updated_at", "updatedAt"), now),
        statistics=_read_statistics(data.get("statistics")),
    )


def read_record(data: Mapping[str, object], base_id: str, now: datetime) -> ReadRecord:
    """The record that a stored object stands for; nothing raises.

    Names of former versions (`rootDir`, `wikiTypes` ...) are understood; what is no longer kept (`wikiSchemaMode`) is
    passed over.

    Args:
        data: The object.
        base_id: Its id, which is of the right form.
        now: What takes the place of a time that is missing or no time.
    """
    source_types = normalise_source_types(first_given(data, "source_types", "sourceTypes"))
    card_types = normalise_card_types(first_given(data, "card_types", "wiki_types", "wikiTypes"))
    head = read_head(data, base_id, now)
    record = KnowledgeBaseRecord(
        id=head.id,
        name=head.name,
        description=head.description,
        root_dir=head.root_dir,
        is_default=head.is_default,
        recipe=read_recipe(data.get("recipe")),
        parsers=read_parsers(first_given(data, "parsers", "parserRules")),
        index=read_index(data.get("index")),
        models=read_models(data.get("models")),
        source_types=source_types.types,
        card_types=card_types.types,
        created_at=head.created_at,
        updated_at=head.updated_at,
        statistics=head.statistics,
    )
    return ReadRecord(record, (*source_types.warnings, *card_types.warnings))


def stored_record(record: KnowledgeBaseRecord) -> JsonObject:
    """A record as the registry holds it. Types stand there only where they differ from the built-in ones."""
    left_out = {"source_types", "card_types", "statistics"}
    data: JsonObject = record.model_dump(mode="json", exclude=left_out, exclude_defaults=True)
    data["is_default"] = record.is_default
    if record.source_types != builtin_source_types():
        data["source_types"] = [stored_source_type(known) for known in record.source_types]
    if record.card_types != builtin_card_types():
        data["card_types"] = [stored_card_type(known) for known in record.card_types]
    if record.statistics != BaseStatistics():
        data["statistics"] = record.statistics.model_dump(mode="json", exclude_defaults=True)
    return data


def read_recipe(value: object) -> RecipeReference | None:
    """A reference to a recipe; a text alone is a path, None is none."""
    if isinstance(value, str):
        value = {"path": value}
    data = object_of(value)
    path, inline = text_of(data.get("path")), text_of(data.get("inline"))
    if not path and not inline:
        return None
    return RecipeReference(path=path, inline="" if path else inline)


def read_parsers(value: object) -> tuple[ParserRuleSpec, ...]:
    """Parser rules in order; a rule without file types or engine is left out."""
    rules: list[ParserRuleSpec] = []
    for member in members_of(value):
        data = member.model_dump() if isinstance(member, ParserRuleSpec) else object_of(member)
        named = texts_of(first_given(data, "file_types", "fileTypes"))
        file_types = tuple(dict.fromkeys(kind for name in named if (kind := _plain_type(name))))
        engine = line_of(data.get("engine"))
        if file_types and engine:
            rules.append(ParserRuleSpec(file_types=file_types, engine=engine))
    return tuple(rules)


def _plain_type(name: str) -> str:
    return name.strip().lower().lstrip(".").strip()


def read_index(value: object) -> IndexSettings:
    """Index settings; what does not fit takes its default."""
    data = object_of(value)
    top_k = count_of(data.get("top_k"))
    return IndexSettings(
        vector=data.get("vector") is not False,
        full_text=data.get("full_text") is not False,
        top_k=min(top_k, MAX_TOP_K) or IndexSettings().top_k,
    )


def read_models(value: object) -> BaseModels:
    """Models; what does not fit is None."""
    data = object_of(value)
    try:
        embedding = EmbeddingModelSpec.model_validate(data["embedding"]) if data.get("embedding") else None
    except ValidationError:
        embedding = None
    return BaseModels(
        embedding=embedding, chat=line_of(data.get("chat")) or None, rerank=line_of(data.get("rerank")) or None
    )


def _read_statistics(value: object) -> BaseStatistics:
    data = object_of(value)
    if not data:
        return BaseStatistics()
    return BaseStatistics(
        source_count=count_of(data.get("source_count")),
        card_count=count_of(data.get("card_count")),
        note_count=count_of(data.get("note_count")),
        build_version=count_of(data.get("build_version")),
        sources_by_type=_counts(data.get("sources_by_type")),
        cards_by_type=_counts(data.get("cards_by_type")),
    )


def _counts(value: object) -> dict[str, int]:
    return {text_of(name): count for name, given in object_of(value).items() if (count := count_of(given))}


def _read_time(value: object, now: datetime) -> datetime:
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else now
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return now
