"""The step that stages vectors in the vector index."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, VECTOR_INDEX, ArtifactKind, IndexedChunk
from lorebase.index.ports import VectorIndex
from lorebase.registry.document_classes import DOCUMENT_CLASSES, labels_of_classes
from lorebase.runs.capabilities import VECTORS
from lorebase.runs.staging import Staging, stage_vectors, staging_report, vectors_collection
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class IndexVectors(Step):
    """Write the vectors of chunks into the vector index, not yet searchable. Unlocks `vector_search`."""

    type_name: ClassVar[str] = "index_vectors"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS, EMBEDDINGS)
    reads_if_present: ClassVar[tuple[ArtifactKind[Any], ...]] = (DOCUMENT_CLASSES,)
    produces: ClassVar[ArtifactKind[Any]] = VECTOR_INDEX
    search_asset: ClassVar[str] = VECTORS
    models: ClassVar[tuple[str, ...]] = ("embedding",)

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The collection it fills."""
        return {"collection": self.collection_of(context)}

    def called_models(self) -> tuple[str, ...]:
        """None: vectors are there, only their profile is asked for."""
        return ()

    def collection_of(self, context: StepExecutionContext) -> str:
        """One collection an embedding profile."""
        return vectors_collection(context.require_embedder(self.type_name).profile.profile_id)

    def index_of(self, context: StepExecutionContext) -> VectorIndex:
        """The vector index of the base for the recipe's embedding profile."""
        profile = context.require_embedder(self.type_name).profile
        return context.index_store.vectors(context.base_name, profile.profile_id, profile.dimensions)

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[IndexedChunk]]:
        """Stage the chunks of all partitions that the index does not hold yet, labelled as their documents are."""
        chunks = [partition.rows(CHUNKS) for partition in partitions]
        vectors = {row.chunk_id: row.vector for partition in partitions for row in partition.rows(EMBEDDINGS)}
        everything = list(chain.from_iterable(chunks))
        labels = labels_of_classes(chain.from_iterable(partition.rows(DOCUMENT_CLASSES) for partition in partitions))
        staging = Staging(context.base_name, labels, searchable=context.stages_searchable, relabels=context.relabels)
        written = await stage_vectors(self.index_of(context), everything, vectors, staging)
        return [
            staging_report(rows, set(vectors), computed=sum(chunk.chunk_id in written for chunk in rows), labels=labels)
            for rows in chunks
        ]
