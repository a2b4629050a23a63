"""Relations by model: what it is asked, and what of its answer is between entities of the chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from lorebase.extraction.folding import FoldedText, folded
from lorebase.extraction.items import ExtractionItem
from lorebase.extraction.languages import LanguageSetting, language_of
from lorebase.extraction.mentions import NOT_IN_TEXT, ChunkRelations, EntityMention, RelationMention
from lorebase.extraction.prompts.relation_prompt import RELATION_PROMPT, relation_question
from lorebase.extraction.readers import ENTITIES_OF_A_RELATION
from lorebase.models.chat import ChatModel, ChatRequest, expected_usage
from lorebase.models.ports import ModelUsage
from lorebase.models.structured import ask_structured

WITHOUT_EVIDENCE_CONFIDENCE = 0.5
_MOST_DESCRIPTION_CHARS = 1000
_MOST_TYPE_CHARS = 60


class AnsweredRelation(BaseModel):
    """A relation as the model gives it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str = Field(description="Name of the entity that the relation starts from, as the list writes it.")
    target: str = Field(description="Name of the entity that it leads to, as the list writes it.")
    type: str = Field(description="Short verb phrase.")
    description: str = Field("", description="What the text says about the two.")
    evidence: str = Field("", description="The words of the text that state it.")


class RelationAnswer(BaseModel):
    """What the model is asked to answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    relations: tuple[AnsweredRelation, ...] = Field(description="The relations; an empty list if there is none.")


class RelationModelReader:
    """Asks a chat model for the relations between the entities of chunks.

    Args:
        model: Who is asked.
        relation_types: Types to keep, in lower case; none leaves the choice to the model.
        most: Most relations of one chunk.
        language: Of the prompt.
        session_id: Of the requests.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        relation_types: Sequence[str],
        most: int,
        language: LanguageSetting,
        session_id: str,
    ) -> None:
        self._model = model
        self._types = tuple(relation_types)
        self._most = most
        self._language: LanguageSetting = language
        self._session_id = session_id

    @property
    def concurrency(self) -> int:
        """How many items the model takes on at once."""
        return self._model.max_concurrency

    def without_asking(self, item: ExtractionItem) -> ChunkRelations | None:
        """No relations, where there are no two entities."""
        if len(item.entities) >= ENTITIES_OF_A_RELATION:
            return None
        return ChunkRelations(item.key, item.chunk.chunk_id, item.chunk.document_id, "model")

    async def read(self, item: ExtractionItem) -> tuple[ChunkRelations, ModelUsage]:
        """Relations that the model names between entities of the chunk."""
        answer, usage = await ask_structured(self._model, self.request(item), RelationAnswer)
        unique: dict[tuple[str, str, str], RelationMention] = {}
        unrelated = 0
        for relation in self._answered(answer.relations, item):
            if relation is None:
                unrelated += 1
            else:
                unique.setdefault((relation.source, relation.target, relation.type), relation)
        kept = sorted(list(unique.values())[: self._most], key=lambda relation: relation.start)
        chunk = item.chunk
        dropped = unrelated + max(0, len(unique) - self._most)
        return ChunkRelations(item.key, chunk.chunk_id, chunk.document_id, "model", tuple(kept), dropped), usage

    def expected(self, item: ExtractionItem) -> ModelUsage:
        """What a question takes that is answered at once."""
        return expected_usage(self._model.profile, self.request(item))

    def stand_in(self, item: ExtractionItem) -> ChunkRelations:
        """A row without relations."""
        return ChunkRelations(item.key, item.chunk.chunk_id, item.chunk.document_id, "model")

    def request(self, item: ExtractionItem) -> ChatRequest:
        """What the model is asked about the chunk."""
        text = item.chunk.indexed_text
        language = language_of(text, self._language)
        return ChatRequest(
            prompt=relation_question(text, [entity.name for entity in item.entities], language),
            system=RELATION_PROMPT.instructions(language, types=self._types, most=self._most),
            session_id=self._session_id,
        )

    def _answered(
        self, relations: Sequence[AnsweredRelation], item: ExtractionItem
    ) -> Iterator[RelationMention | None]:
        """A mention for each answered relation; None for one that is not between two entities of the chunk."""
        text = FoldedText(item.chunk.text)
        names = _names(item.entities)
        for relation in relations:
            source, target = names.get(folded(relation.source)), names.get(folded(relation.target))
            kind = " ".join(relation.type.split()).lower()[:_MOST_TYPE_CHARS]
            is_wanted = bool(kind) and (not self._types or kind in self._types)
            if source is None or target is None or source == target or not is_wanted:
                yield None
                continue
            place = text.find(relation.evidence)
            yield RelationMention(
                source,
                target,
                kind,
                relation.description.strip()[:_MOST_DESCRIPTION_CHARS],
                *(place or (NOT_IN_TEXT, NOT_IN_TEXT)),
                confidence=1.0 if place else WITHOUT_EVIDENCE_CONFIDENCE,
            )


def _names(entities: Sequence[EntityMention]) -> dict[str, str]:
    """The name of the mention by every name it has, as names are compared."""
    names: dict[str, str] = {}
    for entity in entities:
        names.setdefault(folded(entity.name), entity.name)
    for entity in entities:
        for alias in entity.aliases:
            names.setdefault(folded(alias), entity.name)
    return names
