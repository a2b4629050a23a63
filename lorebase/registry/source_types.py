"""Source types: what kind of document a base takes in, and by which signs it is recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from lorebase.registry.declared_fields import DeclaredField, read_fields
from lorebase.registry.reading import JsonObject, line_of, text_of, texts_of
from lorebase.registry.type_lists import TypeList, normalise_types

SOURCE_TYPE_ID_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,47}")
"""Matched in full. Aliases are applied before, so hyphens occur only in old files."""

MAX_SOURCE_TYPES = 32
FALLBACK_SOURCE_TYPE_ID = "document"

LEGACY_SOURCE_TYPE_IDS: Mapping[str, str] = {
    "doc": "document",
    "general": "document",
    "metric-definition": "metric_definition",
    "table-schema": "table_schema",
    "incident-report": "incident_report",
    "meeting-note": "meeting_note",
}
"""What ids were called before. A target is never a key."""


class SourceType(BaseModel):
    """A kind of document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Lower-case letters, digits and underscores, 1 to 48, beginning with a letter.")
    label: str = Field(description="What people read.")
    description: str = Field("", description="What documents of this type are.")
    signals: tuple[str, ...] = Field((), description="Words that speak for this type, in any language.")
    excludes: tuple[str, ...] = Field((), description="Words that speak against it.")
    enabled: bool = Field(default=True, description="Whether documents may be given this type.")
    builtin: bool = Field(default=False, description="Whether every base has it.")
    fallback: bool = Field(default=False, description="Whether it takes what no other type takes.")
    metadata_fields: tuple[DeclaredField, ...] = Field((), description="Values that its documents should have.")
    source_count: int = Field(0, ge=0, description="Documents of this type; computed, not stored with the type.")


def builtin_source_types() -> tuple[SourceType, ...]:
    """The source types that every base has, in order; the fallback first, though it is matched last."""
    from lorebase.registry.source_type_table import BUILTIN_SOURCE_TYPES  # noqa: PLC0415 (the table knows the model)

    return BUILTIN_SOURCE_TYPES


def normalise_source_types(stored: object) -> TypeList[SourceType]:
    """The source types of a base as any JSON holds them.

    Nothing raises and nothing changes when it is applied again. Built-in types come first, in their order, all of them;
    custom types follow in stored order. Without a list, or with an empty one, the built-in types are the result.

    Args:
        stored: What the registry holds, from any version.
    """
    return normalise_types(
        stored,
        aliases=LEGACY_SOURCE_TYPE_IDS,
        pattern=SOURCE_TYPE_ID_PATTERN,
        builtins={known.id: known for known in builtin_source_types()},
        read=read_source_type,
    )


def read_source_type(data: JsonObject, type_id: str, known: SourceType | None) -> SourceType:
    """One source type as JSON holds it.

    Args:
        data: The entry.
        type_id: Its id, aliases being applied.
        known: The built-in type of that id; what the entry lacks is taken from it.

    Returns:
        The type. Whether it is built in or the fallback is what `known` says, never what the entry says.
    """
    base = known or SourceType(id=type_id, label=type_id)
    fields = data.get("metadata_fields", data.get("metadataFields"))
    return SourceType(
        id=type_id,
        label=line_of(data.get("label")) or base.label,
        description=text_of(data.get("description")) or base.description,
        signals=texts_of(data.get("signals")) or base.signals,
        excludes=texts_of(data.get("excludes")) or base.excludes,
        enabled=base.fallback or data.get("enabled") is not False,
        builtin=base.builtin,
        fallback=base.fallback,
        metadata_fields=read_fields(fields) if fields is not None else base.metadata_fields,
    )


def stored_source_type(source_type: SourceType) -> JsonObject:
    """A source type as the registry holds it: of a built-in type only what differs from its default."""
    base = next((known for known in builtin_source_types() if known.id == source_type.id), None)
    data = source_type.model_dump(mode="json", exclude={"builtin", "fallback", "source_count"})
    default = base.model_dump(mode="json") if base else {"enabled": True, "metadata_fields": []}
    return {name: value for name, value in data.items() if name == "id" or value != default.get(name)}
