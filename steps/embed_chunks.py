"""The step that gives every chunk its vector."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, ArtifactKind, EmbeddedChunk
from lorebase.documents.model import Chunk
from lorebase.fingerprint import fingerprint
from lorebase.models.ports import Embedder, EmbeddingFailure, ModelUsage
from lorebase.models.settings import LOCAL_PROVIDER
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext

_LOCAL_BATCH_TEXTS = 32
"""A local model works on one batch at a time: small ones lose little when the process is killed."""


class EmbedChunks(Step):
    """Embed every chunk once per embedding profile. Unlocks nothing by itself; `index_vectors` needs it.

    A text that was embedded before, in whatever document, is taken from the ledger.
    """

    batch_texts: int = Field(
        256, ge=1, le=2048, description="Most texts in one request.", json_schema_extra={"affects_result": False}
    )

    type_name: ClassVar[str] = "embed_chunks"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS,)
    produces: ClassVar[ArtifactKind[Any]] = EMBEDDINGS
    models: ClassVar[tuple[str, ...]] = ("embedding",)
    segment_items: ClassVar[int] = 1  # each answered request is written down at once

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The embedding profile."""
        profile = context.require_embedder(self.type_name).profile
        return {
            "model.provider": profile.provider,
            "model.name": profile.model,
            "model.version": profile.model_version,
            "model.dimensions": str(profile.dimensions),
        }

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[EmbeddedChunk]]:
        """Embed the texts of all partitions together, each distinct text once."""
        embedder = context.require_embedder(self.type_name)
        chunks = [partition.rows(CHUNKS) for partition in partitions]
        first_of = {_item_key(chunk): chunk for chunk in reversed(list(chain.from_iterable(chunks)))}
        found = await asyncio.to_thread(partitions[0].finished, EMBEDDINGS, list(first_of))
        work = _Embedding(embedder, partitions[0], vectors={key: row.vector for key, row in found.items()})
        todo = [(key, chunk) for key, chunk in first_of.items() if key not in found]
        size = min(self.batch_texts, _LOCAL_BATCH_TEXTS) if embedder.profile.provider == LOCAL_PROVIDER else self.batch_texts
        async with asyncio.TaskGroup() as tasks:
            for first in range(0, len(todo), size):
                tasks.create_task(work.embed(todo[first : first + size]))
        paid_by = _first_partition_of_each(chunks)
        return [self._report(number, rows, work, set(found), paid_by) for number, rows in enumerate(chunks)]

    def _report(
        self, number: int, chunks: Sequence[Chunk], work: _Embedding, known: set[str], paid_by: dict[str, int]
    ) -> PartitionReport[EmbeddedChunk]:
        rows: list[EmbeddedChunk] = []
        issues: list[Issue] = []
        from_ledger = 0
        for chunk in chunks:
            key = _item_key(chunk)
            if key in work.failures:
                issues.append(self._issue_of(chunk, work.failures[key]))
                continue
            from_ledger += key in known or paid_by[key] != number
            rows.append(EmbeddedChunk(key, chunk.chunk_id, chunk.document_id, work.vectors[key]))
        return PartitionReport(
            rows=rows,
            items=len(chunks),
            computed_items=len(chunks) - from_ledger,
            ledger_items=from_ledger,
            failed_items=len(issues),
            documents=len({chunk.document_id for chunk in chunks}),
            usage=work.usage if number == 0 else ModelUsage(),
            issues=tuple(issues),
        )

    def _issue_of(self, chunk: Chunk, failure: EmbeddingFailure) -> Issue:
        subject = Subject(kind="chunk", id=chunk.chunk_id, name=f"{chunk.document_name} #{chunk.position}")
        return self.issue(f"EMBEDDING_{failure.code}", failure.message, subject, severity="error")


@dataclass
class _Embedding:
    """What has come together while the texts of a task run are embedded."""

    embedder: Embedder
    partition: Partition
    vectors: dict[str, NDArray[np.float32]]
    failures: dict[str, EmbeddingFailure] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def embed(self, items: Sequence[tuple[str, Chunk]]) -> None:
        """Embed one batch and write its vectors down."""
        batch = await self.embedder.embed_passages([chunk.indexed_text for _, chunk in items])
        failed = {failure.index: failure for failure in batch.failures}
        rows = []
        for place, (key, chunk) in enumerate(items):
            if place in failed:
                self.failures[key] = failed[place]
            else:
                self.vectors[key] = batch.vectors[place]
                rows.append(EmbeddedChunk(key, chunk.chunk_id, chunk.document_id, batch.vectors[place]))
        self.usage += batch.usage
        await asyncio.to_thread(self.partition.record, EMBEDDINGS, rows)


def _item_key(chunk: Chunk) -> str:
    return fingerprint("embed", chunk.indexed_text)


def _first_partition_of_each(chunks: Sequence[Sequence[Chunk]]) -> dict[str, int]:
    """Which partition's chunk had each text first: that one counts as computed, repeats of it as known."""
    first: dict[str, int] = {}
    for number, rows in enumerate(chunks):
        for chunk in rows:
            first.setdefault(_item_key(chunk), number)
    return first
