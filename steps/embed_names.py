"""The step that gives every name of an entity its vector."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from pydantic import Field

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.kinds import ENTITY_MENTIONS
from lorebase.extraction.name_vectors import ENTITY_NAME_VECTORS, NameVector, name_vector_key
from lorebase.extraction.resolution_forms import clean_name
from lorebase.models.ports import Embedder, ModelUsage
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
    """Embed every name of an entity once, so that `resolve_entities` finds translations. Unlocks nothing by itself.

    Where the recipe has no embedding model it leaves nothing, and names are compared as they are written.
    """

    batch_names: int = Field(
        256, ge=1, le=2048, description="Most names in one request.", json_schema_extra={"affects_result": False}
    )

    type_name: ClassVar[str] = "embed_names"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (ENTITY_MENTIONS,)
    produces: ClassVar[ArtifactKind[Any]] = ENTITY_NAME_VECTORS
    optional_models: ClassVar[tuple[str, ...]] = (EMBEDDING,)
    item_name: ClassVar[str] = "names"
    segment_items: ClassVar[int] = 1  # each answered request is written down at once

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The embedding profile, where the recipe has a model."""
        return {"model.profile": context.embedder.profile.profile_id if context.embedder else "none"}

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[NameVector]]:
        """Embed the names of all partitions together, each distinct name once."""
        return await self._embedded(partitions, context, pretends=False)

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[NameVector]]:
        """Count the distinct names that the ledger does not hold."""
        return await self._embedded(partitions, context, pretends=True)

    async def _embedded(
        self, partitions: Sequence[Partition], context: StepExecutionContext, *, pretends: bool
    ) -> list[PartitionReport[NameVector]]:
        if context.embedder is None:
            return [PartitionReport(rows=[], items=0, computed_items=0) for _ in partitions]
        names = [await asyncio.to_thread(_names_of, partition) for partition in partitions]
        first_of = {name.key: name for name in reversed(list(chain.from_iterable(names)))}
        work = TextEmbedding(
            context.embedder,
            partitions[0],
            context.budget,
            context.embedding_slots,
            items={key: TextItem(key, name.name, estimate_tokens(name.name)) for key, name in first_of.items()},
            kind=ENTITY_NAME_VECTORS,
            row_of=lambda key, vector: NameVector(key, first_of[key].document_id, vector),
            batches_of=partial(_batches, size=self._batch_names(context.embedder)),
        )
        await (work.pretend() if pretends else work.run())
        paid_in: dict[str, int] = {}
        for number, part in enumerate(names):
            for name in part:
                paid_in.setdefault(name.key, number)
        return [self._report(number, part, work, paid_in) for number, part in enumerate(names)]

    def _batch_names(self, embedder: Embedder) -> int:
        is_local = embedder.profile.provider == LOCAL_PROVIDER
        return min(self.batch_names, _LOCAL_BATCH_NAMES) if is_local else self.batch_names

    def _report(
        self, number: int, names: Sequence[EntityName], work: TextEmbedding[NameVector], paid_in: dict[str, int]
    ) -> PartitionReport[NameVector]:
        """Rows of every document, and counts of distinct names; one without a vector holds nothing up."""
        distinct = {name.key: name for name in reversed(names)}
        computed = sum(key not in work.known and paid_in[key] == number for key in distinct)
        usage = work.usage if number == 0 else ModelUsage()
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
            usage=usage,
            usd=work.budget.cost_usd(EMBEDDING, usage),
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
    """The names of each document, each once, by document and name."""
    found = {
        (row.document_id, name)
        for row in partition.rows(ENTITY_MENTIONS)
        for mention in row.entities
        if (name := clean_name(mention.name))
    }
    key_of = {name: name_vector_key(name) for _, name in found}
    return [EntityName(key_of[name], name, document_id) for document_id, name in sorted(found)]
