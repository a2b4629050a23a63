"""Every fault of a card: what does not fit its type, and what does not stand in its evidence."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from lorebase.cards.model import Card, CardCitation, CardFault
from lorebase.registry.card_types import CardType
from lorebase.registry.declared_fields import metadata_issues


def validate_card(card: Card, card_type: CardType, evidence_texts: Sequence[str]) -> tuple[CardFault, ...]:
    """What is wrong with a card. Nothing is refused here: who accepts it decides.

    Args:
        card: The card.
        card_type: What it should be.
        evidence_texts: Texts of its evidence, in the order of `card.evidence`.

    Returns:
        Faults in reading order: of the title, of each section and sentence, of the fields.
    """
    texts = [_plain(text) for text in evidence_texts]
    faults = list(_title_faults(card))
    faults += _section_faults(card, card_type)
    for section in card.sections:
        for number, sentence in enumerate(section.sentences, start=1):
            place = f"{section.title}, sentence {number}"
            if not sentence.text.strip():
                faults.append(CardFault(code="SENTENCE_EMPTY", place=place, message="The sentence has no text."))
            faults += _citation_faults(sentence.citations, place, texts)
    faults += _field_faults(card, card_type)
    for field in card.fields:
        faults += _citation_faults(field.citations, f"field {field.key}", texts)
    return tuple(faults)


def _title_faults(card: Card) -> Iterator[CardFault]:
    if not card.title.strip():
        yield CardFault(code="TITLE_EMPTY", place="title", message="The card has no title.")
    if not card.evidence:
        yield CardFault(code="NO_EVIDENCE", place="title", message="The card names no evidence.")


def _section_faults(card: Card, card_type: CardType) -> Iterator[CardFault]:
    known = {section.title.casefold(): section for section in card_type.sections}
    counts = Counter(section.title.casefold() for section in card.sections)
    for section in card.sections:
        if section.title.casefold() not in known:
            allowed = ", ".join(one.title for one in card_type.sections)
            message = f"A {card_type.id} card has no section {section.title!r}; it has {allowed}."
            yield CardFault(code="UNKNOWN_SECTION", place=section.title, message=message)
    for title, count in counts.items():
        if count > 1:
            message = f"The section stands {count} times."
            yield CardFault(
                code="REPEATED_SECTION", place=known[title].title if title in known else title, message=message
            )
    filled = {
        section.title.casefold() for section in card.sections if any(one.text.strip() for one in section.sentences)
    }
    for title, wanted in known.items():
        if wanted.required and title not in filled:
            message = f"The section {wanted.title!r} is required and has no text."
            yield CardFault(code="REQUIRED_SECTION_EMPTY", place=wanted.title, message=message)


def _citation_faults(citations: Sequence[CardCitation], place: str, texts: Sequence[str]) -> Iterator[CardFault]:
    if not citations:
        yield CardFault(code="CITATION_MISSING", place=place, message="It cites no evidence.")
    for citation in citations:
        if not 1 <= citation.evidence <= len(texts):
            message = f"It cites evidence {citation.evidence}, and the card has {len(texts)} pieces of evidence."
            yield CardFault(code="CITATION_UNKNOWN", place=place, message=message)
        elif not (quote := _plain(citation.quote)):
            message = f"It cites evidence {citation.evidence} without a word of it."
            yield CardFault(code="CITATION_WITHOUT_QUOTE", place=place, message=message)
        elif quote not in texts[citation.evidence - 1]:
            message = f"{citation.quote[:80]!r} does not stand in evidence {citation.evidence}."
            yield CardFault(code="CITATION_NOT_IN_EVIDENCE", place=place, message=message)


def _field_faults(card: Card, card_type: CardType) -> Iterator[CardFault]:
    values: dict[str, object] = {field.key: field.value for field in card.fields}
    for issue in metadata_issues(values, card_type.fields):
        yield CardFault(code=issue.code, place=f"field {issue.key}", message=issue.message)
    for key, count in Counter(field.key for field in card.fields).items():
        if count > 1:
            yield CardFault(code="REPEATED_FIELD", place=f"field {key}", message=f"The field stands {count} times.")


def _plain(text: str) -> str:
    """A text as quotes are compared: width, case and white space do not count."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
