"""The content of a draft as rows keep it: FAQ entries and the fields of a source type."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import orjson

from lorebase.errors import InvalidInputError
from lorebase.governance.file_checks import CheckedFile
from lorebase.governance.model import FaqEntry, Scalar
from lorebase.governance.store import checked_text

MAX_FAQ_ENTRIES = 1000
MAX_FAQ_TEXT_CHARS = 20_000
MAX_METADATA_FIELDS = 20
MAX_METADATA_KEY_CHARS = 64
MAX_METADATA_VALUE_CHARS = 1000
_FAQ_MEDIA_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class FaqContent:
    """FAQ entries with their canonical bytes: sorted keys, UTF-8; equal entries have equal bytes."""

    entries: tuple[dict[str, Any], ...]
    canonical: bytes

    @classmethod
    def of(cls, entries: Sequence[FaqEntry]) -> Self:
        """The content of entries.

        Raises:
            InvalidInputError: None or more than 1,000, a question stands there twice, or a text is blank or no text.
        """
        if not 1 <= len(entries) <= MAX_FAQ_ENTRIES:
            raise InvalidInputError(
                f"There are {len(entries)} FAQ entries.", remedy=f"Give 1 to {MAX_FAQ_ENTRIES}.", field="faq"
            )
        seen: set[str] = set()
        for entry in entries:
            if entry.question in seen:
                raise InvalidInputError(
                    f"The question {entry.question[:80]!r} stands there twice.",
                    remedy="Keep one of the two entries.",
                    field="faq",
                )
            seen.add(entry.question)
            for text in (entry.question, entry.answer, *entry.similar_questions):
                checked_text("faq", text, MAX_FAQ_TEXT_CHARS, min_chars=1)
        rows = tuple(entry.model_dump(mode="json") for entry in entries)
        return cls(rows, orjson.dumps(rows, option=orjson.OPT_SORT_KEYS))

    def columns(self, object_key: str) -> dict[str, Any]:
        """Column values of a revision with this content."""
        return {
            "source_kind": "faq",
            "faq_json": list(self.entries),
            "file_name": "",
            "file_type": "",
            "media_type": _FAQ_MEDIA_TYPE,
            "size_bytes": len(self.canonical),
            "sha256": hashlib.sha256(self.canonical).hexdigest(),
            "object_key": object_key,
        }


def file_columns(file: CheckedFile, object_key: str) -> dict[str, Any]:
    """Column values of a revision whose content is a file."""
    return {
        "source_kind": "file",
        "faq_json": None,
        "file_name": file.name,
        "file_type": file.file_type,
        "media_type": file.media_type,
        "size_bytes": len(file.content),
        "sha256": file.sha256,
        "object_key": object_key,
    }


def checked_metadata(fields: Mapping[str, object]) -> dict[str, Scalar]:
    """The fields of a document.

    Raises:
        InvalidInputError: More than 20 fields, a key that has not 1 to 64 characters, or a value over 1,000 characters
            or of another type than text, finite number, boolean and nothing.
    """
    if len(fields) > MAX_METADATA_FIELDS:
        raise InvalidInputError(
            f"There are {len(fields)} fields.", remedy=f"Use at most {MAX_METADATA_FIELDS}.", field="metadata"
        )
    checked: dict[str, Scalar] = {}
    for key, value in fields.items():
        checked_text("metadata", key, MAX_METADATA_KEY_CHARS, min_chars=1)
        if not isinstance(value, Scalar) or (isinstance(value, float) and not math.isfinite(value)):
            raise InvalidInputError(
                f"The field {key!r} holds no single value.",
                remedy="Use a text, a finite number or a boolean.",
                field="metadata",
            )
        checked[key] = checked_text(key, value, MAX_METADATA_VALUE_CHARS) if isinstance(value, str) else value
    return checked
