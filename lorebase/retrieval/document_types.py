"""Source types and tags in queries: which a snapshot can be asked for, and which type each result has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cached_property

from lorebase.artifacts.kinds import partition_of
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import UsageError
from lorebase.index.ports import AnyOf, Equals, Filter, HasAllTags, HasAnyTag
from lorebase.recipes.wording import listed, nearest
from lorebase.registry.document_classes import DOCUMENT_CLASSES
from lorebase.registry.recipe_types import CLASSIFY, types_of_recipe
from lorebase.retrieval.model import QueryResult, SearchResult
from lorebase.runs.documents import recipe_of


class SnapshotTypes:
    """The types of the documents of one snapshot. Types that were looked up stay at hand.

    Args:
        store: Where the artifacts are.
        snapshot: The snapshot.
    """

    def __init__(self, store: ObjectStore, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        self._types: dict[str, dict[str, str]] = {}

    def check(self, where: Filter) -> None:
        """Refuse a filter that can find nothing, because it asks for what the snapshot does not tell apart.

        Raises:
            UsageError: It names a source type that the snapshot does not know, or asks for types or tags and its
                documents have none.
        """
        asks_tags = any(isinstance(condition, HasAllTags | HasAnyTag) and condition.tags for condition in where)
        wanted = list(_types_in(where))
        if (wanted or asks_tags) and not self._is_classified:
            raise UsageError(
                f"The documents of {self._snapshot.base_name!r} have no source types and no tags.",
                remedy=f"Add the step {CLASSIFY} to its recipe before the steps that index, and build again.",
            )
        for type_id in wanted:
            if type_id not in self._known:
                raise UsageError(
                    f"{self._snapshot.base_name!r} has no source type {type_id!r}.{nearest(type_id, self._known)}",
                    remedy=f"Its types are: {listed(self._known)}.",
                    source_type=type_id,
                )

    async def labelled(self, found: QueryResult) -> QueryResult:
        """The results with the source types of their documents; as they are where the snapshot has none."""
        if not self._is_classified or not found.results:
            return found
        return await asyncio.to_thread(self._labelled, found)

    def _labelled(self, found: QueryResult) -> QueryResult:
        results = [self._with_type(result) for result in found.results]
        return found.model_copy(update={"results": tuple(results)})

    def _with_type(self, result: SearchResult) -> SearchResult:
        source_type = self._type_of(result.document.id)
        return result.model_copy(update={"document": result.document.model_copy(update={"source_type": source_type})})

    def _type_of(self, document_id: str) -> str:
        entry = self._manifest.entry(partition_of(document_id, self._manifest.partition_count))
        return self._types_of(entry).get(document_id, "") if entry else ""

    def _types_of(self, entry: PartitionEntry) -> dict[str, str]:
        if entry.sha256 not in self._types:
            layout = BaseLayout(self._snapshot.base_name)
            rows = read_partition(self._store, layout, DOCUMENT_CLASSES, entry)
            self._types[entry.sha256] = {row.document_id: row.source_type for row in rows}
        return self._types[entry.sha256]

    @property
    def _is_classified(self) -> bool:
        return DOCUMENT_CLASSES.name in self._snapshot.artifacts

    @cached_property
    def _manifest(self) -> Manifest:
        return read_manifest(self._store, self._snapshot.artifacts[DOCUMENT_CLASSES.name])

    @cached_property
    def _known(self) -> tuple[str, ...]:
        return tuple(known.id for known in types_of_recipe(recipe_of(self._snapshot)))


def _types_in(where: Filter) -> Iterable[str]:
    for condition in where:
        match condition:
            case Equals(field="source_type", value=value):
                yield str(value)
            case AnyOf(field="source_type", values=values):
                yield from values
            case _:
                pass
