"""The step that stages the words of chunks in the lexical index."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar

from lorebase.artifacts.kinds import CHUNKS, FULL_TEXT_INDEX, ArtifactKind, IndexedChunk
from lorebase.index.ports import LexicalIndex
from lorebase.registry.document_classes import DOCUMENT_CLASSES, labels_of_classes
from lorebase.runs.capabilities import FULL_TEXT
from lorebase.runs.staging import TEXT_COLLECTION, Staging, stage_texts, staging_report
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class IndexFullText(Step):
    """Write the text of chunks into the lexical index, not yet searchable. Unlocks `full_text_search`."""

    type_name: ClassVar[str] = "index_full_text"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS,)
    reads_if_present: ClassVar[tuple[ArtifactKind[Any], ...]] = (DOCUMENT_CLASSES,)
    produces: ClassVar[ArtifactKind[Any]] = FULL_TEXT_INDEX
    search_asset: ClassVar[str] = FULL_TEXT

    def collection_of(self, context: StepExecutionContext) -> str:
        """One collection a knowledge base."""
        del context
        return TEXT_COLLECTION

    def index_of(self, context: StepExecutionContext) -> LexicalIndex:
        """The lexical index of the base."""
        return context.index_store.lexical(context.base_name)

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[IndexedChunk]]:
        """Stage the chunks of all partitions that the index does not hold yet, labelled as their documents are."""
        chunks = [partition.rows(CHUNKS) for partition in partitions]
        labels = labels_of_classes(chain.from_iterable(partition.rows(DOCUMENT_CLASSES) for partition in partitions))
        staging = Staging(context.base_name, labels, searchable=context.stages_searchable, relabels=context.relabels)
        written = await stage_texts(self.index_of(context), list(chain.from_iterable(chunks)), staging)
        return [
            staging_report(
                rows,
                {chunk.chunk_id for chunk in rows},
                computed=sum(chunk.chunk_id in written for chunk in rows),
                labels=labels,
            )
            for rows in chunks
        ]
