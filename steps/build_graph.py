"""The step that makes a knowledge graph of resolved mentions and relations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.graph_building import build_facts
from lorebase.extraction.graph_kinds import KNOWLEDGE_GRAPH, GraphFact
from lorebase.extraction.kinds import RELATION_MENTIONS
from lorebase.extraction.resolution_kinds import RESOLVED_ENTITIES
from lorebase.runs.capabilities import GRAPH
from lorebase.runs.records import Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class BuildGraph(Step):
    """Put entities, relations, their evidence and their communities together. Unlocks `graph_search`.

    The tables that are searched are made of this step's artifact when the build goes live.
    """

    community_resolution: float = Field(
        1.0, gt=0, le=10, description="Above 1 for more and smaller communities, below for fewer and larger ones."
    )

    type_name: ClassVar[str] = "build_graph"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (RESOLVED_ENTITIES, RELATION_MENTIONS)
    produces: ClassVar[ArtifactKind[Any]] = KNOWLEDGE_GRAPH
    search_asset: ClassVar[str] = GRAPH
    item_name: ClassVar[str] = "facts"
    spans_partitions: ClassVar[bool] = True

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[GraphFact]]:
        """Build the graph of the whole base."""
        return [await asyncio.to_thread(self._built, partition, context) for partition in partitions]

    def _built(self, partition: Partition, context: StepExecutionContext) -> PartitionReport[GraphFact]:
        built = build_facts(
            partition.rows(RESOLVED_ENTITIES),
            partition.rows(RELATION_MENTIONS),
            resolution=self.community_resolution,
        )
        issues = []
        if built.unresolved:
            message = f"{built.unresolved} relations name an entity that their chunk does not; they are left out."
            subject = Subject(kind="step", id=self.type_name)
            issues.append(self.issue("RELATIONS_UNRESOLVED", message, subject, relations=built.unresolved))
        context.logger.info("%s facts; %s relations led back to their own entity", len(built.facts), built.reflexive)
        return PartitionReport(
            rows=built.facts,
            items=len(built.facts),
            computed_items=len(built.facts),
            documents=len({fact.document_id for fact in built.facts}),
            issues=tuple(issues),
        )
