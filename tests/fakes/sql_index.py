"""An index store in a database, which many processes share: for tests in which processes race or die."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import JSON, Boolean, Column, MetaData, String, Table, select

from lorebase.database import Database
from lorebase.index.filters import check_fields, check_filter
from lorebase.index.ports import Candidate, EntityFields, EntityKind, Filter, TextEntity, VectorEntity
from lorebase.index.words import passage_words, query_words
from tests.fakes.memory_index import matches

metadata = MetaData()
rows = Table(
    "fake_index",
    metadata,
    Column("collection", String(200), primary_key=True),
    Column("chunk_id", String(64), primary_key=True),
    Column("searchable", Boolean, nullable=False),
    Column("fields", JSON, nullable=False),
    Column("content", JSON, nullable=False),
)

Written = Callable[[str], None]
"""Told after each write that it is done; a test may kill the process there."""


class _SqlIndex:
    def __init__(self, database: Database, collection: str, written: Written) -> None:
        self._database = database
        self._collection = collection
        self._written = written

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        return await asyncio.to_thread(self._set_searchable, list(chunk_ids), searchable=searchable)

    def _set_searchable(self, chunk_ids: list[str], *, searchable: bool) -> int:
        change = rows.update().where(rows.c.collection == self._collection, rows.c.chunk_id.in_(chunk_ids))
        with self._database.transaction() as connection:
            found = connection.execute(change.values(searchable=searchable)).rowcount
        self._written(f"{'enable' if searchable else 'close'} {self._collection}")
        return found

    async def delete(self, where: Filter) -> int:
        gone = [fields.chunk_id for fields in await self.fields(where)]
        change = rows.delete().where(rows.c.collection == self._collection, rows.c.chunk_id.in_(gone))
        with self._database.transaction() as connection:
            connection.execute(change)
        self._written(f"delete {self._collection}")
        return len(gone)

    async def count(self, where: Filter) -> int:
        return len(await self.fields(where))

    async def fields(self, where: Filter) -> list[EntityFields]:
        check_filter(where)
        return [fields for fields, _content in await asyncio.to_thread(self._read, where)]

    async def drop(self) -> None:
        with self._database.transaction() as connection:
            connection.execute(rows.delete().where(rows.c.collection == self._collection))

    async def require_supported(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def _read(self, where: Filter) -> list[tuple[EntityFields, Any]]:
        query = select(rows).where(rows.c.collection == self._collection).order_by(rows.c.chunk_id)
        with self._database.reading() as connection:
            found = [
                (
                    EntityFields(**{**row.fields, "tags": tuple(row.fields["tags"]), "searchable": row.searchable}),
                    row.content,
                )
                for row in connection.execute(query)
            ]
        return [(fields, content) for fields, content in found if matches(fields, where)]

    def _upsert(self, entities: Sequence[tuple[EntityFields, Any]]) -> None:
        for fields, _content in entities:
            check_fields(fields)
        by_id = {
            fields.chunk_id: {
                "collection": self._collection,
                "chunk_id": fields.chunk_id,
                "searchable": fields.searchable,
                "fields": asdict(replace(fields, searchable=False)),
                "content": content,
            }
            for fields, content in entities
        }
        if by_id:
            with self._database.transaction() as connection:
                known = rows.c.collection == self._collection, rows.c.chunk_id.in_(list(by_id))
                connection.execute(rows.delete().where(*known))
                connection.execute(rows.insert(), list(by_id.values()))
        self._written(f"upsert {self._collection}")

    def _best(self, scored: Sequence[tuple[EntityFields, float]], limit: int) -> list[Candidate]:
        best = sorted(scored, key=lambda found: (-found[1], found[0].chunk_id))[:limit]
        return [
            Candidate(fields.chunk_id, fields.document_id, fields.revision_id, float(score)) for fields, score in best
        ]


class SqlVectorIndex(_SqlIndex):
    async def upsert(self, entities: Sequence[VectorEntity]) -> None:
        found = [(entity.fields, [float(number) for number in entity.vector]) for entity in entities]
        await asyncio.to_thread(self._upsert, found)

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        found = await asyncio.to_thread(self._read, where)
        return self._best([(fields, float(np.dot(vector, content))) for fields, content in found], limit)


class SqlLexicalIndex(_SqlIndex):
    async def upsert(self, entities: Sequence[TextEntity]) -> None:
        await asyncio.to_thread(self._upsert, [(entity.fields, passage_words(entity.text)) for entity in entities])

    async def search(self, text: str, where: Filter, limit: int) -> list[Candidate]:
        words = set(query_words(text))
        found = await asyncio.to_thread(self._read, where)
        scored = [(fields, float(len(words & set(content)))) for fields, content in found]
        return self._best([(fields, score) for fields, score in scored if score], limit)


class SqlIndexStore:
    """Opens indexes in a database; `metadata.create_all` makes their table."""

    def __init__(self, database: Database, written: Written = lambda _step: None) -> None:
        self._database = database
        self._written = written

    def vectors(
        self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks"
    ) -> SqlVectorIndex:
        del dimensions
        return SqlVectorIndex(self._database, f"{base_name}/{kind}/{profile_id}", self._written)

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> SqlLexicalIndex:
        return SqlLexicalIndex(self._database, f"{base_name}/{kind}/words", self._written)

    async def close(self) -> None:
        return None
