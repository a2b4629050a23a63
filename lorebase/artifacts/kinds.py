"""The kinds of artifact that builds make, and how rows of each become columns of a Parquet object and rows again."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lorebase.documents.model import Block, Chunk, ParsedDocument, SourceDocument
from lorebase.errors import CorruptObjectError
from lorebase.fingerprint import fingerprint

RowT = TypeVar("RowT")

_PARQUET: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "write_statistics": False}


@dataclass(frozen=True, slots=True)
class ArtifactKind(Generic[RowT]):
    """A kind of artifact.

    Attributes:
        name: Its name in recipes, manifests and records.
        schema: Columns of its objects.
        to_columns: Rows to columns, in the order of the schema.
        to_rows: A table with that schema to rows.
        item_key: Which item of work a row answers, for kinds that a ledger keeps; None for the others.
        document_id: The document that a row belongs to.
        document_ids: Every document that a row says something of, for kinds whose rows are made of several; it stands
            in a column `document_ids`. A row goes with the first of them that is forgotten.
    """

    name: str
    schema: pa.Schema
    to_columns: Callable[[Sequence[RowT]], list[Any]]
    to_rows: Callable[[pa.Table], list[RowT]]
    document_id: Callable[[RowT], str]
    item_key: Callable[[RowT], str] | None = None
    document_ids: Callable[[RowT], Sequence[str]] | None = None

    def is_about(self, row: RowT, document_id: str) -> bool:
        """Whether a row says something of a document."""
        if self.document_ids is not None and document_id in self.document_ids(row):
            return True
        return self.document_id(row) == document_id

    @property
    def schema_fingerprint(self) -> str:
        """Digest of the columns: rows written under another schema are not reused."""
        return fingerprint("schema", self.name, [[field.name, str(field.type)] for field in self.schema])

    def encode(self, rows: Sequence[RowT]) -> bytes:
        """Parquet bytes; equal rows give equal bytes."""
        columns = [
            pa.array(values, type=field.type) for values, field in zip(self.to_columns(rows), self.schema, strict=True)
        ]
        stream = io.BytesIO()
        pq.write_table(pa.table(columns, schema=self.schema), stream, **_PARQUET)
        return stream.getvalue()

    def decode(self, content: bytes) -> list[RowT]:
        """Rows out of Parquet bytes; a column that an older program did not write is null in every row.

        Raises:
            CorruptObjectError: The bytes are no Parquet.
        """
        try:
            # Partitions are small: threads and read-ahead cost more than they bring.
            table = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise CorruptObjectError(f"An object of {self.name} cannot be read: {reason}") from error
        for field in self.schema:
            if field.name not in table.schema.names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        table = table.select(self.schema.names)
        return self.to_rows(table)


def partition_of(document_id: str, partitions: int) -> int:
    """The partition of a document: a stable hash of its id."""
    return int(document_id.rpartition("-")[2][:12], 16) % partitions


@dataclass(frozen=True, slots=True)
class ParsedItem:
    """A parsed document with the key of the work that made it."""

    key: str
    document: ParsedDocument


@dataclass(frozen=True, slots=True)
class EmbeddedChunk:
    """The vector of a chunk with the key of the work that made it; float32, unit length."""

    key: str
    chunk_id: str
    document_id: str
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk that was staged in an index, with what its entity can be filtered by."""

    chunk_id: str
    document_id: str
    revision_id: str
    source_type: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedEntry(IndexedChunk):
    """Something other than a chunk that was staged in an index, with all that it takes to stage it again.

    Its `chunk_id` is its key in the index, its `revision_id` what it stands for: a card's version, an entry of a FAQ.

    Attributes:
        key: Item of work that its vector answers.
        document_ids: Every document that it says something of.
        text: What is searched.
        vector: Its vector (float32, unit length); empty where it is found by its words alone.
    """

    key: str
    document_ids: tuple[str, ...]
    text: str
    vector: NDArray[np.float32]


_STRINGS = pa.list_(pa.string())
_BLOCK = pa.struct(
    [
        ("kind", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("heading_path", _STRINGS),
        ("page", pa.int32()),
        ("page_label", pa.string()),
        ("header_chars", pa.int64()),
    ]
)
_WARNING = pa.struct([("code", pa.string()), ("message", pa.string())])


def _document_columns(rows: Sequence[SourceDocument]) -> list[Any]:
    return [[getattr(row, name) for row in rows] for name in SOURCE_DOCUMENTS.schema.names]


def _document_rows(table: pa.Table) -> list[SourceDocument]:
    return [SourceDocument(url="", sidecar_sha256=row.pop("sidecar_sha256") or "", **row) for row in table.to_pylist()]


SOURCE_DOCUMENTS: ArtifactKind[SourceDocument] = ArtifactKind(
    name="source_documents",
    schema=pa.schema(
        [
            ("document_id", pa.string()),
            ("name", pa.string()),
            ("source", pa.string()),
            ("sha256", pa.string()),
            ("size_bytes", pa.int64()),
            ("sidecar_sha256", pa.string()),
        ]
    ),
    to_columns=_document_columns,
    to_rows=_document_rows,
    document_id=lambda row: row.document_id,
)


def _parsed_columns(rows: Sequence[ParsedItem]) -> list[Any]:
    documents = [row.document for row in rows]
    return [
        [row.key for row in rows],
        *(
            [getattr(document, name) for document in documents]
            for name in ("document_id", "revision_id", "name", "text")
        ),
        [
            [{name: getattr(block, name) for name in Block.__slots__} for block in document.blocks]
            for document in documents
        ],
        *([getattr(document, name) for document in documents] for name in ("media_type", "encoding", "parser")),
        [[{"code": code, "message": message} for code, message in document.warnings] for document in documents],
    ]


def _parsed_rows(table: pa.Table) -> list[ParsedItem]:
    return [
        ParsedItem(
            key=row.pop("key"),
            document=ParsedDocument(
                blocks=tuple(
                    Block(heading_path=tuple(block.pop("heading_path")), **block) for block in row.pop("blocks")
                ),
                warnings=tuple((warning["code"], warning["message"]) for warning in row.pop("warnings")),
                **row,
            ),
        )
        for row in table.to_pylist()
    ]


PARSED_DOCUMENTS: ArtifactKind[ParsedItem] = ArtifactKind(
    name="parsed_documents",
    schema=pa.schema(
        [
            ("key", pa.string()),
            ("document_id", pa.string()),
            ("revision_id", pa.string()),
            ("name", pa.string()),
            ("text", pa.large_string()),
            ("blocks", pa.list_(_BLOCK)),
            ("media_type", pa.string()),
            ("encoding", pa.string()),
            ("parser", pa.string()),
            ("warnings", pa.list_(_WARNING)),
        ]
    ),
    to_columns=_parsed_columns,
    to_rows=_parsed_rows,
    document_id=lambda row: row.document.document_id,
    item_key=lambda row: row.key,
)

_CHUNK_SCHEMA = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("document_id", pa.string()),
        ("revision_id", pa.string()),
        ("document_name", pa.string()),
        ("source", pa.string()),
        ("position", pa.int32()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("heading_path", _STRINGS),
        ("table_header", pa.string()),
        ("page", pa.int32()),
        ("page_label", pa.string()),
        ("kind", pa.string()),
        ("tokens", pa.int32()),
        ("first_row", pa.int64()),
        ("last_row", pa.int64()),
    ]
)


def _chunk_columns(rows: Sequence[Chunk]) -> list[Any]:
    return [[getattr(row, name) for row in rows] for name in _CHUNK_SCHEMA.names]


def _chunk_rows(table: pa.Table) -> list[Chunk]:
    return [Chunk(heading_path=tuple(row.pop("heading_path")), **row) for row in table.to_pylist()]


CHUNKS: ArtifactKind[Chunk] = ArtifactKind(
    name="chunks",
    schema=_CHUNK_SCHEMA,
    to_columns=_chunk_columns,
    to_rows=_chunk_rows,
    document_id=lambda row: row.document_id,
)


def _embedding_columns(rows: Sequence[EmbeddedChunk]) -> list[Any]:
    return [
        [row.key for row in rows],
        [row.chunk_id for row in rows],
        [row.document_id for row in rows],
        [np.asarray(row.vector, dtype=np.float32).tobytes() for row in rows],
    ]


def _embedding_rows(table: pa.Table) -> list[EmbeddedChunk]:
    return [
        EmbeddedChunk(vector=np.frombuffer(row.pop("vector"), dtype=np.float32), **row) for row in table.to_pylist()
    ]


EMBEDDINGS: ArtifactKind[EmbeddedChunk] = ArtifactKind(
    name="embeddings",
    schema=pa.schema(
        [("key", pa.string()), ("chunk_id", pa.string()), ("document_id", pa.string()), ("vector", pa.binary())]
    ),
    to_columns=_embedding_columns,
    to_rows=_embedding_rows,
    document_id=lambda row: row.document_id,
    item_key=lambda row: row.key,
)


def _indexed_columns(rows: Sequence[IndexedChunk]) -> list[Any]:
    return [[getattr(row, name) for row in rows] for name in _INDEXED_SCHEMA.names]


def _indexed_rows(table: pa.Table) -> list[IndexedChunk]:
    return [
        IndexedChunk(source_type=row.pop("source_type") or "", tags=tuple(row.pop("tags") or ()), **row)
        for row in table.to_pylist()
    ]


_INDEXED_SCHEMA = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("document_id", pa.string()),
        ("revision_id", pa.string()),
        ("source_type", pa.string()),
        ("tags", _STRINGS),
    ]
)


def _index_kind(name: str) -> ArtifactKind[IndexedChunk]:
    return ArtifactKind(
        name=name,
        schema=_INDEXED_SCHEMA,
        to_columns=_indexed_columns,
        to_rows=_indexed_rows,
        document_id=lambda row: row.document_id,
    )


VECTOR_INDEX = _index_kind("vector_index")
FULL_TEXT_INDEX = _index_kind("full_text_index")


_ENTRY_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("chunk_id", pa.string()),
        ("document_id", pa.string()),
        ("revision_id", pa.string()),
        ("document_ids", _STRINGS),
        ("text", pa.string()),
        ("vector", pa.binary()),
    ]
)


def _entry_columns(rows: Sequence[IndexedEntry]) -> list[Any]:
    return [
        *([getattr(row, name) for row in rows] for name in _ENTRY_SCHEMA.names[:-1]),
        [np.asarray(row.vector, dtype=np.float32).tobytes() for row in rows],
    ]


def _entry_rows(table: pa.Table) -> list[IndexedEntry]:
    return [
        IndexedEntry(
            document_ids=tuple(row.pop("document_ids")),
            vector=np.frombuffer(row.pop("vector"), dtype=np.float32),
            **row,
        )
        for row in table.to_pylist()
    ]


def _entry_kind(name: str) -> ArtifactKind[IndexedEntry]:
    return ArtifactKind(
        name=name,
        schema=_ENTRY_SCHEMA,
        to_columns=_entry_columns,
        to_rows=_entry_rows,
        document_id=lambda row: row.document_id,
        item_key=lambda row: row.key,
        document_ids=lambda row: row.document_ids,
    )


CARD_INDEX = _entry_kind("card_index")
FAQ_INDEX = _entry_kind("faq_index")
ENTRY_INDEXES: tuple[ArtifactKind[IndexedEntry], ...] = (CARD_INDEX, FAQ_INDEX)
"""Indexes of other things than chunks."""
