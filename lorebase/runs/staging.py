"""Staging: chunks written into an index by the index steps, and again by a rollback, before they are live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lorebase.artifacts.kinds import IndexedChunk
from lorebase.documents.model import Chunk
from lorebase.errors import CorruptObjectError
from lorebase.index.ports import EntityFields, IndexStore, LexicalIndex, TextEntity, VectorEntity, VectorIndex
from lorebase.runs.activation import missing_ids
from lorebase.runs.step import PartitionReport

TEXT_COLLECTION = "text"
"""The one collection of words that a base has."""

_VECTORS = "vectors/"


def vectors_collection(profile_id: str) -> str:
    """The collection of a base's vectors for one embedding profile."""
    return f"{_VECTORS}{profile_id}"


def index_of_collection(
    store: IndexStore, base_name: str, collection: str, *, dimensions: int
) -> VectorIndex | LexicalIndex:
    """The index behind a collection's name in a snapshot or a run record.

    Args:
        store: The indexes.
        base_name: The knowledge base.
        collection: As `TEXT_COLLECTION` or `vectors_collection` give it.
        dimensions: Width of the vectors; only writes and searches of vectors ask for it.

    Raises:
        CorruptObjectError: This program knows no such collection.
    """
    if collection == TEXT_COLLECTION:
        return store.lexical(base_name)
    if collection.startswith(_VECTORS):
        return store.vectors(base_name, collection.removeprefix(_VECTORS), dimensions)
    raise CorruptObjectError(
        f"A snapshot of {base_name!r} fills the collection {collection!r}, which this program does not know.",
        remedy="Upgrade Lorebase.",
    )


async def stage_texts(
    index: LexicalIndex, chunks: Sequence[Chunk], base_name: str, *, searchable: bool = False
) -> set[str]:
    """Write the words of those chunks that the index does not hold. Returns the ids of those written."""
    missing = await _chunks_to_stage(index, chunks)
    await index.upsert(
        [TextEntity(_staged_fields(chunk, base_name, searchable=searchable), chunk.indexed_text) for chunk in missing]
    )
    return {chunk.chunk_id for chunk in missing}


async def stage_vectors(
    index: VectorIndex,
    chunks: Sequence[Chunk],
    vectors: Mapping[str, NDArray[np.float32]],
    base_name: str,
    *,
    searchable: bool = False,
) -> set[str]:
    """Write the vectors of those chunks that have one and that the index does not hold.

    Returns:
        The ids of those written.
    """
    missing = await _chunks_to_stage(index, [chunk for chunk in chunks if chunk.chunk_id in vectors])
    await index.upsert(
        [
            VectorEntity(_staged_fields(chunk, base_name, searchable=searchable), vectors[chunk.chunk_id])
            for chunk in missing
        ]
    )
    return {chunk.chunk_id for chunk in missing}


def staging_report(chunks: Sequence[Chunk], staged: set[str], *, computed: int) -> PartitionReport[IndexedChunk]:
    """The report of a partition whose chunks of `staged` are in the index."""
    rows = sorted(
        (
            IndexedChunk(chunk.chunk_id, chunk.document_id, chunk.revision_id)
            for chunk in chunks
            if chunk.chunk_id in staged
        ),
        key=lambda row: row.chunk_id,
    )
    return PartitionReport(
        rows=rows,
        items=len(rows),
        computed_items=computed,
        ledger_items=len(rows) - computed,
        documents=len({chunk.document_id for chunk in chunks}),
    )


def _staged_fields(chunk: Chunk, base_name: str, *, searchable: bool) -> EntityFields:
    """The fields of a chunk that is staged."""
    return EntityFields(
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        revision_id=chunk.revision_id,
        base_id=base_name,
        searchable=searchable,
    )


async def _chunks_to_stage(index: VectorIndex | LexicalIndex, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Those chunks that the index does not hold.

    A chunk's id covers its text and place, so one that is there is right as it is; writing it again would hide it from
    the searches of the live snapshot.
    """
    missing = await missing_ids(index, [chunk.chunk_id for chunk in chunks])
    return [chunk for chunk in chunks if chunk.chunk_id in missing]
