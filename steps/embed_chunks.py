"""The step that gives every chunk its vector."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, ArtifactKind, EmbeddedChunk
from lorebase.documents.model import Chunk
from lorebase.fingerprint import fingerprint
from lorebase.models.ports import Embedder, EmbeddingBatch, EmbeddingFailure, ModelUsage
from lorebase.models.settings import LOCAL_PROVIDER
from lorebase.runs.budget import RunBudget
from lorebase.runs.executor import first_failure
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext

EMBEDDING = "embedding"

_LOCAL_BATCH_TEXTS = 32
"""A local model works on one batch at a time: small ones lose little when the process is killed."""

_LOCAL_BATCH_CHARS = 32_768
_BATCH_CHARS = 250_000
"""Longest batch that is surely one call: above it an embedder makes several requests of one batch."""

_Item = tuple[str, Chunk]


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
        work = await self._work(partitions, context)
        try:
            while work.batches or work.awaited:
                async with asyncio.TaskGroup() as tasks:
                    for batch in work.batches:
                        tasks.create_task(work.embed(batch))
                await self._take_up(work)
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None  # retries look at its class
        finally:
            work.partition.release(work.claimed)
        return self._reports(work)

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[EmbeddedChunk]]:
        """Count the distinct texts that the ledger does not hold; vectors of zeros stand in for theirs."""
        work = await self._work(partitions, context)
        for batch in work.batches:
            work.pretend(batch)
        work.take_over(dict.fromkeys(work.awaited, work.zeros))  # another task run would embed them
        return self._reports(work)

    async def _work(self, partitions: Sequence[Partition], context: StepExecutionContext) -> _Embedding:
        """What a task run has before it, in the batches in which it will be sent."""
        chunks = [partition.rows(CHUNKS) for partition in partitions]
        work = _Embedding(
            context.require_embedder(self.type_name),
            partitions[0],
            context.budget,
            context.embedding_slots,
            chunks,
            first_of={_item_key(chunk): chunk for chunk in reversed(list(chain.from_iterable(chunks)))},
        )
        await self._divide(work, list(work.first_of))
        return work

    async def _divide(self, work: _Embedding, keys: Sequence[str]) -> None:
        """Say of each text whether it is finished, is embedded here, or is being embedded by another task run."""
        claimed, work.awaited = work.partition.claim(keys)
        work.claimed |= claimed
        mine = [key for key in keys if key in claimed]
        found = await asyncio.to_thread(work.partition.finished, EMBEDDINGS, mine)
        work.take_over({key: row.vector for key, row in found.items()})
        work.partition.release(found)
        is_local = work.embedder.profile.provider == LOCAL_PROVIDER
        batches = _batches(
            [(key, work.first_of[key]) for key in mine if key not in found],
            max_texts=min(self.batch_texts, _LOCAL_BATCH_TEXTS) if is_local else self.batch_texts,
            max_chars=_LOCAL_BATCH_CHARS if is_local else _BATCH_CHARS,
        )
        work.batches = list(batches)

    async def _take_up(self, work: _Embedding) -> None:
        """Wait for the texts that other task runs embed; what they have given up is still to do here."""
        keys = list(work.awaited)
        await asyncio.gather(*(asyncio.wrap_future(ended) for ended in work.awaited.values()))
        await self._divide(work, keys)

    def _reports(self, work: _Embedding) -> list[PartitionReport[EmbeddedChunk]]:
        paid_by = _first_partition_of_each(work.chunks)
        return [self._report(number, rows, work, paid_by) for number, rows in enumerate(work.chunks)]

    def _report(
        self, number: int, chunks: Sequence[Chunk], work: _Embedding, paid_by: dict[str, int]
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


@dataclass
class _Embedding:
    """What has come together while the texts of a task run are embedded.

    `first_of` holds a chunk of each distinct text by the text's key, `known` the keys of those that cost nothing here,
    and `awaited` those that another task run of this process embeds.
    """

    embedder: Embedder
    partition: Partition
    budget: RunBudget
    slots: asyncio.Semaphore
    chunks: Sequence[Sequence[Chunk]]
    first_of: dict[str, Chunk]
    batches: Sequence[Sequence[_Item]] = ()
    claimed: set[str] = field(default_factory=set)
    awaited: dict[str, Future[None]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    failures: dict[str, EmbeddingFailure] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def embed(self, items: Sequence[_Item]) -> None:
        """Embed one batch, if the budget allows, and write its vectors down before the budget may stop the build."""
        async with (
            self.slots,
            self.budget.reserve(self.partition.step_name, EMBEDDING, _expected(items)) as reservation,
        ):
            batch = await self.embedder.embed_passages([chunk.indexed_text for _, chunk in items])
            reservation.settle(batch.usage)
            await self._keep(items, batch)

    def pretend(self, items: Sequence[_Item]) -> None:
        """Count one batch, and let zeros stand for its vectors."""
        self.usage += _expected(items)
        self.vectors.update((key, self.zeros) for key, _ in items)

    def take_over(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Take vectors that cost nothing here."""
        self.known.update(vectors)
        self.vectors.update(vectors)

    @property
    def zeros(self) -> NDArray[np.float32]:
        """A vector that stands in for one that is not made."""
        return np.zeros(self.embedder.profile.dimensions, dtype=np.float32)

    async def _keep(self, items: Sequence[_Item], batch: EmbeddingBatch) -> None:
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
        self.partition.release(key for key, _ in items)


def _expected(items: Sequence[_Item]) -> ModelUsage:
    """What one batch takes, by the tokens that were counted when its chunks were cut."""
    return ModelUsage(1, sum(chunk.tokens for _, chunk in items))


def _batches(items: Sequence[_Item], *, max_texts: int, max_chars: int) -> Iterator[Sequence[_Item]]:
    """Neighbouring items, each batch within both limits; an item over `max_chars` goes alone."""
    start = chars = 0
    for place, (_, chunk) in enumerate(items):
        length = len(chunk.indexed_text)
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
