"""The step that decides which mentions of the whole base name the same entity."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.kinds import ENTITY_MENTIONS, RELATION_MENTIONS
from lorebase.extraction.resolution import resolve
from lorebase.extraction.resolution_kinds import RESOLVED_ENTITIES, ResolvedMention
from lorebase.fingerprint import fingerprint
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class ResolveEntities(Step):
    """Join the names of one entity, and keep homonyms apart. Unlocks nothing by itself; `build_graph` needs it.

    Every merge can be undone with `lorebase entities NAME --undo MERGE`; the next build honours it.
    """

    type_name: ClassVar[str] = "resolve_entities"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (ENTITY_MENTIONS, RELATION_MENTIONS)
    produces: ClassVar[ArtifactKind[Any]] = RESOLVED_ENTITIES
    item_name: ClassVar[str] = "mentions"
    spans_partitions: ClassVar[bool] = True

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """What people have said to keep apart."""
        return {"kept_apart": fingerprint("kept-apart", list(context.kept_apart)) if context.kept_apart else "none"}

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[ResolvedMention]]:
        """Resolve the mentions of the whole base."""
        return [await asyncio.to_thread(_resolved, partition, context) for partition in partitions]


def _resolved(partition: Partition, context: StepExecutionContext) -> PartitionReport[ResolvedMention]:
    found = resolve(partition.rows(ENTITY_MENTIONS), partition.rows(RELATION_MENTIONS), context.kept_apart)
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
