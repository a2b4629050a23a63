"""A wiki card: what stands under its headings, and which evidence each sentence cites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lorebase.documents.model import Chunk
from lorebase.fingerprint import fingerprint

CardMethod = Literal["model", "rules", "none"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CardCitation(_Frozen):
    """Where a sentence comes from."""

    evidence: int = Field(description="Number of the evidence among that of the card, from 1.")
    quote: str = Field("", description="Words that stand there.")


class CardSentence(_Frozen):
    """One sentence of a card."""

    text: str
    citations: tuple[CardCitation, ...] = ()


class FilledSection(_Frozen):
    """What stands under one heading of a card."""

    title: str
    sentences: tuple[CardSentence, ...] = ()


class FilledField(_Frozen):
    """A single value of a card."""

    key: str
    value: str | float | bool
    citations: tuple[CardCitation, ...] = ()


class CardEvidence(_Frozen):
    """A chunk that a card was made of."""

    chunk_id: str
    document_id: str
    document_name: str
    source: str = ""
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, chunk: Chunk) -> CardEvidence:
        """The evidence that a chunk is."""
        return cls(**{name: getattr(chunk, name) for name in cls.model_fields})


class CardFault(_Frozen):
    """Something about a card that does not fit its type or its evidence."""

    code: str = Field(pattern=r"^[A-Z][A-Z0-9_]*$")
    place: str = Field(description="Section and sentence, or field.")
    message: str


class Card(_Frozen):
    """One version of a card. `version_id` covers what it says and the evidence that it was made of."""

    card_id: str
    version_id: str = ""
    card_type: str
    label: str = Field("", description="Label of the card type.")
    title: str
    method: CardMethod
    sections: tuple[FilledSection, ...] = ()
    fields: tuple[FilledField, ...] = ()
    evidence: tuple[CardEvidence, ...] = ()
    evidence_digest: str = ""
    faults: tuple[CardFault, ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether there is a proposal: where none could be made, only the evidence is known."""
        return self.method != "none"

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The documents of its evidence, sorted."""
        return tuple(sorted({one.document_id for one in self.evidence}))

    @property
    def text(self) -> str:
        """What is read and searched: title, headings, sentences, fields."""
        lines = [self.title]
        for section in self.sections:
            lines += [section.title, " ".join(sentence.text for sentence in section.sentences)]
        lines += [f"{field.key}: {field.value}" for field in self.fields]
        return "\n".join(line for line in lines if line)

    def citations(self) -> Iterator[CardCitation]:
        """Every citation, in reading order."""
        for section in self.sections:
            for sentence in section.sentences:
                yield from sentence.citations
        for field in self.fields:
            yield from field.citations

    def identified(self) -> Card:
        """The card with the id of this version."""
        content = [part.model_dump(mode="json") for part in (*self.sections, *self.fields)]
        digest = fingerprint("card-version", self.card_id, self.title, content, self.evidence_digest)
        return self.model_copy(update={"version_id": f"{self.card_id}-{digest[:12]}"})

    def without_documents(self, present: frozenset[str]) -> Card:
        """The card without sentences and values that cite a document which is not `present`."""

        def stays(citations: tuple[CardCitation, ...]) -> bool:
            cited = [self.evidence[one.evidence - 1] for one in citations if 1 <= one.evidence <= len(self.evidence)]
            return all(one.document_id in present for one in cited)

        if all(one.document_id in present for one in self.evidence):
            return self
        sections = [
            section.model_copy(update={"sentences": tuple(one for one in section.sentences if stays(one.citations))})
            for section in self.sections
        ]
        return self.model_copy(
            update={
                "sections": tuple(section for section in sections if section.sentences),
                "fields": tuple(field for field in self.fields if stays(field.citations)),
            }
        )


def card_id_of(card_type: str, subject_key: str) -> str:
    """Id of a card: its type and what it is about, never what it says."""
    return f"crd-{fingerprint('card', card_type, subject_key)[:12]}"
