"""The step that gives every chunk its vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from pydantic import Field

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, ArtifactKind, EmbeddedChunk
from lorebase.documents.model import Chunk
from lorebase.fingerprint import fingerprint
from lorebase.models.ports import EmbeddingFailure, ModelUsage
from lorebase.models.settings import LOCAL_PROVIDER
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext
from lorebase.runs.text_embedding import EMBEDDING, TextEmbedding, TextItem

_LOCAL_BATCH_TEXTS = 32
"""A local model works on one batch at a time: small ones lose little when the process is killed."""

_LOCAL_BATCH_CHARS = 32_768
_BATCH_CHARS = 250_000
"""Longest batch that is surely one call: above it an embedder makes several requests of one batch."""


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
    models: ClassVar[tuple[str, ...]] = (EMBEDDING,)
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
        return await self._embedded(partitions, context, pretends=False)

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[EmbeddedChunk]]:
        """Count the distinct texts that the ledger does not hold; vectors of zeros stand in for theirs."""
        return await self._embedded(partitions, context, pretends=True)

    async def _embedded(
        self, partitions: Sequence[Partition], context: StepExecutionContext, *, pretends: bool
    ) -> list[PartitionReport[EmbeddedChunk]]:
        embedder = context.require_embedder(self.type_name)
        chunks = [partition.rows(CHUNKS) for partition in partitions]
        first_of = {_item_key(chunk): chunk for chunk in reversed(list(chain.from_iterable(chunks)))}
        is_local = embedder.profile.provider == LOCAL_PROVIDER
        work = TextEmbedding(
            embedder,
            partitions[0],
            context.budget,
            context.embedding_slots,
            items={key: TextItem(key, chunk.indexed_text, chunk.tokens) for key, chunk in first_of.items()},
            kind=EMBEDDINGS,
            row_of=lambda key, vector: EmbeddedChunk(key, first_of[key].chunk_id, first_of[key].document_id, vector),
            batches_of=partial(
                _batches,
                max_texts=min(self.batch_texts, _LOCAL_BATCH_TEXTS) if is_local else self.batch_texts,
                max_chars=_LOCAL_BATCH_CHARS if is_local else _BATCH_CHARS,
            ),
        )
        await (work.pretend() if pretends else work.run())
        paid_by = _first_partition_of_each(chunks)
        return [self._report(number, rows, work, paid_by) for number, rows in enumerate(chunks)]

    def _report(
        self, number: int, chunks: Sequence[Chunk], work: TextEmbedding[EmbeddedChunk], paid_by: dict[str, int]
    ) -> PartitionReport[EmbeddedChunk]:
        rows: list[EmbeddedChunk] = []
        issues: list[Issue] = []
        from_ledger = 0
        counted: set[str] = set()
        for chunk in chunks:
            key = _item_key(chunk)
            if key in work.failures:
                issues.append(self._issue_of(chunk, work.failures[key]))
                continue
            from_ledger += key in work.known or key in counted or paid_by[key] != number
            counted.add(key)
            rows.append(EmbeddedChunk(key, chunk.chunk_id, chunk.document_id, work.vectors[key]))
        return PartitionReport(
            rows=rows,
            items=len(chunks),
            computed_items=len(chunks) - from_ledger,
            ledger_items=from_ledger,
            failed_items=len(issues),
            documents=len({chunk.document_id for chunk in chunks}),
            usage=work.usage if number == 0 else ModelUsage(),
            usd=work.budget.cost_usd(EMBEDDING, work.usage) if number == 0 else 0.0,
            issues=tuple(issues),
        )

    def _issue_of(self, chunk: Chunk, failure: EmbeddingFailure) -> Issue:
        subject = Subject(kind="chunk", id=chunk.chunk_id, name=f"{chunk.document_name} #{chunk.position}")
        return self.issue(f"EMBEDDING_{failure.code}", failure.message, subject, severity="error")


def _batches(items: Sequence[TextItem], *, max_texts: int, max_chars: int) -> Iterator[Sequence[TextItem]]:
    """Neighbouring items, each batch within both limits; an item over `max_chars` goes alone."""
    start = chars = 0
    for place, item in enumerate(items):
        length = len(item.text)
        if place > start and (place - start == max_texts or chars + length > max_chars):
            yield items[start:place]
            start, chars = place, 0
        chars += length
    if start < len(items):
        yield items[start:]


def _item_key(chunk: Chunk) -> str:
    return fingerprint("embed", chunk.indexed_text)


def _first_partition_of_each(chunks: Sequence[Sequence[Chunk]]) -> dict[str, int]:
    """Which partition's chunk had each text first: that one counts as computed, repeats of it as known."""
    first: dict[str, int] = {}
    for number, rows in enumerate(chunks):
        for chunk in rows:
            first.setdefault(_item_key(chunk), number)
    return first
