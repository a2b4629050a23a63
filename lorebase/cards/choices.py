"""Which card types a recipe has cards proposed for: ids of built-in types, or definitions of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lorebase.extraction.folding import folded
from lorebase.registry.card_lines import read_card_fields, read_sections
from lorebase.registry.card_parts import CardSection
from lorebase.registry.card_types import (
    CARD_TYPE_ID_PATTERN,
    LEGACY_CARD_TYPE_IDS,
    CardType,
    builtin_card_types,
    derived_template,
)
from lorebase.registry.declared_fields import DeclaredField


class CardTypeChoice(BaseModel):
    """A card type, and which subjects get a card of it.

    A recipe writes the id of a built-in type alone, or an object with `id`; what the object does not say is taken from
    the built-in type of that id. Sections and fields are lines: `Title | hint | required`, `key | label | type`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Id of a built-in type, or of one of the recipe's own.")
    label: str = Field("", description="What people read.")
    description: str = Field("", description="What cards of this type are about.")
    sections: tuple[str, ...] = Field((), description="Headings, one a line: `Title | hint | required`.")
    fields: tuple[str, ...] = Field((), description="Values, one a line: `key | label | type | required`.")
    subjects: tuple[str, ...] = Field((), description="Only these subjects; none lets every subject have a card.")
    entity_types: tuple[str, ...] = Field((), description="Only entities of these types; none takes every type.")

    @model_validator(mode="before")
    @classmethod
    def _id_alone(cls, value: Any) -> Any:  # noqa: ANN401 (whatever a recipe holds)
        return {"id": value} if isinstance(value, str) else value

    @field_validator("id")
    @classmethod
    def _known_form(cls, value: str) -> str:
        type_id = LEGACY_CARD_TYPE_IDS.get(value, value)
        if not CARD_TYPE_ID_PATTERN.fullmatch(type_id):
            msg = f"{value!r} is no id of a card type: lower-case letters, digits and underscores, 1 to 48"
            raise ValueError(msg)
        return type_id

    @model_validator(mode="after")
    def _has_sections(self) -> CardTypeChoice:
        known = [card_type.id for card_type in builtin_card_types()]
        if self.id not in known and not read_sections(self.sections):
            msg = f"there is no built-in card type {self.id!r}; give it sections, or take one of {', '.join(known)}"
            raise ValueError(msg)
        return self

    @cached_property
    def card_type(self) -> CardType:
        """The type with everything that the recipe does not say."""
        base = next((known for known in builtin_card_types() if known.id == self.id), None)
        sections: tuple[CardSection, ...] = read_sections(self.sections) or (base.sections if base else ())
        fields: tuple[DeclaredField, ...] = read_card_fields(self.fields) or (base.fields if base else ())
        return CardType(
            id=self.id,
            label=self.label or (base.label if base else self.id),
            description=self.description or (base.description if base else ""),
            layer=base.layer if base else "type",
            sections=sections,
            fields=fields,
            template=derived_template(self.id, sections, fields),
            builtin=base is not None,
        )

    def is_about(self, names: tuple[str, ...], types: tuple[str, ...]) -> bool:
        """Whether a subject of these names and entity types gets a card of this type."""
        if self.subjects and not {folded(name) for name in names} & {folded(name) for name in self.subjects}:
            return False
        return not self.entity_types or bool(
            {folded(one) for one in types} & {folded(one) for one in self.entity_types}
        )
