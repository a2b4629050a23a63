"""What the two index steps share: which chunks still have to be staged, and what they report."""

from __future__ import annotations

from collections.abc import Sequence

from lorebase.artifacts.kinds import IndexedChunk
from lorebase.documents.model import Chunk
from lorebase.index.ports import EntityFields, LexicalIndex, VectorIndex
from lorebase.runs.activation import missing_ids
from lorebase.runs.step import PartitionReport


def staged_fields(chunk: Chunk, base_name: str) -> EntityFields:
    """The fields of a chunk that no search returns yet."""
    return EntityFields(
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        revision_id=chunk.revision_id,
        base_id=base_name,
        searchable=False,
    )


async def chunks_to_stage(index: VectorIndex | LexicalIndex, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Those chunks that the index does not hold.

    A chunk's id covers its text and place, so one that is there is right as it is; writing it again would hide it from
    the searches of the live snapshot.
    """
    missing = await missing_ids(index, [chunk.chunk_id for chunk in chunks])
    return [chunk for chunk in chunks if chunk.chunk_id in missing]


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
