"""Changes of types as they are asked for. What is not given stays as it is: that is a value of its own, never None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self, TypeAlias, TypeVar

from lorebase.registry.card_lines import lines_of
from lorebase.registry.reading import line_of, object_of, text_of, texts_of


class NotGiven(Enum):
    """The type of `NOT_GIVEN`."""

    NOT_GIVEN = "not given"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN
"""Leave it as it is."""

_Value = TypeVar("_Value")
Given: TypeAlias = _Value | NotGiven


def given_or(given: _Value | NotGiven, stored: _Value) -> _Value:
    """What was given, or what is stored."""
    return stored if isinstance(given, NotGiven) else given


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTypeChange:
    """A source type to add or to update.

    Attributes:
        id: Its id.
        label: What people read.
        description: What documents of this type are.
        signals: Words that speak for it.
        excludes: Words that speak against it.
        enabled: Whether documents may be given this type.
        metadata_fields: JSON of its declared fields; an empty list clears them.
    """

    id: str
    label: str | NotGiven = NOT_GIVEN
    description: str | NotGiven = NOT_GIVEN
    signals: tuple[str, ...] | NotGiven = NOT_GIVEN
    excludes: tuple[str, ...] | NotGiven = NOT_GIVEN
    enabled: bool | NotGiven = NOT_GIVEN
    metadata_fields: tuple[object, ...] | NotGiven = NOT_GIVEN

    @classmethod
    def from_json(cls, value: object, *, type_id: str | None = None) -> Self:
        """The change that a JSON object asks for; null is the same as not given.

        Args:
            value: Any JSON.
            type_id: The id, where it stands elsewhere; otherwise the object's `id`.
        """
        data = _given_members(value)
        fields = data.get("metadata_fields", data.get("metadataFields", NOT_GIVEN))
        return cls(
            id=type_id if type_id is not None else line_of(data.get("id")),
            label=line_of(data["label"]) if "label" in data else NOT_GIVEN,
            description=text_of(data["description"]) if "description" in data else NOT_GIVEN,
            signals=texts_of(data["signals"]) if "signals" in data else NOT_GIVEN,
            excludes=texts_of(data["excludes"]) if "excludes" in data else NOT_GIVEN,
            enabled=data["enabled"] is not False if "enabled" in data else NOT_GIVEN,
            metadata_fields=tuple(fields) if isinstance(fields, list | tuple) else NOT_GIVEN,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTypeChange:
    """A card type to add or to update.

    Attributes:
        id: Its id.
        label: What people read.
        description: What its cards are about.
        layer: `instance` for cards of single cases, anything else is `type`.
        sections: Lines or objects; see `lorebase.registry.card_lines`.
        fields: Lines or objects; an empty list removes them.
        examples: Titles of cards.
        enabled: Whether cards of this type are proposed.
    """

    id: str
    label: str | NotGiven = NOT_GIVEN
    description: str | NotGiven = NOT_GIVEN
    layer: str | NotGiven = NOT_GIVEN
    sections: tuple[object, ...] | NotGiven = NOT_GIVEN
    fields: tuple[object, ...] | NotGiven = NOT_GIVEN
    examples: tuple[str, ...] | NotGiven = NOT_GIVEN
    enabled: bool | NotGiven = NOT_GIVEN

    @classmethod
    def from_json(cls, value: object, *, type_id: str | None = None) -> Self:
        """The change that a JSON object asks for; see `SourceTypeChange.from_json`."""
        data = _given_members(value)
        return cls(
            id=type_id if type_id is not None else line_of(data.get("id")),
            label=line_of(data["label"]) if "label" in data else NOT_GIVEN,
            description=text_of(data["description"]) if "description" in data else NOT_GIVEN,
            layer=line_of(data["layer"]) if "layer" in data else NOT_GIVEN,
            sections=tuple(lines_of(data["sections"])) if "sections" in data else NOT_GIVEN,
            fields=tuple(lines_of(data["fields"])) if "fields" in data else NOT_GIVEN,
            examples=texts_of(data["examples"]) if "examples" in data else NOT_GIVEN,
            enabled=data["enabled"] is not False if "enabled" in data else NOT_GIVEN,
        )


def _given_members(value: object) -> Mapping[str, object]:
    return {name: member for name, member in object_of(value).items() if member is not None}
