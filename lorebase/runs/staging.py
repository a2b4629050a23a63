"""Staging: chunks written into an index by the index steps, and again by a rollback, before they are live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lorebase.artifacts.kinds import IndexedChunk, IndexedEntry
from lorebase.documents.model import Chunk
from lorebase.errors import CorruptObjectError
from lorebase.index.entries import Entry, EntryIndex, entry_kind_of, open_entries
from lorebase.index.ports import (
    EntityFields,
    EntityIndex,
    IndexStore,
    LexicalIndex,
    TextEntity,
    VectorEntity,
    VectorIndex,
)
from lorebase.runs.activation import fields_by_id
from lorebase.runs.step import PartitionReport

TEXT_COLLECTION = "text"
"""The one collection of words that a base has."""

_VECTORS = "vectors/"


@dataclass(frozen=True, slots=True)
class EntityLabels:
    """What entities of a document can be filtered by.

    Attributes:
        source_type: The document's type; empty where it has none.
        tags: Its tags.
    """

    source_type: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Staging:
    """How entities are written.

    Attributes:
        base_name: The knowledge base.
        labels: What the entities of a document are labelled with, by document id.
        searchable: Whether searches return them at once.
        relabels: Whether entities that searches return get other labels; otherwise only those that none returns do.
    """

    base_name: str
    labels: Mapping[str, EntityLabels] = field(default_factory=dict)
    searchable: bool = False
    relabels: bool = False

    def fields_of(self, chunk: Chunk) -> EntityFields:
        """The fields of a chunk that is staged."""
        labels = self.labels.get(chunk.document_id, _NO_LABELS)
        return EntityFields(
            chunk_id=chunk.chunk_id,
            document_id=chunk.document_id,
            revision_id=chunk.revision_id,
            base_id=self.base_name,
            searchable=self.searchable,
            tags=labels.tags,
            source_type=labels.source_type,
        )


_NO_LABELS = EntityLabels()


def labels_of_rows(rows: Iterable[IndexedChunk]) -> dict[str, EntityLabels]:
    """The labels that an index artifact says, by document id."""
    return {row.document_id: EntityLabels(row.source_type, row.tags) for row in rows}


def vectors_collection(profile_id: str) -> str:
    """The collection of a base's vectors for one embedding profile."""
    return f"{_VECTORS}{profile_id}"


def index_of_collection(store: IndexStore, base_name: str, collection: str, *, dimensions: int) -> EntityIndex:
    """The index behind a collection's name in a snapshot or a run record.

    Args:
        store: The indexes.
        base_name: The knowledge base.
        collection: As `TEXT_COLLECTION`, `vectors_collection` or `entry_collection` give it.
        dimensions: Width of the vectors; only writes and searches of vectors ask for it.

    Raises:
        CorruptObjectError: This program knows no such collection.
    """
    if collection == TEXT_COLLECTION:
        return store.lexical(base_name)
    if entry_kind_of(collection) is not None:
        return open_entries(store, base_name, collection, dimensions=dimensions)
    if collection.startswith(_VECTORS):
        return store.vectors(base_name, collection.removeprefix(_VECTORS), dimensions)
    raise CorruptObjectError(
        f"A snapshot of {base_name!r} fills the collection {collection!r}, which this program does not know.",
        remedy="Upgrade Lorebase.",
    )


async def stage_texts(index: LexicalIndex, chunks: Sequence[Chunk], staging: Staging) -> set[str]:
    """Write the words of those chunks that the index lacks or labels otherwise. Returns the ids of those written."""
    lacking = await _lacking(index, chunks, staging)
    texts = {chunk.chunk_id: chunk.indexed_text for chunk in chunks if chunk.chunk_id in lacking}
    await index.upsert([TextEntity(fields, texts[chunk_id]) for chunk_id, fields in lacking.items()])
    return set(lacking)


async def stage_vectors(
    index: VectorIndex, chunks: Sequence[Chunk], vectors: Mapping[str, NDArray[np.float32]], staging: Staging
) -> set[str]:
    """Write the vectors of those chunks that have one and that the index lacks or labels otherwise.

    Returns:
        The ids of those written.
    """
    lacking = await _lacking(index, [chunk for chunk in chunks if chunk.chunk_id in vectors], staging)
    await index.upsert([VectorEntity(fields, vectors[chunk_id]) for chunk_id, fields in lacking.items()])
    return set(lacking)


async def stage_entries(
    index: EntryIndex, rows: Sequence[IndexedEntry], base_name: str, *, searchable: bool = False
) -> set[str]:
    """Write those entries that the index does not hold whole; their ids cover what they say.

    Returns:
        The ids of those written.
    """
    present = await fields_by_id(index, [row.chunk_id for row in rows])
    lacking = [row for row in rows if row.chunk_id not in present]
    await index.upsert([_entry(row, base_name, searchable=searchable) for row in lacking])
    return {row.chunk_id for row in lacking}


def _entry(row: IndexedEntry, base_name: str, *, searchable: bool) -> Entry:
    fields = EntityFields(
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        revision_id=row.revision_id,
        base_id=base_name,
        searchable=searchable,
    )
    return Entry(fields, row.text, row.vector)


def staging_report(
    chunks: Sequence[Chunk], staged: set[str], *, computed: int, labels: Mapping[str, EntityLabels]
) -> PartitionReport[IndexedChunk]:
    """The report of a partition whose chunks of `staged` are in the index."""
    rows = sorted(
        (_indexed(chunk, labels.get(chunk.document_id, _NO_LABELS)) for chunk in chunks if chunk.chunk_id in staged),
        key=lambda row: row.chunk_id,
    )
    return PartitionReport(
        rows=rows,
        items=len(rows),
        computed_items=computed,
        ledger_items=len(rows) - computed,
        documents=len({chunk.document_id for chunk in chunks}),
    )


def _indexed(chunk: Chunk, labels: EntityLabels) -> IndexedChunk:
    return IndexedChunk(chunk.chunk_id, chunk.document_id, chunk.revision_id, labels.source_type, labels.tags)


async def _lacking(index: EntityIndex, chunks: Sequence[Chunk], staging: Staging) -> dict[str, EntityFields]:
    """The fields of those chunks that have to be written, by chunk id.

    A chunk's id covers its text and place, so one that is there is right as it is but for its labels. Searches of the
    live snapshot go on returning what they return, with the labels that it has there, until the switch.
    """
    present = await fields_by_id(index, [chunk.chunk_id for chunk in chunks])
    lacking = {}
    for chunk in chunks:
        wanted, found = staging.fields_of(chunk), present.get(chunk.chunk_id)
        if found is None:
            lacking[chunk.chunk_id] = wanted
        elif (found.source_type, found.tags) != (wanted.source_type, wanted.tags) and (
            staging.relabels or staging.searchable or not found.searchable
        ):
            lacking[chunk.chunk_id] = replace(wanted, searchable=found.searchable)
    return lacking
