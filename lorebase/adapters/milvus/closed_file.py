"""Little writes to a database that no Milvus serves: done in the file, because Milvus would load whole collections.

Milvus Lite loads a collection before it writes, deletes or counts: seconds for 100,000 chunks, for the twenty rows of
one changed document. Its file is a SQLite database, one row a chunk. New rows are written by a Milvus of their own into
an empty database and moved over; of rows that are there, one flag is changed. Whatever is not as Milvus Lite 2.5.1 does
it, is not little, or is no such write, is left to Milvus.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from lorebase.adapters.milvus.counts import ALL, OFF, ON, KnownCounts
from lorebase.adapters.milvus.expressions import stored_text
from lorebase.adapters.milvus.rows import Row
from lorebase.adapters.milvus.stored_rows import StoredRow, UnknownLayoutError
from lorebase.errors import LorebaseError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LittleWrites:
    """Which writes are done in the file.

    Attributes:
        least_rows: Those to collections of so many rows: Milvus loads them in the time that a Milvus of its own for new
            rows takes to start and to stop, about 0.3 s.
        times: Those of which so many times the rows, all since the file was closed, are no more than Milvus would load.
    """

    least_rows: int = 10_000
    times: int = 20


DEFAULT_LITTLE_WRITES = LittleWrites()

_TABLE = 'CREATE TABLE "{}" (id INTEGER PRIMARY KEY, milvus_id VARCHAR(1024), data BLOB)'
_OF_IDS = "milvus_id IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class _Change:
    """What a write did: to how many rows, and by how much it changed the numbers of rows and of searchable rows."""

    touched: int
    rows: int
    searchable: int


class ClosedFile:
    """The database file of one embedded Milvus while that does not run.

    Every method does nothing and says so where Milvus has to be asked. What is known of counts stays known: each write
    is one transaction, and by how much it changes a count is read from the very rows that it replaces.

    Args:
        database: The file.
        counts: What is known of it.
        held: Holds the file, with the counts loaded, while no Milvus serves it; tells whether it does.
        little: Which writes are done here.
    """

    def __init__(
        self,
        database: Path,
        counts: KnownCounts,
        held: Callable[[], AbstractContextManager[bool]],
        *,
        little: LittleWrites,
    ) -> None:
        self._database = database
        self._counts = counts
        self._held = held
        self._little = little
        self._written_rows = 0

    def begin_anew(self) -> None:
        """Forget how much was written: from now on it counts as little again."""
        self._written_rows = 0

    def clean(self) -> None:
        """Remove what a killed process left of new rows. The file is held."""
        shutil.rmtree(self._folder_of_new, ignore_errors=True)

    def rows(self, collection: str, chunk_ids: Sequence[str]) -> list[Row] | None:
        """The scalar fields of those of the rows that are there, by rising chunk id; None to ask Milvus."""

        def read(file: sqlite3.Connection) -> list[Row]:
            found = _stored(file, "main", collection, _parameter(chunk_ids))
            return [row.scalars for _, row in sorted(found.items())]

        return self._opened(collection, len(chunk_ids), read)

    def switch(self, collection: str, chunk_ids: Sequence[str], *, searchable: bool) -> int | None:
        """Switch rows; returns how many were found, None to ask Milvus."""
        switched = partial(_switch, collection=collection, wanted=_parameter(chunk_ids), searchable=searchable)
        return self._written(collection, len(chunk_ids), switched)

    def put(self, collection: str, chunk_ids: Sequence[str], write: Callable[[Path], None]) -> int | None:
        """Put rows in place of those with the same id.

        Args:
            collection: Their collection.
            chunk_ids: Their distinct ids.
            write: Has a Milvus write them into a new database, and closes it.

        Returns:
            How many there were; None to have Milvus write them.
        """

        def put(file: sqlite3.Connection) -> _Change:
            return _move(file, collection, _parameter(chunk_ids), len(chunk_ids))

        def prepare(file: sqlite3.Connection) -> None:
            self.clean()
            self._folder_of_new.mkdir()
            new = self._folder_of_new / "new.db"
            write(new)
            file.execute("ATTACH ? AS new", (str(new),))

        try:
            return self._written(collection, len(chunk_ids), put, prepare)
        except (LorebaseError, OSError):
            return None  # what Milvus says of these rows, it says again where they belong

    @property
    def _folder_of_new(self) -> Path:
        return self._database.with_name(f".{self._database.name}.new")

    def _opened(self, collection: str, rows: int, act: Callable[[sqlite3.Connection], T]) -> T | None:
        with self._held() as held:
            if not held or not self._database.exists():
                return None
            try:
                with closing(sqlite3.connect(self._database, isolation_level=None)) as file:
                    if not self._is_little(file, collection, rows):
                        return None
                    is_new = self._index(file, collection)
                    result = act(file)
            except (UnknownLayoutError, sqlite3.Error):
                return None
            finally:
                self.clean()
            if is_new or isinstance(result, _Change):
                self._counts.save()
            return result

    def _written(
        self,
        collection: str,
        rows: int,
        change: Callable[[sqlite3.Connection], _Change],
        prepare: Callable[[sqlite3.Connection], None] = lambda _file: None,
    ) -> int | None:
        def act(file: sqlite3.Connection) -> _Change:
            prepare(file)
            known = self._counts.take()  # a process that is killed from here on leaves nothing known
            with _transaction(file):
                made = change(file)
            self._counts.give_back(known, collection, shifts=_shifts(made))
            self._written_rows += rows
            return made

        made = self._opened(collection, rows, act)
        return None if made is None else made.touched

    def _is_little(self, file: sqlite3.Connection, collection: str, rows: int) -> bool:
        tables = file.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (collection,))
        if tables.fetchone() != (_TABLE.format(collection),):
            return False
        loaded: int = file.execute(f'SELECT coalesce(max(id), 0) FROM "{collection}"').fetchone()[0]  # noqa: S608 (a table that exists)
        return loaded >= self._little.least_rows and (self._written_rows + rows) * self._little.times <= loaded

    def _index(self, file: sqlite3.Connection, collection: str) -> bool:
        """Have rows found by their id; Milvus reads the whole table for each. Whether that is new."""
        name = f"{collection}_ids"
        if file.execute("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?", (name,)).fetchone():
            return False
        file.execute(f'CREATE INDEX "{name}" ON "{collection}" (milvus_id)')
        return True


def _parameter(chunk_ids: Sequence[str]) -> str:
    return json.dumps([stored_text(chunk_id) for chunk_id in chunk_ids])


@contextmanager
def _transaction(file: sqlite3.Connection) -> Iterator[None]:
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        file.rollback()
        raise
    file.commit()


def _stored(file: sqlite3.Connection, database: str, collection: str, wanted: str) -> dict[str, StoredRow]:
    """Those of the rows that are there, by stored chunk id.

    Raises:
        UnknownLayoutError: An id is there twice, or a row is not laid out as expected.
    """
    found = file.execute(
        f'SELECT milvus_id, CAST(data AS BLOB) FROM {database}."{collection}" WHERE {_OF_IDS}',  # noqa: S608 (as above)
        (wanted,),
    ).fetchall()
    rows = {chunk_id: StoredRow(data) for chunk_id, data in found}
    if len(rows) != len(found):
        raise UnknownLayoutError
    return rows


def _switch(file: sqlite3.Connection, *, collection: str, wanted: str, searchable: bool) -> _Change:
    found = _stored(file, "main", collection, wanted)
    others = {chunk_id: row for chunk_id, row in found.items() if row.searchable != searchable}
    file.executemany(
        # Milvus keeps a row's bytes as text.
        f'UPDATE "{collection}" SET data = CAST(? AS TEXT) WHERE milvus_id = ?',  # noqa: S608 (as above)
        [(row.switched(searchable=searchable), chunk_id) for chunk_id, row in others.items()],
    )
    return _Change(touched=len(found), rows=0, searchable=len(others) if searchable else -len(others))


def _move(file: sqlite3.Connection, collection: str, wanted: str, rows: int) -> _Change:
    """Move the rows of the new database over, with what they add to the statistics of words."""
    if _meta(file, "new", collection) != _meta(file, "main", collection):
        raise UnknownLayoutError  # made by an earlier version, or of another width
    new, old = _stored(file, "new", collection, wanted), _stored(file, "main", collection, wanted)
    if len(new) != rows:
        raise UnknownLayoutError
    has_words = file.execute("SELECT 1 FROM new.bm25_stats WHERE collection_name = ?", (collection,)).fetchone()
    if has_words and old:
        raise UnknownLayoutError  # only Milvus knows what the replaced rows have added
    file.execute(f'DELETE FROM main."{collection}" WHERE {_OF_IDS}', (wanted,))  # noqa: S608 (as above)
    file.execute(
        f'INSERT INTO main."{collection}" (milvus_id, data) '  # noqa: S608 (as above)
        f'SELECT milvus_id, data FROM new."{collection}" ORDER BY id'
    )
    if has_words:
        _add_statistics(file, collection)
    on = sum(row.searchable for row in new.values()) - sum(row.searchable for row in old.values())
    return _Change(touched=len(old), rows=len(new) - len(old), searchable=on)


def _meta(file: sqlite3.Connection, database: str, collection: str) -> list[tuple[str, bytes, str]]:
    """Schema and indexes of a collection."""
    return file.execute(
        f"SELECT meta_type, CAST(blob_field AS BLOB), string_field FROM {database}.collection_meta "  # noqa: S608 (as above)
        "WHERE collection_name = ? ORDER BY 1, 3, 2",
        (collection,),
    ).fetchall()


def _add_statistics(file: sqlite3.Connection, collection: str) -> None:
    file.execute(
        "INSERT INTO main.bm25_stats (collection_name, output_field_name, token_num, doc_num) "
        "SELECT collection_name, output_field_name, token_num, doc_num FROM new.bm25_stats WHERE collection_name = ? "
        "ON CONFLICT (collection_name, output_field_name) DO UPDATE "
        "SET token_num = token_num + excluded.token_num, doc_num = doc_num + excluded.doc_num",
        (collection,),
    )
    file.execute(
        "INSERT INTO main.token_doc_count (collection_name, output_field_name, token, doc_count) "
        "SELECT collection_name, output_field_name, token, doc_count FROM new.token_doc_count "
        "WHERE collection_name = ? "
        "ON CONFLICT (collection_name, output_field_name, token) DO UPDATE "
        "SET doc_count = doc_count + excluded.doc_count",
        (collection,),
    )


def _shifts(change: _Change) -> dict[str, int]:
    """By how much a change shifts the answers to counts, by expression."""
    return {
        ALL: change.rows,
        ON: change.searchable,
        OFF: change.rows - change.searchable,
    }
