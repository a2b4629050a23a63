"""Names, schemas and indexes of the collections; one layout for every deployment."""

from __future__ import annotations

from pymilvus import CollectionSchema, DataType, FieldSchema, Function, FunctionType  # type: ignore[import-untyped]  # ships no types
from pymilvus.milvus_client.index import IndexParams  # type: ignore[import-untyped]  # ships no types

from lorebase.adapters.milvus.deployment import Deployment
from lorebase.index.filters import MAX_TEXT_BYTES
from lorebase.index.ports import MAX_TAG_CHARS, MAX_TAGS, EntityKind

VECTOR_FIELD = "vector"
TEXT_FIELD = "text"
WORDS_FIELD = "words"
MAX_WORDS_BYTES = 65_535
"""The longest VARCHAR that Milvus has."""

STORED_EXPANSION = 3
"""`stored_text` makes at most three bytes of one."""

BYTES_PER_CHAR = 4

SCALAR_FIELDS = (
    "chunk_id",
    "document_id",
    "revision_id",
    "base_id",
    "organ_id",
    "searchable",
    "tags",
    "source_type",
)


def vectors_collection(base_name: str, profile_id: str, kind: EntityKind = "chunks") -> str:
    """Collection of the vectors of a base for one embedding profile and kind of entity."""
    return f"{_safe(base_name)}_vectors_{profile_id[:16]}{_of(kind)}"


def text_collection(base_name: str, kind: EntityKind = "chunks") -> str:
    """Collection of the words of a base for a kind of entity."""
    return f"{_safe(base_name)}_text{_of(kind)}"


def _of(kind: EntityKind) -> str:
    # Last, where it cannot be taken for the end of a base's name.
    return "" if kind == "chunks" else f"_{kind}"


def _safe(base_name: str) -> str:
    # A slug has no underscore, so no two bases share a name; the prefix is there because a name must not begin with a
    # digit.
    return f"kb_{base_name.replace('-', '_')}"


def vectors_schema(dimensions: int) -> CollectionSchema:
    """Scalar fields and one dense vector."""
    vector = FieldSchema(VECTOR_FIELD, DataType.FLOAT_VECTOR, dim=dimensions)
    return CollectionSchema([*_scalar_fields(), vector], auto_id=False, enable_dynamic_field=False)


def vectors_index(deployment: Deployment) -> IndexParams:
    """The index of the dense vectors; scores are cosines."""
    parameters = IndexParams()
    parameters.add_index(
        VECTOR_FIELD, index_type=deployment.dense_index, metric_type="COSINE", params=deployment.dense_build
    )
    return parameters


def text_schema() -> CollectionSchema:
    """Scalar fields and the words, from which Milvus makes the BM25 vectors.

    The words come from `lorebase.index.words`, so the analyzer only has to part them at spaces.
    """
    text = FieldSchema(
        TEXT_FIELD,
        DataType.VARCHAR,
        max_length=MAX_WORDS_BYTES,
        enable_analyzer=True,
        analyzer_params={"tokenizer": "whitespace"},
    )
    words = FieldSchema(WORDS_FIELD, DataType.SPARSE_FLOAT_VECTOR)
    bm25 = Function("bm25", FunctionType.BM25, input_field_names=[TEXT_FIELD], output_field_names=[WORDS_FIELD])
    fields = [*_scalar_fields(), text, words]
    return CollectionSchema(fields, functions=[bm25], auto_id=False, enable_dynamic_field=False)


def text_index() -> IndexParams:
    """The index of the BM25 vectors."""
    parameters = IndexParams()
    parameters.add_index(WORDS_FIELD, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return parameters


def _scalar_fields() -> list[FieldSchema]:
    def text(name: str, *, is_primary: bool = False) -> FieldSchema:
        return FieldSchema(name, DataType.VARCHAR, max_length=MAX_TEXT_BYTES * STORED_EXPANSION, is_primary=is_primary)

    tags = FieldSchema(
        "tags",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MAX_TAGS,
        max_length=MAX_TAG_CHARS * BYTES_PER_CHAR,  # percent encoding makes 3 bytes of a one-byte character: fits
    )
    return [
        text("chunk_id", is_primary=True),
        text("document_id"),
        text("revision_id"),
        text("base_id"),
        FieldSchema("organ_id", DataType.INT64),
        FieldSchema("searchable", DataType.BOOL),
        tags,
        text("source_type"),
    ]
