"""The index of things other than chunks: by their words, and by their meaning where the base has an embedding model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from lorebase.index.ports import (
    EntityFields,
    EntityIndex,
    EntityKind,
    Filter,
    IndexStore,
    LexicalIndex,
    TextEntity,
    VectorEntity,
    VectorIndex,
)

_WORDS = "words"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is written.

    Attributes:
        fields: Its scalar fields.
        text: What lexical search reads.
        vector: Its vector; not looked at where the index has none.
    """

    fields: EntityFields
    text: str
    vector: NDArray[np.float32]


class EntryIndex:
    """Two indexes that hold the same entries and are switched, counted and cleaned as one.

    An entry is there only where both hold it, and searchable only where it is in both: what a kill has left half
    written is missing, and is written again.

    Args:
        words: The lexical index.
        vectors: The vector index; None where entries are found by their words alone.
    """

    def __init__(self, words: LexicalIndex, vectors: VectorIndex | None = None) -> None:
        self.words = words
        self.vectors = vectors

    @property
    def parts(self) -> tuple[EntityIndex, ...]:
        """The indexes behind it."""
        return (self.words,) if self.vectors is None else (self.words, self.vectors)

    async def upsert(self, entries: Sequence[Entry]) -> None:
        """Write entries in place of those with the same id."""
        await self.words.upsert([TextEntity(entry.fields, entry.text) for entry in entries])
        if self.vectors is not None:
            await self.vectors.upsert([VectorEntity(entry.fields, entry.vector) for entry in entries])

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        """Switch entries; returns how many were found in both."""
        return min(
            await asyncio.gather(*(part.set_searchable(chunk_ids, searchable=searchable) for part in self.parts))
        )

    async def delete(self, where: Filter) -> int:
        """Remove entries; returns how many the fuller index had."""
        return max(await asyncio.gather(*(part.delete(where) for part in self.parts)))

    async def count(self, where: Filter) -> int:
        """How many entries match in both."""
        counts = await asyncio.gather(*(part.count(where) for part in self.parts))
        return counts[0] if len(set(counts)) == 1 else len(await self.fields(where))

    async def fields(self, where: Filter) -> list[EntityFields]:
        """The fields of the entries that match in both, by rising id."""
        first, *others = await asyncio.gather(*(part.fields(where) for part in self.parts))
        for other in others:
            ids = {fields.chunk_id for fields in other}
            first = [fields for fields in first if fields.chunk_id in ids]
        return list(first)

    async def drop(self) -> None:
        """Remove both."""
        for part in self.parts:
            await part.drop()

    async def require_supported(self) -> None:
        """Refuse a store that cannot hold both."""
        for part in self.parts:
            await part.require_supported()

    async def close(self) -> None:
        """Give the connections back."""
        for part in self.parts:
            await part.close()


def parts_of(index: EntityIndex) -> tuple[EntityIndex, ...]:
    """The indexes behind an index: more than itself for one of entries."""
    return index.parts if isinstance(index, EntryIndex) else (index,)


def entry_collection(kind: EntityKind, profile_id: str = "") -> str:
    """Name in snapshots of an index of entries; without a profile of one by words alone."""
    return f"{kind}/{profile_id or _WORDS}"


def entry_kind_of(collection: str) -> EntityKind | None:
    """The kind of entries behind a collection's name; None for a collection of chunks."""
    name = collection.partition("/")[0]
    return next((kind for kind in get_args(EntityKind) if kind == name and kind != "chunks"), None)


def open_entries(store: IndexStore, base_name: str, collection: str, *, dimensions: int) -> EntryIndex:
    """The index behind a name that `entry_collection` gave. Opens no connection by itself."""
    kind = entry_kind_of(collection)
    assert kind is not None  # noqa: S101 (callers ask `entry_kind_of` first)
    profile_id = collection.partition("/")[2]
    words = store.lexical(base_name, kind=kind)
    if profile_id == _WORDS:
        return EntryIndex(words)
    return EntryIndex(words, store.vectors(base_name, profile_id, dimensions, kind=kind))
