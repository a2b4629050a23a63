"""Entities by model: what it is asked, and what of its answer stands in the chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from lorebase.extraction.folding import FoldedText, folded
from lorebase.extraction.gazetteer import OTHER_TYPE, GazetteerEntry
from lorebase.extraction.items import ExtractionItem
from lorebase.extraction.languages import LanguageSetting, language_of
from lorebase.extraction.mentions import NOT_IN_TEXT, ChunkEntities, EntityMention
from lorebase.extraction.prompts.entity_prompt import ENTITY_PROMPT
from lorebase.extraction.prompts.wording import framed
from lorebase.extraction.rules.known_names import KnownNames
from lorebase.models.chat import ChatModel, ChatRequest, expected_usage
from lorebase.models.ports import ModelUsage
from lorebase.models.structured import ask_structured

_MOST_DESCRIPTION_CHARS = 1000
_MOST_TYPE_CHARS = 60


class AnsweredEntity(BaseModel):
    """An entity as the model gives it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(description="The entity's name, exactly as the text writes it.")
    type: str = Field(OTHER_TYPE, description="Its type.")
    aliases: tuple[str, ...] = Field((), description="Other names that the text gives it.")
    description: str = Field("", description="What the text says about it.")


class EntityAnswer(BaseModel):
    """What the model is asked to answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    entities: tuple[AnsweredEntity, ...] = Field(
        description="The entities of the text; an empty list if there is none."
    )


class EntityModelReader:
    """Asks a chat model for the entities of chunks.

    Args:
        model: Who is asked.
        entity_types: Types to keep, in lower case; none leaves the choice to the model.
        gazetteer: Names known beforehand; those that a chunk holds are its entities, whatever the model says.
        most: Most entities of one chunk.
        language: Of the prompt.
        session_id: Of the requests.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        entity_types: Sequence[str],
        gazetteer: Sequence[GazetteerEntry],
        most: int,
        language: LanguageSetting,
        session_id: str,
    ) -> None:
        self._model = model
        self._types = tuple(entity_types)
        self._known = KnownNames(gazetteer)
        self._most = most
        self._language: LanguageSetting = language
        self._session_id = session_id

    @property
    def concurrency(self) -> int:
        """How many items the model takes on at once."""
        return self._model.max_concurrency

    def without_asking(self, item: ExtractionItem) -> ChunkEntities | None:
        """No entities, where the chunk has no letter."""
        if any(char.isalpha() for char in item.chunk.indexed_text):
            return None
        return ChunkEntities(item.key, item.chunk.chunk_id, item.chunk.document_id, "model")

    async def read(self, item: ExtractionItem) -> tuple[ChunkEntities, ModelUsage]:
        """Entities that the model names and that stand in the chunk."""
        answer, usage = await ask_structured(self._model, self.request(item), EntityAnswer)
        answered = list(self._answered(answer.entities, item))
        of_types = [entity for entity in answered if entity is not None]
        kept = _joined([*self._known_in(item), *of_types])[: self._most]
        dropped = len(answer.entities) - len(of_types) + max(0, len(_joined(of_types)) - self._most)
        chunk = item.chunk
        entities = tuple(sorted(kept, key=lambda entity: (entity.start, entity.end, entity.name)))
        return ChunkEntities(item.key, chunk.chunk_id, chunk.document_id, "model", entities, dropped), usage

    def expected(self, item: ExtractionItem) -> ModelUsage:
        """What a question takes that is answered at once."""
        return expected_usage(self._model.profile, self.request(item))

    def stand_in(self, item: ExtractionItem) -> ChunkEntities:
        """A row with two entities, so that relations are counted for it."""
        chunk = item.chunk
        entities = (EntityMention("?", OTHER_TYPE), EntityMention("??", OTHER_TYPE))
        return ChunkEntities(item.key, chunk.chunk_id, chunk.document_id, "model", entities)

    def request(self, item: ExtractionItem) -> ChatRequest:
        """What the model is asked about the chunk."""
        text = item.chunk.indexed_text
        language = language_of(text, self._language)
        return ChatRequest(
            prompt=framed(text),
            system=ENTITY_PROMPT.instructions(language, types=self._types, most=self._most),
            session_id=self._session_id,
        )

    def _answered(self, entities: Iterable[AnsweredEntity], item: ExtractionItem) -> Iterator[EntityMention | None]:
        """A mention for each answered entity; None for one that the chunk does not name, or of no wanted type."""
        chunk = item.chunk
        text = FoldedText(chunk.text)
        above = FoldedText("\n".join((*chunk.heading_path, chunk.table_header)))
        for entity in entities:
            kind = " ".join(entity.type.split()).lower()[:_MOST_TYPE_CHARS] or OTHER_TYPE
            inside = text.find(entity.name)
            place = inside or above.find(entity.name)
            if place is None or (self._types and kind not in self._types):
                yield None
                continue
            yield EntityMention(
                text.written(place) if inside else above.written(place),
                kind,
                entity.description.strip()[:_MOST_DESCRIPTION_CHARS],
                *(inside or (NOT_IN_TEXT, NOT_IN_TEXT)),
                aliases=_aliases(entity, text, above),
            )

    def _known_in(self, item: ExtractionItem) -> Iterator[EntityMention]:
        for known in self._known.find(item.chunk.text):
            name = item.chunk.text[known.start : known.end]
            others = tuple(other for other in known.entry.names if folded(other) != folded(name))
            yield EntityMention(
                name, known.entry.type.lower(), "", known.start, known.end, method="gazetteer", aliases=others
            )


def _aliases(entity: AnsweredEntity, *texts: FoldedText) -> tuple[str, ...]:
    own = folded(entity.name)
    return tuple(
        dict.fromkeys(
            alias.strip()
            for alias in entity.aliases
            if folded(alias) not in {"", own} and any(text.find(alias) for text in texts)
        )
    )


def _joined(entities: Iterable[EntityMention]) -> list[EntityMention]:
    """One mention a name and type; a gazetteer's entry takes over what the model says about it."""
    by_name: dict[tuple[str, str], EntityMention] = {}
    known = {}
    for entity in entities:
        if entity.method == "gazetteer":
            for name in (entity.name, *entity.aliases):
                known[folded(name)] = (folded(entity.name), entity.type)
            by_name.setdefault((folded(entity.name), entity.type), entity)
            continue
        key = known.get(folded(entity.name), (folded(entity.name), entity.type))
        first = by_name.get(key)
        if first is None:
            by_name[key] = entity
        else:
            by_name[key] = replace(first, description=first.description or entity.description)
    return list(by_name.values())
