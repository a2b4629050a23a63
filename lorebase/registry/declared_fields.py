"""Declared fields: what a document of a source type, or a card of a card type, says about itself in single values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from lorebase.registry.reading import line_of, members_of, object_of, texts_of

FieldType: TypeAlias = Literal["string", "number", "boolean", "date", "enum"]
FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)

MAX_FIELDS = 20
MAX_KEY_CHARS = 64
MAX_VALUE_CHARS = 1000

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")


class DeclaredField(BaseModel):
    """A single value that is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str = Field(description="Name of the value, 1 to 64 characters.")
    label: str = Field("", description="What people read; the key where it is empty.")
    type: FieldType = Field("string", description="Kind of value.")
    required: bool = Field(default=False, description="Whether it must be there.")
    options: tuple[str, ...] = Field((), description="What an `enum` may be.")
    description: str = Field("", description="What is meant, for people and for models.")


@dataclass(frozen=True, slots=True)
class MetadataIssue:
    """Something about a document's metadata that does not fit the declaration.

    Attributes:
        code: `REQUIRED_FIELD_MISSING`, `WRONG_FIELD_TYPE`, `VALUE_TOO_LONG` or `UNDECLARED_FIELD`.
        key: The field.
        severity: `error` refuses the metadata, `warning` is shown to whoever reviews.
        message: One sentence.
    """

    code: str
    key: str
    severity: Literal["error", "warning"]
    message: str


def read_field(value: object) -> DeclaredField | None:
    """A field as JSON holds it; None where it has no usable key, or is an `enum` without options.

    A type that there is not becomes `string`.
    """
    data = object_of(value)
    key = line_of(data.get("key"))
    options = texts_of(data.get("options"))
    kind = next((known for known in FIELD_TYPES if known == line_of(data.get("type"))), "string")
    if not 1 <= len(key) <= MAX_KEY_CHARS or _CONTROL_CHARACTER.search(key) or (kind == "enum" and not options):
        return None
    return DeclaredField(
        key=key,
        label=line_of(data.get("label")) or key,
        type=kind,
        required=data.get("required") is True,
        options=options if kind == "enum" else (),
        description=line_of(data.get("description")),
    )


def read_fields(value: object) -> tuple[DeclaredField, ...]:
    """A list of fields as JSON holds it: unusable ones and repeated keys are left out, the first 20 stay."""
    if isinstance(value, str):
        return ()
    given = (item if isinstance(item, DeclaredField) else read_field(item) for item in members_of(value))
    return unique_fields(field for field in given if field is not None)


def unique_fields(fields: Iterable[DeclaredField]) -> tuple[DeclaredField, ...]:
    """The first field of every key, 20 at most."""
    by_key: dict[str, DeclaredField] = {}
    for field in fields:
        by_key.setdefault(field.key, field)
    return tuple(by_key.values())[:MAX_FIELDS]


def metadata_issues(metadata: Mapping[str, object], fields: Sequence[DeclaredField]) -> tuple[MetadataIssue, ...]:
    """What of a document's metadata does not fit what its source type declares.

    Args:
        metadata: Values by key: text, numbers, booleans, or None for "not given".
        fields: The declaration.

    Returns:
        In order of the declaration, then of undeclared keys. A required value that is missing and an undeclared key
        are warnings; a value of another type, one that an `enum` does not offer, and one above 1,000 characters are
        errors.
    """
    declared = {field.key for field in fields}
    issues = [issue for field in fields if (issue := _field_issue(field, metadata.get(field.key))) is not None]
    for key in metadata:
        if key not in declared:
            message = f"The field {key!r} is not declared by the source type."
            issues.append(MetadataIssue("UNDECLARED_FIELD", key, "warning", message))
    return tuple(issues)


def _field_issue(field: DeclaredField, value: object) -> MetadataIssue | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        if not field.required:
            return None
        message = f"The required field {field.key!r} has no value."
        return MetadataIssue("REQUIRED_FIELD_MISSING", field.key, "warning", message)
    if isinstance(value, str) and len(value) > MAX_VALUE_CHARS:
        message = f"The field {field.key!r} has {len(value)} characters; at most {MAX_VALUE_CHARS} are allowed."
        return MetadataIssue("VALUE_TOO_LONG", field.key, "error", message)
    if _fits(field, value):
        return None
    wanted = f"one of {', '.join(field.options)}" if field.type == "enum" else f"a {field.type}"
    message = f"The field {field.key!r} must be {wanted}, not {value!r:.80}."
    return MetadataIssue("WRONG_FIELD_TYPE", field.key, "error", message)


def _fits(field: DeclaredField, value: object) -> bool:
    match field.type:
        case "string":
            return isinstance(value, str)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case "boolean":
            return isinstance(value, bool)
        case "date":
            return isinstance(value, date) or (isinstance(value, str) and _is_date(value))
        case "enum":
            return isinstance(value, str) and value in field.options


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True
