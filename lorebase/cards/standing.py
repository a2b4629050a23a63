"""How cards stand: what the build proposes, together with what people have accepted and rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from lorebase.cards.model import Card
from lorebase.errors import CorruptObjectError
from lorebase.fingerprint import fingerprint
from lorebase.runs.card_decisions import CardDecision, decisions_by_card

CardStatus = Literal["proposed", "accepted", "rejected", "stale"]


@dataclass(frozen=True, slots=True)
class StandingCard:
    """One version of a card, and how it stands.

    Attributes:
        card: The version.
        status: `stale` is what was accepted, of evidence that has changed since.
        decision: Who decided so; None for what nobody has decided about.
    """

    card: Card
    status: CardStatus
    decision: CardDecision | None = None

    @property
    def is_served(self) -> bool:
        """Whether searches may show it: only what a person has accepted."""
        return self.status in {"accepted", "stale"}

    @property
    def entry_id(self) -> str:
        """Its key in the index: covers what is searched."""
        return f"{self.card.version_id}-{fingerprint('card-entry', self.card.text)[:8]}"


def standing_cards(
    proposals: Iterable[Card], decisions: Sequence[CardDecision], documents: frozenset[str]
) -> list[StandingCard]:
    """Every version of every card that has evidence, by title and card; what was accepted before what is proposed.

    Args:
        proposals: The cards of a build, one a card id; those that were not written say only that there is evidence.
        decisions: All decisions of the base.
        documents: Ids of the documents of the build. A sentence that cites another one is left out; an accepted card
            none of whose documents is there any more leaves, as does one of which nothing says anything any more.
    """
    by_card = decisions_by_card(decisions)
    found: list[StandingCard] = []
    for proposal in sorted(proposals, key=lambda card: (card.title, card.card_id)):
        decided = by_card.get(proposal.card_id, [])
        kept = _accepted(decided)
        accepted = _accepted_version(kept, proposal, documents) if kept else None
        if accepted is not None:
            found.append(accepted)
        if proposal.is_written and (accepted is None or accepted.card.version_id != proposal.version_id):
            found.append(_proposed(proposal, decided))
    return found


def _accepted(decided: Sequence[CardDecision]) -> CardDecision | None:
    """The decision that is in force: the last acceptance, unless the same version was rejected after it."""
    latest: dict[str, CardDecision] = {decision.version_id: decision for decision in decided}
    in_force = [decision for decision in latest.values() if decision.verdict == "accepted"]
    return max(in_force, key=lambda decision: decision.sequence, default=None)


def _accepted_version(decision: CardDecision, proposal: Card, documents: frozenset[str]) -> StandingCard | None:
    card = _card_of(decision)
    if not documents.intersection(card.document_ids):
        return None
    is_stale = card.evidence_digest != proposal.evidence_digest
    if card.version_id == proposal.version_id:
        card = proposal  # the same words, and where their evidence stands now
    return StandingCard(card.without_documents(documents), "stale" if is_stale else "accepted", decision)


def _proposed(proposal: Card, decided: Sequence[CardDecision]) -> StandingCard:
    about = [decision for decision in decided if decision.version_id == proposal.version_id]
    if about and about[-1].verdict == "rejected":
        return StandingCard(proposal, "rejected", about[-1])
    return StandingCard(proposal, "proposed")


def _card_of(decision: CardDecision) -> Card:
    try:
        return Card.model_validate_json(decision.body)
    except ValidationError as error:
        raise CorruptObjectError(
            f"The accepted card {decision.version_id} is unreadable.",
            remedy="Restore the decision, or remove it.",
            card_id=decision.card_id,
        ) from error
