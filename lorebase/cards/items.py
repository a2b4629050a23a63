"""The items of work of proposing cards: a subject, a card type, and the evidence for both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lorebase.cards.choices import CardTypeChoice
from lorebase.cards.model import Card, CardEvidence, CardMethod, FilledField, FilledSection, card_id_of
from lorebase.cards.subjects import CardSubject
from lorebase.cards.validation import validate_card
from lorebase.documents.model import Chunk
from lorebase.fingerprint import fingerprint
from lorebase.registry.card_types import CardType


@dataclass(frozen=True, slots=True)
class CardItem:
    """A card that is to be proposed.

    Attributes:
        card_id: The card.
        card_type: Its type.
        subject: What it is about.
        chunks: Its evidence.
    """

    card_id: str
    card_type: CardType
    subject: CardSubject
    chunks: tuple[Chunk, ...]

    @property
    def evidence_digest(self) -> str:
        """What the evidence says, wherever it stands now: a chunk that only moved changes nothing."""
        return fingerprint("card-evidence", [chunk.indexed_text for chunk in self.chunks])

    @property
    def key(self) -> str:
        """What decides the proposal."""
        definition = self.card_type.model_dump(mode="json", exclude={"card_count", "examples", "group"})
        return fingerprint("card", self.card_id, self.subject.name, definition, self.evidence_digest)

    @property
    def evidence_texts(self) -> tuple[str, ...]:
        """Texts that citations are looked for in."""
        return tuple(chunk.indexed_text for chunk in self.chunks)

    def card(
        self, method: CardMethod, sections: Sequence[FilledSection] = (), fields: Sequence[FilledField] = ()
    ) -> Card:
        """The card with this content, its faults found, its version named."""
        made = Card(
            card_id=self.card_id,
            card_type=self.card_type.id,
            label=self.card_type.label,
            title=self.subject.name,
            method=method,
            sections=tuple(sections),
            fields=tuple(fields),
            evidence=tuple(CardEvidence.of(chunk) for chunk in self.chunks),
            evidence_digest=self.evidence_digest,
        ).identified()
        if not made.is_written:
            return made
        return made.model_copy(update={"faults": validate_card(made, self.card_type, self.evidence_texts)})

    def adopted(self, card: Card) -> Card:
        """A finished card of the same evidence, with the places where that stands now."""
        return card.model_copy(update={"evidence": tuple(CardEvidence.of(chunk) for chunk in self.chunks)})


def card_items(
    subjects: Sequence[CardSubject], choices: Sequence[CardTypeChoice], *, max_evidence_chunks: int
) -> Iterator[CardItem]:
    """A card for every subject and each type that wants it, in the order of the subjects; none without evidence."""
    seen: set[str] = set()
    for subject in subjects:
        for choice in choices:
            card_id = card_id_of(choice.id, subject.key)
            if card_id in seen or not subject.chunks or not choice.is_about(subject.names, subject.types):
                continue
            seen.add(card_id)
            yield CardItem(card_id, choice.card_type, subject, subject.chunks[:max_evidence_chunks])
