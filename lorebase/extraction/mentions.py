"""What was read in a chunk: the entities it names and the relations it states, each with where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ExtractionMode = Literal["model", "rules"]

ExtractionMethod = Literal["model", "gazetteer", "definition", "abbreviation", "heading", "name", "co_occurrence"]
"""How a mention was found: by a model, or by which rule."""

NOT_IN_TEXT = -1
"""Place of a name that stands in the chunk's heading path or table header, but not in its own text."""


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity that a chunk names. A chunk names an entity once, however often the name stands in it.

    Attributes:
        name: As written at `start`, or as written in the heading where it does not stand in the text.
        type: Lower-case, such as "person"; "other" where nothing tells.
        description: What this chunk says about it, in the chunk's language; may be empty.
        start: First code point in `Chunk.text` of the first place where the name stands, or `NOT_IN_TEXT`.
        end: One past its last code point, or `NOT_IN_TEXT`.
        confidence: From 0 to 1: of rules a constant for each method, of models 1.
        method: How it was found.
        aliases: Other names of it: from the chunk, such as the abbreviation in `World Health Organization (WHO)`, or
            from the gazetteer.
    """

    name: str
    type: str
    description: str = ""
    start: int = NOT_IN_TEXT
    end: int = NOT_IN_TEXT
    confidence: float = 1.0
    method: ExtractionMethod = "model"
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkEntities:
    """The entities of one chunk; there is a row for a chunk without any, so that it is not asked again.

    Attributes:
        key: The item of work that this row answers: a digest of what the chunk says.
        chunk_id: The chunk.
        document_id: Its document.
        mode: Who read it.
        entities: By their first place in the text, those of headings first; no two have the same name and type.
        dropped: Entities that a model answered and the chunk does not name, or that were over the limit.
    """

    key: str
    chunk_id: str
    document_id: str
    mode: ExtractionMode
    entities: tuple[EntityMention, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class RelationMention:
    """A relation between two entities that a chunk states.

    Attributes:
        source: Name of the entity that it starts from: the `name` of an `EntityMention` of the same chunk.
        target: Name of the entity that it leads to; never the source.
        type: Keyword in the chunk's language, such as "works for" or "位于".
        description: What the chunk says about it; may be empty.
        start: First code point in `Chunk.text` of the sentence that states it, or `NOT_IN_TEXT`.
        end: One past its last code point, or `NOT_IN_TEXT`.
        confidence: From 0 to 1, as of entities.
        method: How it was found.
    """

    source: str
    target: str
    type: str
    description: str = ""
    start: int = NOT_IN_TEXT
    end: int = NOT_IN_TEXT
    confidence: float = 1.0
    method: ExtractionMethod = "model"


@dataclass(frozen=True, slots=True)
class ChunkRelations:
    """The relations of one chunk; there is a row for a chunk without any, so that it is not asked again.

    Attributes:
        key: The item of work that this row answers: a digest of what the chunk says and of its entities.
        chunk_id: The chunk.
        document_id: Its document.
        mode: Who read it.
        relations: In reading order; no two have the same source, target and type.
        dropped: Relations that a model answered between names which are no entities of the chunk, or over the limit.
    """

    key: str
    chunk_id: str
    document_id: str
    mode: ExtractionMode
    relations: tuple[RelationMention, ...] = ()
    dropped: int = 0
