"""The artifact of classification: which source type each document has, why, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import orjson
import pyarrow as pa

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.index.ports import MAX_TAG_CHARS, MAX_TAGS
from lorebase.runs.staging import EntityLabels

Method: TypeAlias = Literal["rules", "model", "fallback"]
MetadataValue: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class DocumentClass:
    """What a document is.

    Attributes:
        key: Of the work that found the type.
        document_id: The document.
        revision_id: The revision of its content that was looked at.
        source_type: Its type.
        method: How the type was found.
        reason: One sentence for people.
        score: As in `lorebase.registry.classification.Classification`.
        tags: What it was tagged with, in the order given.
        metadata: What is said about it, by key in alphabetical order; dates are ISO texts.
    """

    key: str
    document_id: str
    revision_id: str
    source_type: str
    method: Method
    reason: str
    score: float
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


def filter_tags(row: DocumentClass) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What searches can filter a document by: its tags, then each value of its metadata as `key=value`.

    Returns:
        Those that an index takes (32 of 64 characters at most), and those that it does not.
    """
    values = [f"{key}={_text_of(value)}" for key, value in row.metadata.items()]
    every = tuple(dict.fromkeys((*row.tags, *values)))
    short = [tag for tag in every if len(tag) <= MAX_TAG_CHARS]
    taken = tuple(short[:MAX_TAGS])
    return taken, tuple(tag for tag in every if tag not in taken)


def labels_of_classes(rows: Iterable[DocumentClass]) -> dict[str, EntityLabels]:
    """What the entities of each document are labelled with, by document id."""
    return {row.document_id: EntityLabels(row.source_type, filter_tags(row)[0]) for row in rows}


def _text_of(value: MetadataValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("document_id", pa.string()),
        ("revision_id", pa.string()),
        ("source_type", pa.string()),
        ("method", pa.string()),
        ("reason", pa.string()),
        ("score", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("metadata", pa.string()),
    ]
)


def _to_columns(rows: Sequence[DocumentClass]) -> list[Any]:
    columns = [[getattr(row, name) for row in rows] for name in _SCHEMA.names[:-1]]
    return [*columns, [orjson.dumps(row.metadata, option=orjson.OPT_SORT_KEYS).decode() for row in rows]]


def _to_rows(table: pa.Table) -> list[DocumentClass]:
    return [
        DocumentClass(tags=tuple(row.pop("tags")), metadata=orjson.loads(row.pop("metadata")), **row)
        for row in table.to_pylist()
    ]


DOCUMENT_CLASSES: ArtifactKind[DocumentClass] = ArtifactKind(
    name="document_classes",
    schema=_SCHEMA,
    to_columns=_to_columns,
    to_rows=_to_rows,
    document_id=lambda row: row.document_id,
    item_key=lambda row: row.key,
)
