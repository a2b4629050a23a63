"""What is in a base, counted in its live snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.registry.document_classes import DOCUMENT_CLASSES
from lorebase.registry.record import BaseStatistics

CountCards: TypeAlias = Callable[[Snapshot], Mapping[str, int]]
"""Cards of a snapshot by card type."""


class SnapshotStatistics:
    """Counts bases. A base that was never built has nothing.

    Args:
        store: Where the snapshots are.
        count_cards: Counts cards; None where there are none.
    """

    def __init__(self, store: ObjectStore, count_cards: CountCards | None = None) -> None:
        self._store = store
        self._count_cards = count_cards

    def __call__(self, base_id: str) -> BaseStatistics:
        """The figures of a base. Blocking.

        Raises:
            CorruptObjectError: Its live snapshot cannot be read.
            UnavailableError: The object store does not answer.
        """
        snapshots = SnapshotStore(self._store, BaseLayout(base_id))
        pointer = snapshots.pointer()
        if pointer is None:
            return BaseStatistics()
        live = snapshots.read(pointer.snapshot_id)
        cards = dict(self._count_cards(live)) if self._count_cards else {}
        return BaseStatistics(
            source_count=live.documents,
            card_count=sum(cards.values()),
            build_version=pointer.sequence,
            sources_by_type=documents_by_type(self._store, live),
            cards_by_type=cards,
        )


def documents_by_type(store: ObjectStore, snapshot: Snapshot) -> dict[str, int]:
    """Documents of a snapshot by source type, in alphabetical order; none where it does not classify. Blocking."""
    reference = snapshot.artifacts.get(DOCUMENT_CLASSES.name)
    if reference is None:
        return {}
    layout = BaseLayout(snapshot.base_name)
    counts = Counter(
        row.source_type
        for entry in read_manifest(store, reference).partitions
        for row in read_partition(store, layout, DOCUMENT_CLASSES, entry)
    )
    return dict(sorted(counts.items()))
