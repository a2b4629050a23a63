"""An index that was lost finds nothing, and that must not be taken for an answer."""

from __future__ import annotations

from lorebase.artifacts.snapshots import Snapshot
from lorebase.errors import IndexMismatchError
from lorebase.index.entries import entry_kind_of
from lorebase.index.ports import IndexStore
from lorebase.runs.staging import index_of_collection


async def require_filled(store: IndexStore, snapshot: Snapshot) -> None:
    """Refuse a snapshot one of whose indexes of chunks holds none at all; asked where a search found nothing.

    Raises:
        IndexMismatchError: An index is empty: its server is another one, its file was removed, a backup is older.
        UnavailableError: The index store does not answer.
    """
    for artifact, collection in snapshot.collections.items():
        reference = snapshot.artifacts.get(artifact)
        if reference is None or not reference.rows or entry_kind_of(collection) is not None:
            continue
        index = index_of_collection(
            store, snapshot.base_name, collection, dimensions=snapshot.embedding_dimensions or 1
        )
        if not await index.count(()):
            raise IndexMismatchError(
                f"The {artifact} of {snapshot.base_name!r} is empty, and {reference.rows} chunks are live: "
                "it was lost.",
                remedy="Build the base again: what was embedded is written to the index without calling a model.",
                artifact=artifact,
                chunks=reference.rows,
            )
