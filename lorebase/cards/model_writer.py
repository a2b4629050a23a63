"""Cards by model: what it is asked, and what becomes of its answer."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from lorebase.cards.items import CardItem
from lorebase.cards.model import Card, CardCitation, CardSentence, FilledField, FilledSection
from lorebase.cards.prompt import instructions, question
from lorebase.cards.rules import typed_value
from lorebase.extraction.languages import LanguageSetting, language_of
from lorebase.models.chat import ChatModel, ChatRequest, expected_usage
from lorebase.models.ports import ModelUsage
from lorebase.models.structured import ask_structured
from lorebase.registry.declared_fields import DeclaredField


class _Answered(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class AnsweredCitation(_Answered):
    """A citation as the model gives it."""

    evidence: int = Field(description="Number of the evidence.")
    quote: str = Field("", description="A few words exactly as they stand there.")


class AnsweredSentence(_Answered):
    """A sentence as the model gives it."""

    text: str = Field(description="One sentence.")
    citations: tuple[AnsweredCitation, ...] = Field((), description="The evidence that says it.")


class AnsweredSection(_Answered):
    """A section as the model gives it."""

    title: str = Field(description="Title of the section, as listed.")
    sentences: tuple[AnsweredSentence, ...] = Field((), description="What the evidence says.")


class AnsweredField(_Answered):
    """A field as the model gives it."""

    key: str = Field(description="Key of the field, as listed.")
    value: str = Field("", description="Its value; empty where the evidence says none.")
    citations: tuple[AnsweredCitation, ...] = Field((), description="The evidence that says it.")


class CardAnswer(_Answered):
    """What the model is asked to answer."""

    sections: tuple[AnsweredSection, ...] = Field(description="The sections that the evidence says something of.")
    fields: tuple[AnsweredField, ...] = Field((), description="The fields that the evidence says something of.")


class CardModelWriter:
    """Asks a chat model for cards.

    Args:
        model: Who is asked.
        language: Of the prompt.
        session_id: Of the requests.
    """

    def __init__(self, model: ChatModel, *, language: LanguageSetting, session_id: str) -> None:
        self._model = model
        self._language: LanguageSetting = language
        self._session_id = session_id

    @property
    def concurrency(self) -> int:
        """How many cards the model takes on at once."""
        return self._model.max_concurrency

    async def write(self, item: CardItem) -> tuple[Card, ModelUsage]:
        """The card that the model writes, with whatever faults it has."""
        answer, usage = await ask_structured(self._model, self.request(item), CardAnswer)
        declared = {field.key: field for field in item.card_type.fields}
        sections = [_section(section) for section in answer.sections if section.sentences]
        fields = [filled for field in answer.fields if (filled := _field(field, declared.get(field.key))) is not None]
        return item.card("model", sections, fields), usage

    def expected(self, item: CardItem) -> ModelUsage:
        """What a question takes that is answered at once."""
        return expected_usage(self._model.profile, self.request(item))

    def request(self, item: CardItem) -> ChatRequest:
        """What the model is asked about a card."""
        language = language_of("\n".join(item.evidence_texts), self._language)
        return ChatRequest(
            prompt=question(item.subject.name, item.chunks, language),
            system=instructions(item.card_type, language),
            session_id=self._session_id,
        )


def _section(section: AnsweredSection) -> FilledSection:
    sentences = (CardSentence(text=one.text.strip(), citations=_citations(one.citations)) for one in section.sentences)
    return FilledSection(title=section.title.strip(), sentences=tuple(sentences))


def _field(field: AnsweredField, declared: DeclaredField | None) -> FilledField | None:
    value = typed_value(declared, field.value) if declared else field.value.strip()
    if value is None or value == "":
        return None
    return FilledField(key=field.key.strip(), value=value, citations=_citations(field.citations))


def _citations(citations: tuple[AnsweredCitation, ...]) -> tuple[CardCitation, ...]:
    return tuple(CardCitation(evidence=one.evidence, quote=one.quote.strip()) for one in citations)
