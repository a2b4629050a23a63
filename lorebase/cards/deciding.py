"""Accepting and rejecting: separate acts of a person, each written down with who, when and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.cards.reading import snapshot_cards
from lorebase.cards.standing import StandingCard
from lorebase.errors import CardNotConfirmedError, NotFoundError, UsageError
from lorebase.runs.card_decisions import CardDecision, CardDecisionStore

_SHOWN = 5


def accept_card(
    store: ObjectStore,
    snapshot: Snapshot,
    wanted: str,
    *,
    decided_by: str,
    now: datetime,
    reason: str = "",
    confirmed: bool = False,
) -> CardDecision:
    """Accept a version of a card; searches show it at once, and later builds keep it. Blocking.

    Args:
        store: Where the base is.
        snapshot: The snapshot whose cards were looked at.
        wanted: Id of the version, or of the card, which then means its proposal.
        decided_by: Who decides.
        now: When.
        reason: Why.
        confirmed: Whether it is accepted in spite of its faults.

    Raises:
        NotFoundError: The snapshot has no such version.
        CardNotConfirmedError: It has faults, and nobody has confirmed it.
        ConflictError: Somebody else has decided about the card meanwhile.
    """
    layout = BaseLayout(snapshot.base_name)
    decisions = CardDecisionStore(store, layout)
    standing, sequence = _found(store, snapshot, decisions, wanted)
    card = standing.card
    if card.faults and not confirmed:
        told = "; ".join(f"{fault.place}: {fault.message}" for fault in card.faults[:_SHOWN])
        raise CardNotConfirmedError(
            f"The card {card.version_id} ({card.title}) has {len(card.faults)} faults: {told}",
            remedy="Mend its evidence, or accept it as it is with --confirm.",
            faults_of_card=[fault.model_dump(mode="json") for fault in card.faults],
        )
    decision = CardDecision(
        card_id=card.card_id,
        sequence=sequence,
        verdict="accepted",
        version_id=card.version_id,
        decided_by=decided_by,
        decided_at=now,
        reason=reason,
        confirmed=confirmed,
        document_ids=card.document_ids,
        body=card.model_dump_json(exclude_defaults=True),
    )
    decisions.add(decision)
    return decision


def reject_card(
    store: ObjectStore, snapshot: Snapshot, wanted: str, *, decided_by: str, now: datetime, reason: str
) -> CardDecision:
    """Reject a version of a card; the same evidence does not bring it back. An accepted one is withdrawn. Blocking.

    Args:
        store: Where the base is.
        snapshot: The snapshot whose cards were looked at.
        wanted: As for `accept_card`.
        decided_by: Who decides.
        now: When.
        reason: Why; not blank.

    Raises:
        UsageError: There is no reason.
        NotFoundError: The snapshot has no such version.
        ConflictError: Somebody else has decided about the card meanwhile.
    """
    if not reason.strip():
        raise UsageError("A card is rejected with a reason.", remedy="Add --reason.")
    decisions = CardDecisionStore(store, BaseLayout(snapshot.base_name))
    standing, sequence = _found(store, snapshot, decisions, wanted)
    decision = CardDecision(
        card_id=standing.card.card_id,
        sequence=sequence,
        verdict="rejected",
        version_id=standing.card.version_id,
        decided_by=decided_by,
        decided_at=now,
        reason=reason.strip(),
        document_ids=standing.card.document_ids,
    )
    decisions.add(decision)
    return decision


def _found(
    store: ObjectStore, snapshot: Snapshot, decisions: CardDecisionStore, wanted: str
) -> tuple[StandingCard, int]:
    """The version, and the number of the next decision, taken before the card was looked at."""
    sequence = decisions.next_sequence(_card_id_of(wanted))
    standing = snapshot_cards(store, snapshot)
    return _version(standing, wanted, snapshot.base_name), sequence


def _card_id_of(wanted: str) -> str:
    """The card of a version's id, which begins with it."""
    return "-".join(wanted.split("-")[:2])


def _version(standing: Sequence[StandingCard], wanted: str, base_name: str) -> StandingCard:
    exact = [one for one in standing if one.card.version_id == wanted]
    of_card = [one for one in standing if one.card.card_id == wanted]
    proposed = [one for one in of_card if one.status == "proposed"]
    found = next(iter([*exact, *proposed, *of_card]), None)
    if found is None:
        shown = ", ".join(one.card.version_id for one in standing[:_SHOWN]) or "none"
        raise NotFoundError(
            f"{base_name!r} has no card {wanted!r}.", remedy=f"See `lorebase cards {base_name}`; among them: {shown}."
        )
    return found
