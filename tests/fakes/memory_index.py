"""An index store in memory: exact cosine and plain BM25, for tests that are about something else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lorebase.errors import MalformedAnswerError, UsageError
from lorebase.index.filters import check_fields, check_filter
from lorebase.index.ports import (
    AnyOf,
    Candidate,
    Condition,
    EntityFields,
    EntityKind,
    Equals,
    Filter,
    HasAllTags,
    HasAnyTag,
    NoneOf,
    TextEntity,
    VectorEntity,
)
from lorebase.index.words import passage_words, query_words

K1, B = 1.2, 0.75


def matches(fields: EntityFields, where: Filter) -> bool:
    """Whether all conditions hold."""
    return all(_holds(fields, condition) for condition in where)


def _holds(fields: EntityFields, condition: Condition) -> bool:
    match condition:
        case Equals(field=name, value=value):
            return bool(getattr(fields, name) == value)
        case AnyOf(field=name, values=values):
            return getattr(fields, name) in values
        case NoneOf(field=name, values=values):
            return getattr(fields, name) not in values
        case HasAllTags(tags=tags):
            return set(tags) <= set(fields.tags)
        case HasAnyTag(tags=tags):
            return not tags or bool(set(tags) & set(fields.tags))


@dataclass
class _Rows:
    """The rows of one collection; `content` is a vector or a list of words."""

    fields: dict[str, EntityFields] = field(default_factory=dict)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    dimensions: int | None = None


class _MemoryIndex:
    def __init__(self, collections: dict[str, _Rows], name: str) -> None:
        self._collections = collections
        self._name = name

    @property
    def _rows(self) -> _Rows:
        return self._collections.get(self._name) or _Rows()

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        known = [chunk_id for chunk_id in dict.fromkeys(chunk_ids) if chunk_id in self._rows.fields]
        for chunk_id in known:
            self._rows.fields[chunk_id] = replace(self._rows.fields[chunk_id], searchable=searchable)
        return len(known)

    async def delete(self, where: Filter) -> int:
        check_filter(where)
        if all(isinstance(c, NoneOf | HasAllTags | HasAnyTag) and not (_values(c)) for c in where):
            raise UsageError("A deletion needs a condition.")
        gone = [fields.chunk_id for fields in await self.fields(where)]
        for chunk_id in gone:
            self._rows.fields.pop(chunk_id)
            self._rows.vectors.pop(chunk_id, None)
            self._rows.words.pop(chunk_id, None)
        return len(gone)

    async def count(self, where: Filter) -> int:
        return len(await self.fields(where))

    async def fields(self, where: Filter) -> list[EntityFields]:
        check_filter(where)
        found = [fields for fields in self._rows.fields.values() if matches(fields, where)]
        return sorted(found, key=lambda fields: fields.chunk_id)

    async def drop(self) -> None:
        self._collections.pop(self._name, None)

    async def require_supported(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def _candidates(self, scores: dict[str, float], limit: int) -> list[Candidate]:
        best = sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:limit]
        return [
            Candidate(chunk_id, self._rows.fields[chunk_id].document_id, self._rows.fields[chunk_id].revision_id, score)
            for chunk_id, score in best
        ]


class MemoryVectorIndex(_MemoryIndex):
    def __init__(self, collections: dict[str, _Rows], name: str, dimensions: int) -> None:
        super().__init__(collections, name)
        self._dimensions = dimensions

    async def upsert(self, entities: Sequence[VectorEntity]) -> None:
        if not entities:
            return
        for entity in entities:
            check_fields(entity.fields)
            self._check(entity.vector)
        rows = self._collections.setdefault(self._name, _Rows(dimensions=self._dimensions))
        if rows.dimensions != self._dimensions:
            raise MalformedAnswerError(f"The collection holds {rows.dimensions} numbers, not {self._dimensions}.")
        for entity in entities:
            rows.fields[entity.fields.chunk_id] = entity.fields
            rows.vectors[entity.fields.chunk_id] = entity.vector

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        self._check(vector)
        scores = {
            fields.chunk_id: _cosine(vector, self._rows.vectors[fields.chunk_id]) for fields in await self.fields(where)
        }
        return self._candidates(scores, limit)

    def _check(self, vector: NDArray[np.float32]) -> None:
        if vector.shape != (self._dimensions,) or not np.isfinite(vector).all():
            raise MalformedAnswerError(f"A vector of shape {vector.shape} for an index of {self._dimensions} numbers.")


class MemoryLexicalIndex(_MemoryIndex):
    async def upsert(self, entities: Sequence[TextEntity]) -> None:
        for entity in entities:
            check_fields(entity.fields)
        if not entities:
            return
        rows = self._collections.setdefault(self._name, _Rows())
        for entity in entities:
            rows.fields[entity.fields.chunk_id] = entity.fields
            rows.words[entity.fields.chunk_id] = passage_words(entity.text)

    async def search(self, text: str, where: Filter, limit: int) -> list[Candidate]:
        words = query_words(text)
        found = await self.fields(where)
        scores = {fields.chunk_id: self._bm25(words, fields.chunk_id) for fields in found}
        return self._candidates({chunk_id: score for chunk_id, score in scores.items() if score > 0}, limit)

    def _bm25(self, words: list[str], chunk_id: str) -> float:
        passages = self._rows.words
        counts = Counter(passages[chunk_id])
        average = sum(map(len, passages.values())) / len(passages) or 1.0
        length = 1 - B + B * len(passages[chunk_id]) / average
        score = 0.0
        for word in words:
            holding = sum(word in passage for passage in passages.values())
            rarity = math.log(1 + (len(passages) - holding + 0.5) / (holding + 0.5))
            score += rarity * counts[word] * (K1 + 1) / (counts[word] + K1 * length)
        return score


class MemoryIndexStore:
    """Opens indexes that live as long as this object."""

    def __init__(self) -> None:
        self._collections: dict[str, _Rows] = {}

    def vectors(
        self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks"
    ) -> MemoryVectorIndex:
        return MemoryVectorIndex(self._collections, f"{base_name}/{kind}/vectors/{profile_id[:16]}", dimensions)

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> MemoryLexicalIndex:
        return MemoryLexicalIndex(self._collections, f"{base_name}/{kind}/text")

    async def close(self) -> None:
        return None


def _values(condition: NoneOf | HasAllTags | HasAnyTag) -> tuple[str, ...]:
    return condition.values if isinstance(condition, NoneOf) else condition.tags


def _cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right) or 1.0))
