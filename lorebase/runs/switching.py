"""The switch of a build: from the artifacts that its steps have left to the snapshot that readers see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lorebase.artifacts.kinds import CHUNKS, SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import Manifest, read_manifest
from lorebase.artifacts.snapshots import Snapshot, SnapshotPointer, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.recipes.expansion import PlannedStep
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.runs.activation import Activation, Restage, StagedAsset
from lorebase.runs.derived import DerivedTables, stage_tables
from lorebase.runs.groups import GroupRunner, StepWork
from lorebase.runs.planning import group_partitions, partitions_of_step
from lorebase.runs.records import Issue, RecipeRunState
from lorebase.runs.step import StepExecutionContext
from lorebase.runs.step_run import StepInputs, StepOutcome

RequireLease = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class SnapshotSwitch:
    """Puts what a build has made in the place of what is live.

    Attributes:
        store: The object store.
        layout: The base.
        context: That of the build's steps.
        recipe: What was built.
        planned: Its steps.
        outcomes: What each step left, by artifact.
        tables: Tables that are made of artifacts.
    """

    store: ObjectStore
    layout: BaseLayout
    context: StepExecutionContext
    recipe: KnowledgeRecipe
    planned: Sequence[PlannedStep]
    outcomes: Mapping[str, StepOutcome]
    tables: Sequence[DerivedTables] = ()

    async def index_changes(self, live: Snapshot | None) -> dict[str, tuple[int, int]]:
        """Chunks that would become searchable and that would cease to be, by index step; nothing is changed."""
        return await Activation(self.store, self.layout, await self._assets(live)).differences()

    async def run(
        self, state: RecipeRunState, pointer: SnapshotPointer | None, require_lease: RequireLease, now: datetime
    ) -> tuple[str, list[Issue]]:
        """Switch indexes and pointer; where nothing has changed, the live snapshot stays.

        Returns:
            Id of the snapshot that is live then, and an issue for each index that had to be repaired.

        Raises:
            ConflictError: The lease was lost, or somebody else moved the pointer; readers see what they saw.
            BuildFailedError: An index does not hold what was staged.
        """
        snapshots = SnapshotStore(self.store, self.layout)
        live = await asyncio.to_thread(snapshots.live) if pointer else None
        activation = Activation(self.store, self.layout, await self._assets(live))
        # A process that stood still meanwhile would repair away what the build that took over has made live.
        await require_lease()
        await stage_tables(self.store, self.layout, self.tables, state.artifacts)
        issues = await activation.enable()
        made = self._snapshot(state, now)
        if live is None or not _same_content(live, made):
            await asyncio.to_thread(snapshots.write, made)
            await require_lease()
            await asyncio.to_thread(snapshots.move, made.snapshot_id, expected=pointer, now=now)
        else:
            made = live
        await activation.retire()
        return made.snapshot_id, issues

    async def _assets(self, live: Snapshot | None) -> list[StagedAsset]:
        assets = []
        for planned in self.planned:
            index = planned.step.index_of(self.context)
            made = self.outcomes.get(planned.step.produces.name)
            if index is None or made is None:
                continue
            assets.append(
                StagedAsset(
                    step_name=planned.name,
                    index=index,
                    kind=planned.step.produces,
                    staged=made.manifest,
                    live=await self._live_manifest(planned, live),
                    restage=self._restager(planned, made),
                    is_staged_searchable=self.context.stages_searchable,
                )
            )
        return assets

    async def _live_manifest(self, planned: PlannedStep, live: Snapshot | None) -> Manifest | None:
        """What the live snapshot has in the collection that the step fills."""
        artifact = planned.step.produces.name
        if live is None or live.collections.get(artifact) != planned.step.collection_of(self.context):
            return None
        reference = live.artifacts.get(artifact)
        return await asyncio.to_thread(read_manifest, self.store, reference) if reference else None

    def _restager(self, planned: PlannedStep, made: StepOutcome) -> Restage:
        """Writes the entities of some partitions into the index again, from stored artifacts."""

        async def restage(indexes: Sequence[int], *, relabels: bool = False) -> None:
            inputs = self._inputs_of(planned)
            digest = made.record.step_fingerprint
            works = partitions_of_step(planned.step, digest, inputs.manifests)
            groups = group_partitions([work for work in works if work.index in set(indexes)])
            names = tuple(inputs.references)
            work = StepWork(planned.name, planned.index, planned.step, digest, "", names, groups)
            runner = GroupRunner(self.store, self.layout, work, replace(self.context, relabels=relabels))
            for group in groups:
                await runner.run(group)

        return restage

    def _inputs_of(self, planned: PlannedStep) -> StepInputs:
        read = [kind.name for kind in planned.step.reads()]
        made = {name: self.outcomes[name] for name in read if name in self.outcomes}
        return StepInputs(
            {name: outcome.manifest for name, outcome in made.items()},
            {name: outcome.reference for name, outcome in made.items()},
        )

    def _snapshot(self, state: RecipeRunState, now: datetime) -> Snapshot:
        chunks = state.artifacts.get(CHUNKS.name)
        profile = self.context.embedder.profile if self.context.embedder else None
        return Snapshot(
            snapshot_id=state.run_id,
            base_name=self.recipe.name,
            run_id=state.run_id,
            created_at=now,
            recipe=self.recipe.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            recipe_fingerprint=self.recipe.fingerprint,
            artifacts=state.artifacts,
            collections={
                step.step.produces.name: step.step.collection_of(self.context)
                for step in self.planned
                if step.step.collection_of(self.context)
            },
            queries=state.capabilities.queries,
            search_assets=state.capabilities.search_assets,
            documents=self.outcomes[SOURCE_DOCUMENTS.name].manifest.rows,
            chunks=chunks.rows if chunks else 0,
            embedding_profile_id=profile.profile_id if profile else "",
            embedding_dimensions=profile.dimensions if profile else 0,
        )


def _same_content(live: Snapshot, made: Snapshot) -> bool:
    """Whether two snapshots hold the same, whenever they were made."""
    digests = [
        {name: reference.fingerprint for name, reference in snapshot.artifacts.items()} for snapshot in (live, made)
    ]
    return (
        digests[0] == digests[1]
        and live.recipe_fingerprint == made.recipe_fingerprint
        and live.collections == made.collections
    )
