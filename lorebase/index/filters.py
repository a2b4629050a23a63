"""What a filter may ask: one check that every index makes before it looks at its rows."""

from __future__ import annotations

from lorebase.errors import UsageError
from lorebase.index.ports import (
    MAX_TAG_CHARS,
    MAX_TAGS,
    AnyOf,
    Condition,
    EntityFields,
    Equals,
    Filter,
    HasAllTags,
    HasAnyTag,
    NoneOf,
)

MAX_TEXT_BYTES = 512
MAX_INTEGER = 2**63 - 1

VALUE_TYPES: dict[str, type[str | int | bool]] = {
    "chunk_id": str,
    "document_id": str,
    "revision_id": str,
    "base_id": str,
    "source_type": str,
    "organ_id": int,
    "searchable": bool,
}
"""What a single-valued field holds. `tags` is not here: it holds many and has conditions of its own."""


def check_filter(where: Filter) -> None:
    """Refuse a filter that names no known field or holds a value that no entity can have.

    Raises:
        UsageError: Unknown field, value of another type than the field's, text or tag over its limit.
    """
    for condition in where:
        _check_condition(condition)


def check_fields(fields: EntityFields) -> None:
    """Refuse an entity whose fields could not be stored and found again.

    Raises:
        UsageError: No chunk id, text or tag over its limit, too many tags, not encodable as UTF-8.
    """
    if not fields.chunk_id:
        raise UsageError("An indexed chunk has no chunk id.")
    for name in VALUE_TYPES:
        _check_value(name, getattr(fields, name))
    if len(fields.tags) > MAX_TAGS:
        raise UsageError(
            f"Chunk {fields.chunk_id} has {len(fields.tags)} tags; at most {MAX_TAGS} are kept.",
            remedy="Give it fewer tags.",
            chunk_id=fields.chunk_id,
        )
    _check_tags(fields.tags)


def _check_condition(condition: Condition) -> None:
    match condition:
        case Equals(field=name, value=value):
            _check_value(name, value)
        case AnyOf(field=name, values=values) | NoneOf(field=name, values=values):
            for value in values:
                _check_value(name, value)
            if _type_of(name) is not str:
                raise UsageError(f"Field {name} holds no text.", remedy="Compare it with Equals.", field=name)
        case HasAllTags(tags=tags) | HasAnyTag(tags=tags):
            _check_tags(tags)


def _type_of(name: str) -> type[str | int | bool]:
    if name == "tags":
        raise UsageError("Field tags holds many values.", remedy="Ask with HasAllTags or HasAnyTag.", field=name)
    if name not in VALUE_TYPES:
        raise UsageError(
            f"The index has no field {name!r}.", remedy=f"Known fields: {', '.join(VALUE_TYPES)}, tags.", field=name
        )
    return VALUE_TYPES[name]


def _check_value(name: str, value: object) -> None:
    expected = _type_of(name)
    if type(value) is not expected:  # exact, because True is an int to isinstance
        raise UsageError(f"Field {name} is {expected.__name__}, not {type(value).__name__}.", field=name)
    if isinstance(value, str):
        _check_text(name, value)
    elif abs(value) > MAX_INTEGER:
        raise UsageError(f"Field {name} does not hold {value}: it is outside 64 bits.", field=name)


def _check_tags(tags: tuple[str, ...]) -> None:
    for tag in tags:
        if len(tag) > MAX_TAG_CHARS:
            raise UsageError(f"Tag {tag[:MAX_TAG_CHARS]!r}... has {len(tag)} characters; at most {MAX_TAG_CHARS}.")
        _check_text("tags", tag)


def _check_text(name: str, value: str) -> None:
    try:
        size_bytes = len(value.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"A value for {name} is not valid Unicode text.", field=name) from error
    if size_bytes > MAX_TEXT_BYTES:
        raise UsageError(
            f"A value for {name} has {size_bytes} bytes; at most {MAX_TEXT_BYTES} are kept.",
            field=name,
            size_bytes=size_bytes,
        )
