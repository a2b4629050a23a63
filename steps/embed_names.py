"""The step that gives names of entities their vectors, where a vector can join them to another name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from pydantic import Field

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.kinds import ENTITY_MENTIONS, RELATION_MENTIONS
from lorebase.extraction.name_vectors import ENTITY_NAME_VECTORS, NameVector, name_vector_key
from lorebase.extraction.resolution_comparable import comparable_names
from lorebase.extraction.resolution_forms import clean_name
from lorebase.models.ports import Embedder
from lorebase.models.settings import LOCAL_PROVIDER
from lorebase.models.token_estimate import estimate_tokens
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext
from lorebase.runs.text_embedding import EMBEDDING, TextEmbedding, TextItem

_LOCAL_BATCH_NAMES = 64
"""A local model works on one batch at a time: small ones lose little when the process is killed."""


@dataclass(frozen=True, slots=True)
class EntityName:
    """A name with the key of its vector, and a document that has it."""

    key: str
    name: str
    document_id: str


class EmbedNames(Step):
    """Embed names of entities, so that `resolve_entities` finds translations. Unlocks nothing by itself.

    Only names that a vector can join to another are embedded, each once ever: those with a counterpart in another
    script, where the base has documents in both, and abbreviations with what they may stand for. What spelling can
    match needs no vector, so a base in one script sends next to nothing. Which names these are depends on the names
    of the whole base (lorebase.extraction.resolution_comparable), therefore it spans partitions; a changed document
    sends the names that are new.

    Where the recipe has no embedding model it leaves nothing, and names are compared as they are written.
    """

    batch_names: int = Field(
        256, ge=1, le=2048, description="Most names in one request.", json_schema_extra={"affects_result": False}
    )

    type_name: ClassVar[str] = "embed_names"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (ENTITY_MENTIONS, RELATION_MENTIONS)
    produces: ClassVar[ArtifactKind[Any]] = ENTITY_NAME_VECTORS
    optional_models: ClassVar[tuple[str, ...]] = (EMBEDDING,)
    item_name: ClassVar[str] = "names"
    segment_items: ClassVar[int] = 1  # each answered request is written down at once
    spans_partitions: ClassVar[bool] = True  # no part of its identity: vectors paid for before stay in the ledger

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The embedding profile, where the recipe has a model."""
        return {"model.profile": context.embedder.profile.profile_id if context.embedder else "none"}

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[NameVector]]:
        """Embed each distinct name once."""
        return [await self._embedded(partition, context, pretends=False) for partition in partitions]

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[NameVector]]:
        """Count the distinct names that the ledger does not hold."""
        return [await self._embedded(partition, context, pretends=True) for partition in partitions]

    async def _embedded(
        self, partition: Partition, context: StepExecutionContext, *, pretends: bool
    ) -> PartitionReport[NameVector]:
        if context.embedder is None:
            return PartitionReport(rows=[], items=0, computed_items=0)
        names = await asyncio.to_thread(_names_of, partition)
        first_of = {name.key: name for name in reversed(names)}
        work = TextEmbedding(
            context.embedder,
            partition,
            context.budget,
            context.embedding_slots,
            items={key: TextItem(key, name.name, estimate_tokens(name.name)) for key, name in first_of.items()},
            kind=ENTITY_NAME_VECTORS,
            row_of=lambda key, vector: NameVector(key, first_of[key].document_id, vector),
            batches_of=partial(_batches, size=self._batch_names(context.embedder)),
        )
        await (work.pretend() if pretends else work.run())
        return self._report(names, work)

    def _batch_names(self, embedder: Embedder) -> int:
        is_local = embedder.profile.provider == LOCAL_PROVIDER
        return min(self.batch_names, _LOCAL_BATCH_NAMES) if is_local else self.batch_names

    def _report(self, names: Sequence[EntityName], work: TextEmbedding[NameVector]) -> PartitionReport[NameVector]:
        """Rows of every document, and counts of distinct names; one without a vector holds nothing up."""
        distinct = {name.key: name for name in reversed(names)}
        computed = len(distinct.keys() - work.known)
        return PartitionReport(
            rows=[
                NameVector(name.key, name.document_id, work.vectors[name.key])
                for name in names
                if name.key in work.vectors
            ],
            items=len(distinct),
            computed_items=computed,
            ledger_items=len(distinct) - computed,
            documents=len({name.document_id for name in names}),
            usage=work.usage,
            usd=work.budget.cost_usd(EMBEDDING, work.usage),
            issues=tuple(
                self._issue_of(name, work.failures[key].message)
                for key, name in sorted(distinct.items())
                if key in work.failures
            ),
        )

    def _issue_of(self, name: EntityName, reason: str) -> Issue:
        message = f"The name {name.name!r:.80} got no vector, so it is compared only as it is written: {reason}"
        return self.issue("NAME_NOT_EMBEDDED", message, Subject(kind="document", id=name.document_id))


def _batches(items: Sequence[TextItem], *, size: int) -> Iterator[Sequence[TextItem]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _names_of(partition: Partition) -> list[EntityName]:
    """The names to embed of each document, each once, by document and name."""
    mentions = partition.rows(ENTITY_MENTIONS)
    wanted = comparable_names(mentions, partition.rows(RELATION_MENTIONS))
    found = {
        (row.document_id, name)
        for row in mentions
        for mention in row.entities
        if (name := clean_name(mention.name)) in wanted
    }
    key_of = {name: name_vector_key(name) for name in wanted}
    return [EntityName(key_of[name], name, document_id) for document_id, name in sorted(found)]
