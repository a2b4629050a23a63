"""The cards of a snapshot, read with what people have decided about them."""

from __future__ import annotations

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.cards.kinds import WIKI_CARDS
from lorebase.cards.model import Card
from lorebase.cards.standing import StandingCard, standing_cards
from lorebase.errors import UnsupportedModeError
from lorebase.runs.card_decisions import CardDecisionStore


def snapshot_cards(store: ObjectStore, snapshot: Snapshot) -> list[StandingCard]:
    """Every version of every card of a snapshot, as it stands now. Blocking.

    Raises:
        UnsupportedModeError: The snapshot has no cards.
        CorruptObjectError: Cards or decisions cannot be read.
    """
    layout = BaseLayout(snapshot.base_name)
    reference = snapshot.artifacts.get(WIKI_CARDS.name)
    if reference is None:
        raise UnsupportedModeError(
            f"{snapshot.base_name!r} has no cards.", remedy="Add `- use: wiki_cards` to its recipe and build again."
        )
    proposals = [
        row.card
        for entry in read_manifest(store, reference).partitions
        for row in read_partition(store, layout, WIKI_CARDS, entry)
    ]
    decisions = CardDecisionStore(store, layout).all()
    return standing_cards(proposals, decisions, _documents(store, layout, snapshot, proposals))


def _documents(store: ObjectStore, layout: BaseLayout, snapshot: Snapshot, proposals: list[Card]) -> frozenset[str]:
    reference = snapshot.artifacts.get(SOURCE_DOCUMENTS.name)
    if reference is None:
        return frozenset(document_id for card in proposals for document_id in card.document_ids)
    return frozenset(
        row.document_id
        for entry in read_manifest(store, reference).partitions
        for row in read_partition(store, layout, SOURCE_DOCUMENTS, entry)
    )
