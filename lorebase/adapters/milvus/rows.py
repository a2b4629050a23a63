"""Entities as rows of a collection and back, and batches of rows that fit in a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lorebase.adapters.milvus.expressions import restored_text, stored_text
from lorebase.adapters.milvus.schema import MAX_WORDS_BYTES, TEXT_FIELD, VECTOR_FIELD
from lorebase.errors import MalformedAnswerError, RefusedError
from lorebase.index.filters import check_fields
from lorebase.index.ports import EntityFields, TextEntity, VectorEntity
from lorebase.index.words import passage_words

RowValue: TypeAlias = "str | int | bool | list[str] | list[float] | NDArray[np.float32]"
Row: TypeAlias = dict[str, RowValue]

ROW_OVERHEAD_BYTES = 200
FLOAT_BYTES = 4


def vector_row(entity: VectorEntity, dimensions: int) -> Row:
    """The row of a vector entity.

    Raises:
        MalformedAnswerError: The vector is not of the index's width, or not finite.
        UsageError: A field cannot be stored.
    """
    check_vector(entity.vector, dimensions)
    return {**_scalar_row(entity.fields), VECTOR_FIELD: entity.vector.astype(np.float32, copy=False)}


def check_vector(vector: NDArray[np.float32], dimensions: int) -> None:
    """Refuse a vector that the index cannot compare."""
    if vector.shape != (dimensions,):
        raise MalformedAnswerError(
            f"A vector has shape {vector.shape}, but the index holds {dimensions} numbers a vector.",
            remedy="Give the index the vectors of its own embedding profile.",
            dependency="milvus",
            dimensions=dimensions,
        )
    if not np.isfinite(vector).all():
        raise MalformedAnswerError("A vector holds NaN or infinity.", dependency="milvus")


def text_row(entity: TextEntity) -> Row:
    """The row of a text entity: its words, separated by spaces.

    Raises:
        RefusedError: Its words take more bytes than Milvus keeps in a field; nothing is cut off silently.
        UsageError: A field cannot be stored.
    """
    words = " ".join(passage_words(entity.text))
    size_bytes = len(words.encode())
    if size_bytes > MAX_WORDS_BYTES:
        raise RefusedError(
            f"The words of chunk {entity.fields.chunk_id} take {size_bytes} bytes; the index keeps {MAX_WORDS_BYTES}.",
            remedy="Split the document into smaller chunks (split_documents: max_tokens).",
            dependency="milvus",
            chunk_id=entity.fields.chunk_id,
            size_bytes=size_bytes,
        )
    return {**_scalar_row(entity.fields), TEXT_FIELD: words}


def fields_of(row: Mapping[str, RowValue]) -> EntityFields:
    """The scalar fields that a row holds."""
    tags = row["tags"]
    return EntityFields(
        chunk_id=_text(row, "chunk_id"),
        document_id=_text(row, "document_id"),
        revision_id=_text(row, "revision_id"),
        base_id=_text(row, "base_id"),
        organ_id=int(str(row["organ_id"])),
        searchable=bool(row["searchable"]),
        tags=tuple(restored_text(str(tag)) for tag in tags) if isinstance(tags, Sequence) else (),
        source_type=_text(row, "source_type"),
    )


def batches(rows: Sequence[Row], message_bytes: int) -> Iterator[list[Row]]:
    """The rows, one per chunk id (the last one), in lists of about `message_bytes` at most."""
    batch: list[Row] = []
    batch_bytes = 0
    for row in {row["chunk_id"]: row for row in rows if isinstance(row["chunk_id"], str)}.values():
        row_bytes = _row_bytes(row)
        if batch and batch_bytes + row_bytes > message_bytes:
            yield batch
            batch, batch_bytes = [], 0
        batch.append(row)
        batch_bytes += row_bytes
    if batch:
        yield batch


def _scalar_row(fields: EntityFields) -> Row:
    check_fields(fields)
    return {
        "chunk_id": stored_text(fields.chunk_id),
        "document_id": stored_text(fields.document_id),
        "revision_id": stored_text(fields.revision_id),
        "base_id": stored_text(fields.base_id),
        "organ_id": fields.organ_id,
        "searchable": fields.searchable,
        "tags": [stored_text(tag) for tag in fields.tags],
        "source_type": stored_text(fields.source_type),
    }


def _text(row: Mapping[str, RowValue], name: str) -> str:
    return restored_text(str(row[name]))


def _row_bytes(row: Row) -> int:
    total = ROW_OVERHEAD_BYTES
    for value in row.values():
        if isinstance(value, str):
            total += len(value.encode())
        elif isinstance(value, np.ndarray):
            total += value.nbytes
        elif isinstance(value, list):
            total += sum(len(member.encode()) if isinstance(member, str) else FLOAT_BYTES for member in value)
    return total
