"""What people have decided about wiki cards: objects of the base that every later build and every search honours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import ConflictError, CorruptObjectError, NotFoundError

Verdict = Literal["accepted", "rejected"]


class CardDecision(BaseModel):
    """That somebody has accepted or rejected one version of a card."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    card_id: str
    sequence: int = Field(ge=1, description="Number of this decision among those about the card.")
    verdict: Verdict
    version_id: str
    decided_by: str
    decided_at: datetime
    reason: str = ""
    confirmed: bool = Field(default=False, description="Whether it was accepted in spite of its faults.")
    document_ids: tuple[str, ...] = Field((), description="Documents that the version was made of.")
    body: str = Field("", description="The version as JSON, where it was accepted: it stays what people have seen.")


class CardDecisionStore:
    """The decisions about the cards of one base. Each is an object of its own; none is ever overwritten. Blocking."""

    def __init__(self, store: ObjectStore, layout: BaseLayout) -> None:
        self._store = store
        self._folder = f"{layout.prefix}/card_decisions"

    def keys(self) -> tuple[str, ...]:
        """What tells whether anything was decided since: the keys of all decisions."""
        return tuple(self._store.list(self._folder))

    def all(self) -> Sequence[CardDecision]:
        """Every decision, by card and in the order in which they were taken.

        Raises:
            CorruptObjectError: One cannot be read: without it a build would undo what somebody has decided.
        """
        found = []
        for key in self.keys():
            try:
                found.append(CardDecision.model_validate_json(self._store.get(key)))
            except NotFoundError:  # forgotten since it was listed
                continue
            except ValidationError as error:
                raise CorruptObjectError(
                    f"The decision {key} is unreadable.", remedy="Restore it, or remove it.", key=key
                ) from error
        return sorted(found, key=lambda decision: (decision.card_id, decision.sequence))

    def next_sequence(self, card_id: str) -> int:
        """The number that the next decision about a card has."""
        numbers = [int(key.rpartition("/")[2].removesuffix(".json")) for key in self._store.list(self._of(card_id))]
        return max(numbers, default=0) + 1

    def add(self, decision: CardDecision) -> None:
        """Write a decision.

        Raises:
            ConflictError: Somebody else has decided about the card meanwhile.
        """
        key = f"{self._of(decision.card_id)}/{decision.sequence:06d}.json"
        if not self._store.put_if(key, decision.model_dump_json(indent=1).encode(), None):
            raise ConflictError(
                f"Somebody else has decided about the card {decision.card_id} meanwhile.",
                remedy="Look at `lorebase cards`, then decide again.",
                card_id=decision.card_id,
            )

    def forget(self, document_id: str) -> int:
        """Remove decisions about versions that were made of a document. Returns how many there were."""
        gone = [one for one in self.all() if document_id in one.document_ids]
        self._store.delete([f"{self._of(one.card_id)}/{one.sequence:06d}.json" for one in gone])
        return len(gone)

    def _of(self, card_id: str) -> str:
        return f"{self._folder}/{card_id}"


def decisions_by_card(decisions: Sequence[CardDecision]) -> dict[str, list[CardDecision]]:
    """Decisions of each card, in the order in which they were taken."""
    found: dict[str, list[CardDecision]] = defaultdict(list)
    for decision in decisions:
        found[decision.card_id].append(decision)
    return dict(found)
