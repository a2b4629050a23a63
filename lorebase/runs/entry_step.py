"""What the steps share that index other things than chunks: their vectors, their staging, their report."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lorebase.artifacts.kinds import ArtifactKind, IndexedEntry
from lorebase.fingerprint import fingerprint
from lorebase.index.entries import EntryIndex, entry_collection, open_entries
from lorebase.index.ports import EntityKind
from lorebase.models.ports import Embedder, ModelUsage
from lorebase.models.token_estimate import estimate_tokens
from lorebase.runs.records import Issue, Subject
from lorebase.runs.staging import stage_entries
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext

EMBEDDING = "embedding"
_BATCH_TEXTS = 32
_BATCH_CHARS = 32_768
_NO_VECTOR: NDArray[np.float32] = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """What is to be found.

    Attributes:
        entry_id: Its key in the index; covers all that it says.
        document_id: The document that it is counted to.
        revision_id: What it stands for.
        document_ids: Every document that it says something of.
        text: What is searched.
    """

    entry_id: str
    document_id: str
    revision_id: str
    document_ids: tuple[str, ...]
    text: str


class EntryIndexStep(Step):
    """Stages entries in an index of their own kind, by words and, where it may, by meaning."""

    search_by: Literal["auto", "words", "both"] = Field(
        "auto",
        description='How entries are found: by "words", or by "both" words and meaning, which takes an embedding '
        'model. "auto" takes both where the recipe has one.',
        json_schema_extra={"affects_result": False},  # the collection is part of the identity
    )

    optional_models: ClassVar[tuple[str, ...]] = (EMBEDDING,)
    spans_partitions: ClassVar[bool] = True
    entity_kind: ClassVar[EntityKind]

    def embedder_of(self, context: StepExecutionContext) -> Embedder | None:
        """The embedding model; None where entries are found by their words alone.

        Raises:
            ConfigurationError: The recipe asks for meaning and names no embedding model.
        """
        if self.search_by == "words":
            return None
        return context.require_embedder(self.type_name) if self.search_by == "both" else context.embedder

    def called_models(self) -> tuple[str, ...]:
        """The embedding model, unless entries are found by their words alone."""
        return () if self.search_by == "words" else (EMBEDDING,)

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The collection it fills."""
        return {"collection": self.collection_of(context)}

    def collection_of(self, context: StepExecutionContext) -> str:
        """One collection a kind, and an embedding profile where there is one."""
        embedder = self.embedder_of(context)
        return entry_collection(self.entity_kind, embedder.profile.profile_id if embedder else "")

    def index_of(self, context: StepExecutionContext) -> EntryIndex:
        """The index of the base for its kind of entry."""
        embedder = self.embedder_of(context)
        dimensions = embedder.profile.dimensions if embedder else 0
        return open_entries(context.index_store, context.base_name, self.collection_of(context), dimensions=dimensions)

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[IndexedEntry]]:
        """Embed the entries that are new, and stage those that the index does not hold."""
        return [await self._indexed(partition, context, pretends=False) for partition in partitions]

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[IndexedEntry]]:
        """Count the entries that have no vector yet; vectors of zeros stand in for theirs."""
        return [await self._indexed(partition, context, pretends=True) for partition in partitions]

    async def _indexed(
        self, partition: Partition, context: StepExecutionContext, *, pretends: bool
    ) -> PartitionReport[IndexedEntry]:
        drafts, issues = await asyncio.to_thread(self._drafts, partition, context)
        drafts = list({draft.entry_id: draft for draft in drafts}.values())
        vectors = _Vectors(partition, self.produces, context, self.embedder_of(context))
        await vectors.find(drafts, pretends=pretends)
        rows = [row for draft in drafts if (row := vectors.row_of(draft)) is not None]
        rows.sort(key=lambda row: row.chunk_id)
        if not pretends:
            await stage_entries(self.index_of(context), rows, context.base_name, searchable=context.stages_searchable)
        failed = [
            self._issue_of(draft, vectors.failures[_key(draft)]) for draft in drafts if _key(draft) in vectors.failures
        ]
        return PartitionReport(
            rows=rows,
            items=len(drafts),
            computed_items=len(drafts) - vectors.from_ledger,
            ledger_items=vectors.from_ledger,
            failed_items=len(failed),
            documents=len({document_id for row in rows for document_id in row.document_ids}),
            usage=vectors.usage,
            usd=context.budget.cost_usd(EMBEDDING, vectors.usage),
            issues=(*issues, *failed),
        )

    def _issue_of(self, draft: EntryDraft, reason: str) -> Issue:
        subject = Subject(kind="document", id=draft.document_id)
        return self.issue("EMBEDDING_FAILED", f"{draft.text[:80]!r} got no vector: {reason}", subject, severity="error")

    @abstractmethod
    def _drafts(self, partition: Partition, context: StepExecutionContext) -> tuple[list[EntryDraft], list[Issue]]:
        """The entries, and what is to be said about them. Blocking."""


def _key(draft: EntryDraft) -> str:
    return fingerprint("entry", draft.text)


@dataclass
class _Vectors:
    """The vectors of entries, each distinct text embedded once.

    Attributes:
        known: Vectors by key.
        failures: Why texts have none, by key.
        usage: What the model took.
        from_ledger: Entries whose vector was paid for before.
    """

    partition: Partition
    kind: ArtifactKind[IndexedEntry]
    context: StepExecutionContext
    embedder: Embedder | None
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)
    from_ledger: int = 0

    async def find(self, drafts: Sequence[EntryDraft], *, pretends: bool) -> None:
        """Look them up, and embed the rest."""
        if self.embedder is None:
            return
        by_key = {_key(draft): draft for draft in drafts}
        found = await asyncio.to_thread(self.partition.finished, self.kind, list(by_key))
        self.known = {key: row.vector for key, row in found.items()}
        self.from_ledger = sum(_key(draft) in found for draft in drafts)
        todo = [draft for key, draft in by_key.items() if key not in found]
        for batch in _batches(todo):
            if pretends:
                self.usage += _expected(batch)
                zeros = np.zeros(self.embedder.profile.dimensions, dtype=np.float32)
                self.known.update((_key(draft), zeros) for draft in batch)
            else:
                await self._embed(batch, self.embedder)

    async def _embed(self, batch: Sequence[EntryDraft], embedder: Embedder) -> None:
        async with (
            self.context.embedding_slots,
            self.context.budget.reserve(self.partition.step_name, EMBEDDING, _expected(batch)) as reservation,
        ):
            answer = await embedder.embed_passages([draft.text for draft in batch])
            reservation.settle(answer.usage)
            self.usage += answer.usage
            failed = {failure.index: failure.message for failure in answer.failures}
            for place, draft in enumerate(batch):
                if place in failed:
                    self.failures[_key(draft)] = failed[place]
                else:
                    self.known[_key(draft)] = answer.vectors[place]
            rows = [row for draft in batch if (row := self.row_of(draft)) is not None]
            await asyncio.to_thread(self.partition.record, self.kind, rows)

    def row_of(self, draft: EntryDraft) -> IndexedEntry | None:
        """The entry as it is staged; None where its text could not be embedded."""
        key = _key(draft)
        vector = _NO_VECTOR if self.embedder is None else self.known.get(key)
        if vector is None:
            return None
        return IndexedEntry(
            draft.entry_id,
            draft.document_id,
            draft.revision_id,
            key=key,
            document_ids=draft.document_ids,
            text=draft.text,
            vector=vector,
        )


def _batches(drafts: Sequence[EntryDraft]) -> list[list[EntryDraft]]:
    """Neighbouring drafts, each batch within both limits; a draft over the limit goes alone."""
    batches: list[list[EntryDraft]] = []
    chars = 0
    for draft in drafts:
        if not batches or len(batches[-1]) == _BATCH_TEXTS or chars + len(draft.text) > _BATCH_CHARS:
            batches.append([])
            chars = 0
        batches[-1].append(draft)
        chars += len(draft.text)
    return batches


def _expected(batch: Sequence[EntryDraft]) -> ModelUsage:
    return ModelUsage(1, sum(estimate_tokens(draft.text) for draft in batch))
