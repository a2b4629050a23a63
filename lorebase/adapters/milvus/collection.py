"""What both indexes do with their collection: make, read, switch, delete, count. Blocking; its callers use threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from pymilvus import CollectionSchema, MilvusClient  # type: ignore[import-untyped]  # ships no types
from pymilvus.milvus_client.index import IndexParams  # type: ignore[import-untyped]  # ships no types

from lorebase.adapters.milvus.connection import Connection, EmbeddedConnection
from lorebase.adapters.milvus.counts import question_of
from lorebase.adapters.milvus.expressions import MATCHES_ALL, literal, render, restored_text
from lorebase.adapters.milvus.milvus_errors import CollectionNotFoundError, CollectionNotLoadedError
from lorebase.adapters.milvus.rows import Row, RowValue, batches, fields_of
from lorebase.adapters.milvus.schema import SCALAR_FIELDS
from lorebase.errors import MalformedAnswerError, UsageError
from lorebase.index.ports import AnyOf, Candidate, EntityFields, Filter

T = TypeVar("T")

MAX_RESULTS = 16_384
MAX_TIE_RESULTS = 4_096
MAX_PAGE_ROWS = 2_000
SCALAR_ROW_BYTES = 2_000


class Collection:
    """One collection, which its first write makes.

    Args:
        connection: The Milvus that holds it.
        name: Its name there.
        schema: What it is made with.
        index: Likewise.
        content_field: The field beside the scalar ones that is read and written.
        content_bytes: Most bytes of that field in one row.
        dimensions: Width of its vectors; None where it has no dense ones.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        schema: Callable[[], CollectionSchema],
        index: Callable[[], IndexParams],
        content_field: str,
        content_bytes: int,
        dimensions: int | None = None,
    ) -> None:
        self._connection = connection
        self._name = name
        self._schema = schema
        self._index = index
        self._content_field = content_field
        self._content_bytes = content_bytes
        self._dimensions = dimensions
        self._timeout = connection.limits.call_timeout_seconds

    def upsert(self, rows: Sequence[Row]) -> None:
        """Write rows; the last one of a repeated id wins."""
        if not rows:
            return
        with self._connection.write_lock:
            if not self._put_into_file(rows):
                self._make()
                self._write(rows)

    def search(
        self, data: RowValue, field: str, where: Filter, limit: int, parameters: Callable[[int], dict[str, int]]
    ) -> list[Candidate]:
        """The best `limit` rows, best first, equal scores by rising chunk id."""
        expression = render(where)
        if expression is None or limit < 1:
            return []
        if limit >= MAX_RESULTS:
            raise UsageError(f"A search gives at most {MAX_RESULTS - 1} results, not {limit}.", limit=limit)
        wanted = limit + 1
        while True:
            found = self._search(data, field, expression, wanted, parameters)
            tied_at_the_end = len(found) == wanted and found[-1].score == found[limit - 1].score
            if not tied_at_the_end or wanted >= MAX_TIE_RESULTS:
                break
            wanted = min(wanted * 4, MAX_TIE_RESULTS)  # which of the equal ones come first is decided by their ids
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.chunk_id))[:limit]

    def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        """Switch rows by writing them whole: neither Milvus Lite 2.5 nor servers before 2.6 update single fields."""
        ids = tuple(dict.fromkeys(chunk_ids))
        if self._connection.file is not None:
            found = self._connection.file.switch(self._name, ids, searchable=searchable)
            if found is not None:
                return found
        step = self._page_rows(self._content_bytes)
        with self._connection.write_lock:
            return sum(self._switch(ids[at : at + step], searchable=searchable) for at in range(0, len(ids), step))

    def delete(self, where: Filter) -> int:
        """Remove rows; returns how many there were."""
        if render(where) == MATCHES_ALL:
            raise UsageError("A deletion needs a condition.", remedy="Use drop() to remove the whole collection.")
        expression = render(where)
        if expression is None:
            return 0
        with self._connection.write_lock:
            there = self.count(where)
            if there:
                self._ask(self._connection.write, partial(self._delete, expression))
        return there

    def count(self, where: Filter) -> int:
        """How many rows match now."""
        expression = render(where)
        if expression is None:
            return 0
        answer = self._ask(
            partial(self._connection.count, question_of(self._name, expression)), partial(self._count, expression)
        )
        return answer or 0

    def fields(self, where: Filter) -> list[EntityFields]:
        """The scalar fields of the rows that match, by rising chunk id."""
        expression = render(where)
        if expression is None:
            return []
        match where:
            case (AnyOf(field="chunk_id", values=ids),) if self._connection.file is not None:
                rows = self._connection.file.rows(self._name, ids)
                if rows is not None:
                    return [fields_of(row) for row in rows]
        return [fields_of(row) for page in self._pages(expression) for row in page]

    def drop(self) -> None:
        """Remove the collection."""
        with suppress(CollectionNotFoundError):
            self._connection.write(lambda client: client.drop_collection(self._name, timeout=self._timeout))

    def _put_into_file(self, rows: Sequence[Row]) -> bool:
        """Write rows into the closed file of an embedded Milvus, if there is one and they are few."""
        if self._connection.file is None:
            return False
        chunk_ids = [restored_text(str(chunk_id)) for chunk_id in {row["chunk_id"]: None for row in rows}]
        return self._connection.file.put(self._name, chunk_ids, partial(self._write_new, rows)) is not None

    def _write_new(self, rows: Sequence[Row], database: Path) -> None:
        """Write rows into a new embedded database."""
        connection = EmbeddedConnection(database, self._connection.limits)
        try:
            self._on(connection).upsert(rows)
        finally:
            connection.close()

    def _on(self, connection: Connection) -> Collection:
        """The same collection in another Milvus."""
        return Collection(
            connection,
            self._name,
            schema=self._schema,
            index=self._index,
            content_field=self._content_field,
            content_bytes=self._content_bytes,
            dimensions=self._dimensions,
        )

    def _make(self) -> None:
        if self._connection.call(lambda client: client.has_collection(self._name, timeout=self._timeout)):
            self._check_dimensions()
            self._finish()
            return
        self._connection.write(
            lambda client: client.create_collection(
                self._name, schema=self._schema(), consistency_level="Strong", timeout=self._timeout
            )
        )
        self._finish()

    def _finish(self) -> None:
        """Index and load a collection that was just made, or whose maker was stopped between these steps."""
        if self._add_index():
            self._load()

    def _add_index(self) -> bool:
        """Give the collection its index where nobody has yet; tells whether nobody had."""
        if self._connection.call(lambda client: client.list_indexes(self._name, timeout=self._timeout)):
            return False
        index = self._index()
        # Of an empty collection the index is there at once; pymilvus would sleep half a second before it looks.
        self._connection.call(lambda client: client.create_index(self._name, index, sync=False, timeout=self._timeout))
        return True

    def _load(self) -> None:
        self._connection.call(lambda client: client.load_collection(self._name, timeout=self._timeout))

    def _check_dimensions(self) -> None:
        if self._dimensions is None:
            return
        description = self._connection.call(
            lambda client: client.describe_collection(self._name, timeout=self._timeout)
        )
        for field in description["fields"]:
            if field["name"] != self._content_field:
                continue
            there = int(field["params"]["dim"])
            if there != self._dimensions:
                raise MalformedAnswerError(
                    f"Collection {self._name} holds vectors of {there} numbers, but the embedding model gives "
                    f"{self._dimensions}.",
                    remedy="Use the model that it was built with, or drop the collection and build it again.",
                    dependency="milvus",
                    collection_dimensions=there,
                    dimensions=self._dimensions,
                )

    def _write(self, rows: Sequence[Row]) -> None:
        for batch in batches(rows, self._connection.deployment.message_bytes):
            self._connection.write(partial(self._send, batch))

    def _delete(self, expression: str, client: MilvusClient) -> None:
        client.delete(self._name, filter=expression, timeout=self._timeout)

    def _count(self, expression: str, client: MilvusClient) -> int:
        rows = client.query(
            self._name,
            filter=expression,
            output_fields=["count(*)"],
            timeout=self._timeout,
            consistency_level="Strong",
        )
        return int(rows[0]["count(*)"])

    def _send(self, batch: list[Row], client: MilvusClient) -> None:
        client.upsert(self._name, batch, timeout=self._timeout)

    def _switch(self, chunk_ids: tuple[str, ...], *, searchable: bool) -> int:
        expression = render((AnyOf("chunk_id", chunk_ids),))
        if expression is None:
            return 0
        rows = self._query(expression, [*SCALAR_FIELDS, self._content_field], limit=len(chunk_ids))
        self._write([{**row, "searchable": searchable} for row in rows if row["searchable"] != searchable])
        return len(rows)

    def _pages(self, expression: str) -> Iterator[list[Row]]:
        rows_a_page = self._page_rows(0)
        after = ""
        while True:
            paged = " and ".join(part for part in (expression, f"chunk_id > {literal(after)}") if part)
            page = self._query(paged, list(SCALAR_FIELDS), limit=rows_a_page)
            page.sort(key=lambda row: str(row["chunk_id"]).encode())
            yield page
            if len(page) < rows_a_page:
                return
            after = restored_text(str(page[-1]["chunk_id"]))

    def _page_rows(self, content_bytes: int) -> int:
        rows = self._connection.deployment.message_bytes // (content_bytes + SCALAR_ROW_BYTES)
        return max(1, min(rows, MAX_PAGE_ROWS))

    def _query(self, expression: str, output_fields: list[str], limit: int) -> list[Row]:
        def ask(client: MilvusClient) -> list[Row]:
            found = client.query(
                self._name,
                filter=expression,
                output_fields=output_fields,
                timeout=self._timeout,
                consistency_level="Strong",
                limit=limit,
                # Without it a server may stop at `limit` rows of one segment and skip lower ids of another.
                reduce_stop_for_best=True,
            )
            return [dict(row) for row in found]

        return self._ask(self._connection.call, ask) or []

    def _search(
        self, data: RowValue, field: str, expression: str, limit: int, parameters: Callable[[int], dict[str, int]]
    ) -> list[Candidate]:
        def ask(client: MilvusClient) -> list[Candidate]:
            found = client.search(
                self._name,
                data=[data],
                anns_field=field,
                filter=expression,
                limit=limit,
                output_fields=["document_id", "revision_id"],
                search_params={"params": parameters(limit)},
                timeout=self._timeout,
                consistency_level="Strong",
            )
            return [
                Candidate(
                    chunk_id=restored_text(str(hit.id)),
                    document_id=restored_text(str(hit.entity["document_id"])),
                    revision_id=restored_text(str(hit.entity["revision_id"])),
                    score=float(hit.distance),
                )
                for hit in found[0]
            ]

        return self._ask(self._connection.call, ask) or []

    def _ask(self, call: Callable[[Callable[[MilvusClient], T]], T], request: Callable[[MilvusClient], T]) -> T | None:
        """The answer; None where there is no collection. One that is released, or only half made, is finished once."""
        try:
            return call(request)
        except CollectionNotFoundError:
            return None
        except CollectionNotLoadedError:
            self._add_index()  # its maker may be at it now, or was stopped before it could
            self._load()
            return call(request)
