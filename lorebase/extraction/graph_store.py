"""Knowledge graphs in a relational database, through SQLAlchemy: SQLite, PostgreSQL or MySQL."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, and_, delete, func, insert, select, union_all
from sqlalchemy.exc import IntegrityError

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.database import Database
from lorebase.extraction.graph_kinds import KNOWLEDGE_GRAPH, GraphFact
from lorebase.extraction.graph_model import Evidence, GraphEntity, GraphRelation, graph_of
from lorebase.extraction.graph_tables import (
    CONTENT,
    ENTITIES,
    EVIDENCE,
    GRAPHS,
    METADATA,
    NAMES,
    RELATIONS,
    entity_of,
    relation_of,
    table_rows,
)
from lorebase.extraction.resolution_forms import form_key

_IDS_IN_ONE_QUERY = 500
_ROWS_IN_ONE_INSERT = 5_000
_AnswerT = TypeVar("_AnswerT")


class SqlGraphStore:
    """Graph store over a database. Its calls are made in threads, each in a transaction of its own.

    Args:
        open_database: Opens the database; called when the store is first used, and again after `close`.
    """

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open_database = open_database
        self._database: Database | None = None
        self._lock = threading.Lock()

    @property
    def kind(self) -> ArtifactKind[Any]:
        """Graphs are made of their facts."""
        return KNOWLEDGE_GRAPH

    async def holds(self, base_name: str, content_key: str) -> bool:
        """Whether a graph is there, whole."""
        query = select(GRAPHS.c.row_count).where(_is(GRAPHS, base_name, content_key))
        return await self._read(lambda connection: connection.execute(query).first() is not None)

    async def write(self, base_name: str, content_key: str, rows: Sequence[GraphFact]) -> None:
        """Write a graph in one transaction; where it is there already, nothing is changed."""
        await asyncio.to_thread(self._write, base_name, content_key, rows)

    def _write(self, base_name: str, content_key: str, rows: Sequence[GraphFact]) -> None:
        owner = {"base_name": base_name, "content_key": content_key}
        contents = table_rows(graph_of(rows))

        def put(connection: Connection) -> None:
            # First, so that of two writers the second waits, and then fails as a whole.
            connection.execute(insert(GRAPHS), {**owner, "row_count": sum(map(len, contents.values()))})
            for table, content in contents.items():
                for batch in _batches(content, _ROWS_IN_ONE_INSERT):
                    connection.execute(insert(table), [{**owner, **row} for row in batch])

        try:
            self._opened().written(put)
        except IntegrityError:
            if not self._holds(base_name, content_key):
                raise

    def _holds(self, base_name: str, content_key: str) -> bool:
        query = select(GRAPHS.c.row_count).where(_is(GRAPHS, base_name, content_key))
        return self._ask(lambda connection: connection.execute(query).first() is not None)

    async def content_keys(self, base_name: str) -> list[str]:
        """Contents whose graphs are there."""
        query = select(GRAPHS.c.content_key).where(GRAPHS.c.base_name == base_name).order_by(GRAPHS.c.content_key)
        return await self._read(lambda connection: list(connection.execute(query).scalars()))

    async def content_keys_of_document(self, base_name: str, document_id: str) -> dict[str, int]:
        """Contents that have evidence in a document, with how much."""
        query = (
            select(EVIDENCE.c.content_key, func.count())
            .where(EVIDENCE.c.base_name == base_name, EVIDENCE.c.document_id == document_id)
            .group_by(EVIDENCE.c.content_key)
        )
        return await self._read(lambda connection: {row[0]: row[1] for row in connection.execute(query)})

    async def remove(self, base_name: str, content_keys: Iterable[str]) -> int:
        """Remove graphs, each in one transaction. Returns how many rows went."""
        removed = 0
        for key in content_keys:
            remove = partial(_remove, base_name=base_name, content_key=key)
            removed += await asyncio.to_thread(self._change, remove)
        return removed

    async def rows(self, base_name: str, content_keys: Iterable[str]) -> int:
        """How many rows graphs have together."""

        def query(keys: Sequence[str]) -> Any:  # noqa: ANN401 (a statement of the library)
            return select(GRAPHS.c.row_count).where(GRAPHS.c.base_name == base_name, GRAPHS.c.content_key.in_(keys))

        return sum(row.row_count for row in await self._read_batches(list(content_keys), query))

    async def named(self, base_name: str, content_key: str, forms: Sequence[str]) -> dict[str, list[GraphEntity]]:
        """Entities by the normal forms of their names."""
        form_of = {form_key(form): form for form in forms}

        def query(keys: Sequence[str]) -> Any:  # noqa: ANN401 (a statement of the library)
            return (
                select(NAMES.c.form_key, ENTITIES)
                .join(ENTITIES, and_(*(NAMES.c[name] == ENTITIES.c[name] for name in _ENTITY_KEY)))
                .where(_is(NAMES, base_name, content_key), NAMES.c.form_key.in_(keys))
                .order_by(ENTITIES.c.chunks.desc(), ENTITIES.c.entity_id)
            )

        found: dict[str, list[GraphEntity]] = defaultdict(list)
        for row in await self._read_batches(list(form_of), query):
            found[form_of[row.form_key]].append(entity_of(row))
        return dict(found)

    async def entities(self, base_name: str, content_key: str, entity_ids: Sequence[str]) -> dict[str, GraphEntity]:
        """Entities by id."""

        def query(keys: Sequence[str]) -> Any:  # noqa: ANN401 (as above)
            return select(ENTITIES).where(_is(ENTITIES, base_name, content_key), ENTITIES.c.entity_id.in_(keys))

        return {row.entity_id: entity_of(row) for row in await self._read_batches(entity_ids, query)}

    async def largest(self, base_name: str, content_key: str, limit: int) -> list[GraphEntity]:
        """The entities that most chunks name."""
        query = (
            select(ENTITIES)
            .where(_is(ENTITIES, base_name, content_key))
            .order_by(ENTITIES.c.chunks.desc(), ENTITIES.c.entity_id)
            .limit(limit)
        )
        return await self._read(lambda connection: [entity_of(row) for row in connection.execute(query)])

    async def relations(
        self, base_name: str, content_key: str, entity_ids: Sequence[str], limit_each: int
    ) -> list[GraphRelation]:
        """The heaviest relations of each entity."""

        def query(keys: Sequence[str]) -> Any:  # noqa: ANN401 (as above)
            ends = union_all(
                *(
                    select(RELATIONS, end.label("end_id")).where(_is(RELATIONS, base_name, content_key), end.in_(keys))
                    for end in (RELATIONS.c.source_id, RELATIONS.c.target_id)
                )
            ).subquery()
            order = (ends.c.weight.desc(), ends.c.relation_id)
            ranked = select(ends, func.row_number().over(partition_by=ends.c.end_id, order_by=order).label("place"))
            numbered = ranked.subquery()
            return select(numbered).where(numbered.c.place <= limit_each)

        found = {row.relation_id: relation_of(row) for row in await self._read_batches(entity_ids, query)}
        return sorted(found.values(), key=lambda relation: (-relation.weight, relation.relation_id))

    async def evidence(
        self, base_name: str, content_key: str, fact_ids: Sequence[str], limit_each: int
    ) -> dict[str, list[Evidence]]:
        """The surest evidence of each entity or relation."""

        def query(keys: Sequence[str]) -> Any:  # noqa: ANN401 (as above)
            order = (EVIDENCE.c.confidence.desc(), EVIDENCE.c.chunk_id)
            place = func.row_number().over(partition_by=EVIDENCE.c.fact_id, order_by=order).label("place")
            numbered = (
                select(EVIDENCE, place)
                .where(_is(EVIDENCE, base_name, content_key), EVIDENCE.c.fact_id.in_(keys))
                .subquery()
            )
            return select(numbered).where(numbered.c.place <= limit_each).order_by(numbered.c.place)

        found: dict[str, list[Evidence]] = defaultdict(list)
        for row in await self._read_batches(fact_ids, query):
            found[row.fact_id].append(Evidence(row.fact_id, row.chunk_id, row.document_id, row.confidence))
        return dict(found)

    async def entities_of_chunks(
        self, base_name: str, content_key: str, chunk_ids: Sequence[str]
    ) -> dict[str, list[str]]:
        """Entities by the chunks that name them."""

        def query(keys: Sequence[str]) -> Any:  # noqa: ANN401 (as above)
            return (
                select(EVIDENCE.c.chunk_id, ENTITIES.c.entity_id)
                .join(
                    ENTITIES,
                    and_(
                        *(EVIDENCE.c[name] == ENTITIES.c[name] for name in ("base_name", "content_key")),
                        EVIDENCE.c.fact_id == ENTITIES.c.entity_id,
                    ),
                )
                .where(_is(EVIDENCE, base_name, content_key), EVIDENCE.c.chunk_id.in_(keys))
                .order_by(ENTITIES.c.entity_id)
            )

        found: dict[str, list[str]] = defaultdict(list)
        for row in await self._read_batches(chunk_ids, query):
            found[row.chunk_id].append(row.entity_id)
        return dict(found)

    async def close(self) -> None:
        """Close the connections."""
        with self._lock:
            database, self._database = self._database, None
        if database is not None:
            await asyncio.to_thread(database.close)

    async def _read(self, ask: Callable[[Connection], _AnswerT]) -> _AnswerT:
        return await asyncio.to_thread(self._ask, ask)

    def _ask(self, ask: Callable[[Connection], _AnswerT]) -> _AnswerT:
        with self._opened().reading() as connection:
            return ask(connection)

    def _change(self, write: Callable[[Connection], _AnswerT]) -> _AnswerT:
        return self._opened().written(write)

    async def _read_batches(self, keys: Sequence[str], query: Callable[[Sequence[str]], Any]) -> list[Any]:
        def ask(connection: Connection) -> list[Any]:
            return [
                row
                for batch in _batches(list(dict.fromkeys(keys)), _IDS_IN_ONE_QUERY)
                for row in connection.execute(query(batch))
            ]

        return await self._read(ask)

    def _opened(self) -> Database:
        with self._lock:
            if self._database is None:
                database = self._open_database().called("database of knowledge graphs")
                database.make_tables(METADATA)
                self._database = database
            return self._database


_ENTITY_KEY = ("base_name", "content_key", "entity_id")


def _is(table: Table, base_name: str, content_key: str) -> Any:  # noqa: ANN401 (a clause of the library)
    return and_(table.c.base_name == base_name, table.c.content_key == content_key)


def _remove(connection: Connection, base_name: str, content_key: str) -> int:
    # The row that says the graph is whole goes first: all of it is one transaction, and its lock keeps writers out.
    connection.execute(delete(GRAPHS).where(_is(GRAPHS, base_name, content_key)))
    return sum(
        connection.execute(delete(table).where(_is(table, base_name, content_key))).rowcount for table in CONTENT
    )


def _batches(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for first in range(0, len(values), size):
        yield values[first : first + size]
