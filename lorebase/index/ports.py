"""What is searched: entities, typed filters, and the ports of a vector index and of a lexical index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_TAGS = 32
MAX_TAG_CHARS = 64


@dataclass(frozen=True, slots=True)
class EntityFields:
    """The scalar fields of an indexed chunk; the same in every collection.

    Attributes:
        chunk_id: Primary key.
        document_id: The document it stands in.
        revision_id: The revision of that document (governed: the reviewed revision).
        base_id: The knowledge base.
        organ_id: The organisation that owns it; 0 where nothing governs it.
        searchable: Whether searches may return it.
        tags: At most 32 of at most 64 characters.
        source_type: Class of the document, empty where none was given.
    """

    chunk_id: str
    document_id: str
    revision_id: str
    base_id: str
    organ_id: int = 0
    searchable: bool = False
    tags: tuple[str, ...] = ()
    source_type: str = ""


@dataclass(frozen=True, slots=True)
class VectorEntity:
    """A chunk with its vector (float32, unit length)."""

    fields: EntityFields
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextEntity:
    """A chunk with the text that lexical search reads."""

    fields: EntityFields
    text: str


FieldName = Literal[
    "chunk_id", "document_id", "revision_id", "base_id", "organ_id", "searchable", "tags", "source_type"
]


@dataclass(frozen=True, slots=True)
class Equals:
    """The field has this value."""

    field: FieldName
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has one of these values; no values match nothing."""

    field: FieldName
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The field has none of these values; no values match everything."""

    field: FieldName
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasAllTags:
    """Every one of these tags is on the entity; no tags match everything."""

    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasAnyTag:
    """At least one of these tags is on the entity; no tags match everything."""

    tags: tuple[str, ...]


Condition = Equals | AnyOf | NoneOf | HasAllTags | HasAnyTag
Filter = tuple[Condition, ...]
"""All of the conditions hold."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a search of the index returns: a key and how well it fits, never the truth about it.

    Attributes:
        chunk_id: The entity's key.
        document_id: Its document: tells where its chunk can be read.
        revision_id: Its revision.
        score: Vector search: cosine, -1 to 1. Lexical search: BM25, above 0. Higher is better.
    """

    chunk_id: str
    document_id: str
    revision_id: str
    score: float


EntityKind = Literal["chunks", "cards", "faq"]
"""What an index holds: each kind has collections of its own, so that no search of the one meets the others."""


class EntityIndex(Protocol):
    """What both indexes can do with their entities. A collection is made by its first write and loaded on demand."""

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        """Switch entities, keeping all else of them; unknown ids are passed over. Returns how many were found."""
        ...

    async def delete(self, where: Filter) -> int:
        """Remove the entities that match; an empty filter is refused. Returns how many there were."""
        ...

    async def count(self, where: Filter) -> int:
        """How many entities match now (a strong read, `count(*)`); 0 where the collection does not exist."""
        ...

    async def fields(self, where: Filter) -> list[EntityFields]:
        """The scalar fields of every entity that matches, by rising chunk id, paged inside."""
        ...

    async def drop(self) -> None:
        """Remove the whole collection, if it exists."""
        ...

    async def require_supported(self) -> None:
        """Refuse a store that cannot hold such an index, before anything is paid for that would be written to it.

        Raises:
            ConfigurationError: It cannot.
            UnavailableError: It does not answer.
        """
        ...

    async def close(self) -> None:
        """Give the connection back."""
        ...


class VectorIndex(EntityIndex, Protocol):
    """Dense vectors of one knowledge base and one embedding profile."""

    async def upsert(self, entities: Sequence[VectorEntity]) -> None:
        """Write entities; one with a known id takes the place of the one before. The last of a repeated id wins.

        Raises:
            MalformedAnswerError: The collection has another width than the vectors; names both and the remedy.
            UnavailableError: The store cannot be reached or is held by another process.
        """
        ...

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        """The `limit` nearest entities, best first, equal scores by rising chunk id; none where nothing matches."""
        ...


class LexicalIndex(EntityIndex, Protocol):
    """Words of the chunks of one knowledge base (BM25, Chinese and English)."""

    async def upsert(self, entities: Sequence[TextEntity]) -> None:
        """Write entities; one with a known id takes the place of the one before. The last of a repeated id wins."""
        ...

    async def search(self, text: str, where: Filter, limit: int) -> list[Candidate]:
        """The `limit` best entities that share a word with `text`, best first, equal scores by rising chunk id."""
        ...


class IndexStore(Protocol):
    """Opens the indexes of knowledge bases."""

    def vectors(self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks") -> VectorIndex:
        """The vector index of a base for an embedding profile and a kind of entity. Opens no connection by itself."""
        ...

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> LexicalIndex:
        """The lexical index of a base for a kind of entity. Opens no connection by itself."""
        ...

    async def close(self) -> None:
        """Close every connection it opened; the store can be used again afterwards and then opens anew."""
        ...
