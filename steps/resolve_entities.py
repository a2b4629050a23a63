"""The step that decides which mentions of the whole base name the same entity."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.kinds import ENTITY_MENTIONS, RELATION_MENTIONS
from lorebase.extraction.name_vectors import ENTITY_NAME_VECTORS, NameSpace, cosines_for
from lorebase.extraction.resolution import Resolution, resolve
from lorebase.extraction.resolution_kinds import RESOLVED_ENTITIES, ResolvedMention
from lorebase.fingerprint import fingerprint
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class ResolveEntities(Step):
    """Join the names of one entity, and keep homonyms apart. Unlocks nothing by itself; `build_graph` needs it.

    Every merge can be undone with `lorebase entities NAME --undo MERGE`; the next build honours it. After
    `embed_names`, names in two scripts and abbreviations are compared by meaning as well.
    """

    name_cosine: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Cosine from which two names are asked whether they are one entity; by default that of the model, "
        "which is high for models that were not measured.",
    )

    type_name: ClassVar[str] = "resolve_entities"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (ENTITY_MENTIONS, RELATION_MENTIONS)
    reads_if_present: ClassVar[tuple[ArtifactKind[Any], ...]] = (ENTITY_NAME_VECTORS,)
    produces: ClassVar[ArtifactKind[Any]] = RESOLVED_ENTITIES
    item_name: ClassVar[str] = "mentions"
    spans_partitions: ClassVar[bool] = True

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """What people have said to keep apart, and how near names must be to be compared."""
        cosines = cosines_for(context.embedder.profile, self.name_cosine) if context.embedder else None
        return {
            "kept_apart": fingerprint("kept-apart", list(context.kept_apart)) if context.kept_apart else "none",
            "name_cosines": f"{cosines.translation} {cosines.abbreviation} {cosines.margin}" if cosines else "none",
        }

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[ResolvedMention]]:
        """Resolve the mentions of the whole base."""
        return [await asyncio.to_thread(self._resolved, partition, context) for partition in partitions]

    def _resolved(self, partition: Partition, context: StepExecutionContext) -> PartitionReport[ResolvedMention]:
        space = None
        if context.embedder is not None:
            cosines = cosines_for(context.embedder.profile, self.name_cosine)
            space = NameSpace.of(partition.rows(ENTITY_NAME_VECTORS), cosines)
        found = resolve(partition.rows(ENTITY_MENTIONS), partition.rows(RELATION_MENTIONS), context.kept_apart, space)
        return _reported(found, context)


def _reported(found: Resolution, context: StepExecutionContext) -> PartitionReport[ResolvedMention]:
    context.logger.info(
        "%s mentions name %s entities; %s names were joined, %s pairs kept apart on request",
        len(found.mentions),
        found.entities,
        found.merges,
        found.refused,
    )
    return PartitionReport(
        rows=found.mentions,
        items=len(found.mentions),
        computed_items=len(found.mentions),
        documents=len({mention.document_id for mention in found.mentions}),
    )
