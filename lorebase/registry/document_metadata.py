"""What is said about a document in single values: by rules of the recipe, in the document, and in a file beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field

from lorebase.documents.file_names import NameFilter
from lorebase.documents.model import ParsedDocument
from lorebase.registry.declared_fields import (
    MAX_KEY_CHARS,
    MAX_VALUE_CHARS,
    DeclaredField,
    MetadataIssue,
    metadata_issues,
)
from lorebase.registry.document_classes import MetadataValue
from lorebase.registry.reading import text_of, texts_of

TAGS_KEY: Final = "tags"
_MARK: Final = "---"
_MAX_INTEGER: Final = 2**53
"""Whole numbers that JSON keeps everywhere."""


class MetadataRule(BaseModel):
    """What a recipe says about every document of some names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[str, ...] = Field(min_length=1, description="Globs over names in the source, such as `contracts/**`.")
    tags: tuple[str, ...] = Field((), description="Tags of these documents.")
    values: dict[str, str | int | float | bool] = Field(default_factory=dict, description="Values by key.")


@dataclass(frozen=True, slots=True)
class Description:
    """What is said about a document.

    Attributes:
        tags: Its tags, in the order given, each once.
        values: Values by key, as they were given.
    """

    tags: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)

    def and_then(self, later: Description) -> Description:
        """Both: tags add up, a later value takes the place of an earlier one."""
        return Description(tuple(dict.fromkeys((*self.tags, *later.tags))), {**self.values, **later.values})


@dataclass(frozen=True, slots=True)
class CheckedMetadata:
    """Metadata after validation.

    Attributes:
        values: What was accepted, by key in alphabetical order.
        issues: What does not fit the declaration; values with an issue of severity "error" were left out.
    """

    values: dict[str, MetadataValue]
    issues: tuple[MetadataIssue, ...]


def described_by_rules(rules: Iterable[MetadataRule], name: str) -> Description:
    """What the rules say about a document of that name; a later rule has the last word."""
    said = Description()
    for rule in rules:
        if NameFilter(rule.files).accepts(name):
            said = said.and_then(Description(texts_of(rule.tags), rule.values))
    return said


def front_matter_of(document: ParsedDocument) -> str:
    """The YAML between two lines `---` at the beginning of a Markdown document; empty where there is none."""
    first = document.blocks[0] if document.blocks else None
    if document.media_type != "text/markdown" or first is None or first.kind != "code" or first.start != 0:
        return ""
    block = document.text[: first.end]
    return "\n".join(block.split("\n")[1:-1]) if block.startswith(_MARK) else ""


def read_description(text: str) -> Description:
    """What YAML says about a document: a mapping whose `tags` are a list or one text, all else values.

    Raises:
        ValueError: It is no YAML, or no mapping; says why in one line.
    """
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"it is no YAML: {reason:.200}") from error
    if data is None:
        return Description()
    if not isinstance(data, dict):
        raise ValueError("it is no mapping of keys to values")  # noqa: TRY004 (one error for everything unreadable)
    values = {text_of(key): value for key, value in data.items() if key != TAGS_KEY}
    return Description(texts_of(data.get(TAGS_KEY)), values)


def checked_metadata(values: Mapping[str, object], fields: Sequence[DeclaredField]) -> CheckedMetadata:
    """Validate what is said about a document against what its source type declares.

    Where a type declares nothing, nothing is undeclared. Lists and mappings are no values.

    Args:
        values: Values by key.
        fields: The declaration.
    """
    issues = [issue for issue in metadata_issues(values, fields) if fields or issue.code != "UNDECLARED_FIELD"]
    refused = {issue.key for issue in issues if issue.severity == "error"}
    accepted: dict[str, MetadataValue] = {}
    for key in sorted(values.keys() - refused):
        value = _plain(values[key]) if 0 < len(key) <= MAX_KEY_CHARS else None
        if value is None:
            if values[key] is not None:
                issues.append(_unusable(key))
        elif value != "":
            accepted[key] = value
    return CheckedMetadata(accepted, tuple(issues))


def _unusable(key: str) -> MetadataIssue:
    message = (
        f"The value of {key[:MAX_KEY_CHARS]!r} was left out: give a text of at most {MAX_VALUE_CHARS} characters, a "
        f"number, true, false or a date, under a key of at most {MAX_KEY_CHARS} characters."
    )
    return MetadataIssue("UNUSABLE_VALUE", key[:MAX_KEY_CHARS], "warning", message)


def _plain(value: object) -> MetadataValue | None:
    """The value as JSON keeps it; None where it is no single value."""
    match value:
        case bool():
            return value
        case int():
            return value if abs(value) <= _MAX_INTEGER else None
        case float():
            return value if math.isfinite(value) else None
        case date():
            return value.isoformat()
        case str():
            text = text_of(value)
            return text if len(text) <= MAX_VALUE_CHARS else None
        case _:
            return None
