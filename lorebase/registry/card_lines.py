"""Sections and fields of a card type as people write them, one a line, or as JSON objects.

A section is `Title | hint | required`, a field `key | label | type | required`; the type of a choice is
`enum(open, closed)`. The full-width forms of the signs and 必填 for "required" are understood too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lorebase.registry.card_parts import CardSection
from lorebase.registry.declared_fields import DeclaredField, read_field, unique_fields
from lorebase.registry.reading import line_of, members_of, object_of

FIELD_KEY_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,47}")

_SEPARATOR = re.compile(r"[|｜]")
_ENUM = re.compile(r"enum\s*[(（](.*)[)）]", re.IGNORECASE)
_OPTION_SEPARATOR = re.compile(r"[,，、]")
_REQUIRED_WORDS = frozenset({"required", "yes", "true", "必填", "是"})


def section_of(value: object) -> CardSection | None:
    """A section from a line or an object; None for a blank line or an object without a title."""
    if isinstance(value, CardSection):
        return value
    if isinstance(value, str):
        title, hint, required = _parts(value, 3)
        made = CardSection(title=title, hint=hint, required=_is_required(required))
    else:
        data = object_of(value)
        made = CardSection(
            title=line_of(data.get("title")), hint=line_of(data.get("hint")), required=data.get("required") is True
        )
    return made if made.title else None


def field_of(value: object) -> DeclaredField | None:
    """A field from a line or an object; None for a blank line and for what is no usable field."""
    if isinstance(value, DeclaredField):
        return value
    if not isinstance(value, str):
        return read_field(value)
    key, label, kind, required = _parts(value, 4)
    choice = _ENUM.fullmatch(kind)
    return read_field(
        {
            "key": key,
            "label": label,
            "type": "enum" if choice else kind.lower(),
            "options": _OPTION_SEPARATOR.split(choice.group(1)) if choice else [],
            "required": _is_required(required),
        }
    )


def lines_of(value: object) -> list[object]:
    """The members of a list, or the lines of a text, without blank ones."""
    members: Iterable[object] = value.splitlines() if isinstance(value, str) else members_of(value)
    return [member for member in members if not (isinstance(member, str) and not member.strip())]


def read_sections(value: object) -> tuple[CardSection, ...]:
    """Sections without the unusable ones; the first of every title stays."""
    by_title: dict[str, CardSection] = {}
    for line in lines_of(value):
        section = section_of(line)
        if section is not None:
            by_title.setdefault(section.title.casefold(), section)
    return tuple(by_title.values())


def read_card_fields(value: object) -> tuple[DeclaredField, ...]:
    """Fields without the unusable ones; the first of every key stays, 20 at most."""
    fields = (field_of(line) for line in lines_of(value))
    return unique_fields(
        field for field in fields if field is not None and FIELD_KEY_PATTERN.fullmatch(field.key) is not None
    )


def _parts(line: str, count: int) -> list[str]:
    parts = [line_of(part) for part in _SEPARATOR.split(line)]
    return (parts + [""] * count)[:count]


def _is_required(word: str) -> bool:
    return word.casefold() in _REQUIRED_WORDS
