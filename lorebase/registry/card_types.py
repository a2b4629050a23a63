"""Card types: which sections and fields a card (a wiki page) of a kind has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lorebase.registry.card_lines import read_card_fields, read_sections
from lorebase.registry.card_parts import CardSection
from lorebase.registry.declared_fields import DeclaredField
from lorebase.registry.reading import JsonObject, line_of, text_of, texts_of
from lorebase.registry.type_lists import TypeList, normalise_types

CARD_TYPE_ID_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,47}")
"""Matched in full. Aliases are applied before, so hyphens and slashes occur only in old files."""

CardLayer: TypeAlias = Literal["type", "instance"]

LEGACY_CARD_TYPE_IDS: Mapping[str, str] = {
    "check": "check_point",
    "check-point": "check_point",
    "diagnosis/check": "check_point",
    "diagnosis/check-point": "check_point",
    "diagnosis/check_point": "check_point",
    "failure-mode": "failure_reason",
    "failure_mode": "failure_reason",
    "failure-reason": "failure_reason",
    "diagnosis/failure-mode": "failure_reason",
    "diagnosis/failure_mode": "failure_reason",
    "diagnosis/failure-reason": "failure_reason",
    "diagnosis/failure_reason": "failure_reason",
}
"""What ids were called before. A target is never a key."""


class CardType(BaseModel):
    """A kind of card."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Lower-case letters, digits and underscores, 1 to 48, beginning with a letter.")
    label: str = Field(description="What people read.")
    description: str = Field("", description="What cards of this type are about.")
    layer: CardLayer = Field("type", description="Whether its cards describe kinds of things or single cases.")
    group: str = Field("", description="Heading under which it is shown.")
    sections: tuple[CardSection, ...] = Field((), description="Headings of a card, in order.")
    fields: tuple[DeclaredField, ...] = Field((), description="Single values of a card.")
    examples: tuple[str, ...] = Field((), description="Titles of cards of this type.")
    template: str = Field("", description="Empty card as Markdown, derived from sections and fields.")
    enabled: bool = Field(default=True, description="Whether cards of this type are proposed.")
    builtin: bool = Field(default=False, description="Whether every base has it.")
    card_count: int = Field(0, ge=0, description="Cards of this type; computed, not stored with the type.")


def derived_template(type_id: str, sections: Sequence[CardSection], fields: Sequence[DeclaredField]) -> str:
    """An empty card as Markdown: fields as front matter, a heading for the title, a heading for each section.

    Args:
        type_id: Id of the card type.
        sections: Its sections; without any there is no template.
        fields: Its fields.
    """
    if not sections:
        return ""
    front = [f"card_type: {type_id}", *(f"{field.key}:{_note(field)}" for field in fields)]
    body = [f"## {section.title}\n\n{_hint(section)}".rstrip() for section in sections]
    return "\n\n".join(("\n".join(("---", *front, "---")), "# {{title}}", *body)) + "\n"


def builtin_card_types() -> tuple[CardType, ...]:
    """The card types that every base has, in order."""
    from lorebase.registry.card_type_table import BUILTIN_CARD_TYPES  # noqa: PLC0415 (the table knows the model)

    return BUILTIN_CARD_TYPES


def normalise_card_types(stored: object) -> TypeList[CardType]:
    """The card types of a base as any JSON holds them; see `normalise_source_types`.

    A custom type without a single section could produce no card and is left out.
    """
    return normalise_types(
        stored,
        aliases=LEGACY_CARD_TYPE_IDS,
        pattern=CARD_TYPE_ID_PATTERN,
        builtins={known.id: known for known in builtin_card_types()},
        read=read_card_type,
    )


def read_card_type(data: JsonObject, type_id: str, known: CardType | None) -> CardType | None:
    """One card type as JSON holds it; None where it has no sections.

    Args:
        data: The entry. An empty list of fields empties them; empty sections and examples count as not given.
        type_id: Its id, aliases being applied.
        known: The built-in type of that id; what the entry lacks is taken from it.
    """
    base = known or CardType(id=type_id, label=type_id)
    fields = data.get("fields")
    sections = read_sections(data.get("sections")) or base.sections
    if not sections:
        return None
    kept_fields = read_card_fields(fields) if isinstance(fields, list | tuple) else base.fields
    return CardType(
        id=type_id,
        label=line_of(data.get("label")) or base.label,
        description=text_of(data.get("description")) or base.description,
        layer="instance" if data.get("layer") == "instance" else base.layer,
        group=line_of(data.get("group")) or base.group,
        sections=sections,
        fields=kept_fields,
        examples=texts_of(data.get("examples")) or base.examples,
        template=_ended(text_of(data.get("template"))) or derived_template(type_id, sections, kept_fields),
        enabled=data.get("enabled") is not False,
        builtin=base.builtin,
    )


def stored_card_type(card_type: CardType) -> JsonObject:
    """A card type as the registry holds it: of a built-in type only what differs from its default."""
    base = next((known for known in builtin_card_types() if known.id == card_type.id), None)
    data = card_type.model_dump(mode="json", exclude={"builtin", "card_count"})
    default = base.model_dump(mode="json") if base else {"enabled": True, "layer": "type", "group": "", "fields": []}
    default["template"] = derived_template(card_type.id, card_type.sections, card_type.fields)
    return {name: value for name, value in data.items() if name == "id" or value != default.get(name)}


def card_types_customised(card_types: Sequence[CardType]) -> bool:
    """Whether card types differ from the built-in ones, in order; templates and counts are not compared."""
    shown = {"id", "label", "description", "layer", "enabled", "sections", "fields", "examples"}
    ours = [card_type.model_dump(include=shown) for card_type in card_types]
    return ours != [card_type.model_dump(include=shown) for card_type in builtin_card_types()]


def _ended(text: str) -> str:
    return f"{text}\n" if text else ""


def _note(field: DeclaredField) -> str:
    kind = f"one of {', '.join(field.options)}" if field.type == "enum" else field.type
    return f"  # {field.label or field.key}, {kind}{', required' if field.required else ''}"


def _hint(section: CardSection) -> str:
    text = ": ".join(part for part in ("required" if section.required else "", section.hint) if part)
    return f"<!-- {text.replace('--', '–')} -->" if text else ""
