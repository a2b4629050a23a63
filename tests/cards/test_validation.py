"""Every fault of a card is reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lorebase.cards.choices import CardTypeChoice
from lorebase.cards.model import Card, CardCitation, CardEvidence, CardSentence, FilledField, FilledSection
from lorebase.cards.validation import validate_card

TYPE = CardTypeChoice(
    id="signal",
    sections=("Definition | what it is | required", "Scope"),
    fields=("height | Height | number | required", "colour | Colour | enum(red, green)"),
).card_type
TEXT = "The lamp on the pier\nburns whale oil. 灯塔高１２米。"
EVIDENCE = (CardEvidence(chunk_id="c1", document_id="d1", document_name="pier.md"),)
GOOD = (CardCitation(evidence=1, quote="burns whale oil"),)


def card_of(*sections: FilledSection, fields: tuple[FilledField, ...] = (), title: str = "Lamp") -> Card:
    return Card(
        card_id="crd-1",
        card_type="signal",
        title=title,
        method="model",
        sections=sections,
        fields=(FilledField(key="height", value=12.0, citations=GOOD), *fields),
        evidence=EVIDENCE,
    )


def section(title: str, text: str = "It burns.", citations: tuple[CardCitation, ...] = GOOD) -> FilledSection:
    return FilledSection(title=title, sentences=(CardSentence(text=text, citations=citations),))


def codes(card: Card) -> list[str]:
    return [fault.code for fault in validate_card(card, TYPE, [TEXT])]


def test_a_card_that_fits_its_type_and_its_evidence_has_no_fault() -> None:
    assert codes(card_of(section("Definition"), section("scope"))) == []


def test_a_quote_stands_in_the_evidence_whatever_its_width_case_and_line_breaks() -> None:
    quotes = ("THE LAMP on the pier burns", "灯塔高12米")

    for quote in quotes:
        assert codes(card_of(section("Definition", citations=(CardCitation(evidence=1, quote=quote),)))) == []


def test_sections_that_are_unknown_repeated_or_missing_are_faults() -> None:
    assert codes(card_of(section("Scope"), section("SCOPE"), section("Songs"))) == [
        "UNKNOWN_SECTION",
        "REPEATED_SECTION",
        "REQUIRED_SECTION_EMPTY",
    ]


def test_a_sentence_without_a_citation_or_without_text_is_a_fault() -> None:
    assert codes(card_of(section("Definition", citations=()))) == ["CITATION_MISSING"]
    assert codes(card_of(section("Definition"), section("Scope", text=" "))) == ["SENTENCE_EMPTY"]


def test_a_citation_that_does_not_stand_in_the_evidence_is_a_fault() -> None:
    citations = (
        CardCitation(evidence=2, quote="burns"),
        CardCitation(evidence=0, quote="burns"),
        CardCitation(evidence=1, quote="burns coal"),
        CardCitation(evidence=1, quote=" "),
    )

    assert codes(card_of(section("Definition", citations=citations))) == [
        "CITATION_UNKNOWN",
        "CITATION_UNKNOWN",
        "CITATION_NOT_IN_EVIDENCE",
        "CITATION_WITHOUT_QUOTE",
    ]


def test_fields_of_another_type_undeclared_or_uncited_are_faults() -> None:
    fields = (
        FilledField(key="colour", value="blue", citations=GOOD),
        FilledField(key="owner", value="Ada", citations=()),
    )

    assert codes(card_of(section("Definition"), fields=fields)) == [
        "WRONG_FIELD_TYPE",
        "UNDECLARED_FIELD",
        "CITATION_MISSING",
    ]


def test_every_fault_is_reported_with_its_place() -> None:
    faults = validate_card(card_of(section("Songs", citations=()), title=" "), TYPE, [TEXT])

    assert [(fault.code, fault.place) for fault in faults] == [
        ("TITLE_EMPTY", "title"),
        ("UNKNOWN_SECTION", "Songs"),
        ("REQUIRED_SECTION_EMPTY", "Definition"),
        ("CITATION_MISSING", "Songs, sentence 1"),
    ]


@given(st.text(), st.integers(), st.text())
def test_no_card_makes_validation_fail(title: str, evidence: int, quote: str) -> None:
    card = card_of(section(title, citations=(CardCitation(evidence=evidence, quote=quote),)))

    assert all(fault.message for fault in validate_card(card, TYPE, [TEXT]))
