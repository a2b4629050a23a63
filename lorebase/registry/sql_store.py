"""The registry in a relational database: a row for each base, with a version that every change checks."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import tenacity
from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import IntegrityError

from lorebase.database import Database
from lorebase.errors import ConflictError, CorruptObjectError, NewerFormatError
from lorebase.registry.reading import JsonObject
from lorebase.registry.stores import FORMAT, Change, StoredBases

ATTEMPTS: Final = 50

Result = TypeVar("Result")

_METADATA = MetaData()

BASES: Final = Table(
    "registry_base",
    _METADATA,
    Column("base_id", String(48), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("data", Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False),
    mysql_charset="utf8mb4",
    mysql_collate="utf8mb4_bin",
    mariadb_charset="utf8mb4",
    mariadb_collate="utf8mb4_bin",
)
"""One row for each base; `data` is its JSON object."""

FORMATS: Final = Table(
    "registry_format",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    mysql_charset="utf8mb4",
    mysql_collate="utf8mb4_bin",
    mariadb_charset="utf8mb4",
    mariadb_collate="utf8mb4_bin",
)
"""One row: the form of what is stored."""


class SqlRegistryStore:
    """Records in a database; see `RegistryStore`.

    Works with SQLite, PostgreSQL and MariaDB or MySQL. Transactions are short: a change reads in one, writes in
    another, and is made again where the row's version moved in between.

    Args:
        database: Where the tables are; belongs to the caller.
        attempts: Most tries of one change; each but the last lost to another writer of the same base.
    """

    def __init__(self, database: Database, *, attempts: int = ATTEMPTS) -> None:
        self._database = database.called("database of the registry")
        self._attempts = attempts

    def create_tables(self) -> None:
        """Make the tables that are missing and note the format.

        Raises:
            UnavailableError: The database does not answer.
        """
        self._database.make_tables(_METADATA)
        if self._format() is None:
            first = insert(FORMATS).values(id=1, format=FORMAT)
            with suppress(IntegrityError):  # another process notes it at the same moment
                self._database.written(lambda connection: connection.execute(first))
        self._check_format()

    def read_all(self) -> StoredBases:
        """Every base; see `RegistryStore`."""
        self._check_format()
        with self._database.reading() as connection:
            rows = connection.execute(select(BASES.c.base_id, BASES.c.data)).all()
        return StoredBases({row.base_id: _parsed(row.base_id, row.data) for row in sorted(rows)})

    def ids(self) -> frozenset[str]:
        """Ids of all bases; none where the tables are not made yet."""
        with self._database.reading() as connection:
            if not inspect(connection).has_table(BASES.name):
                return frozenset()
            return frozenset(connection.execute(select(BASES.c.base_id)).scalars())

    def read_one(self, base_id: str) -> StoredBases:
        """One base; see `RegistryStore`."""
        self._check_format()
        with self._database.reading() as connection:
            text = connection.execute(select(BASES.c.data).where(BASES.c.base_id == base_id)).scalar()
        return StoredBases({} if text is None else {base_id: _parsed(base_id, text)})

    def insert(self, base_id: str, data: JsonObject) -> bool:
        """Add a base; see `RegistryStore`."""
        self._check_format()
        row = insert(BASES).values(base_id=base_id, version=1, data=_written(data))
        try:
            self._database.written(lambda connection: connection.execute(row))
        except IntegrityError:
            return False
        return True

    def change(self, base_id: str, revise: Callable[[JsonObject], Change[Result]]) -> Result | None:
        """Revise a base; see `RegistryStore`."""
        self._check_format()
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_OvertakenError),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=tenacity.wait_random_exponential(multiplier=0.002, max=0.1),
            reraise=True,
        )
        try:
            return attempts(self._change_once, base_id, revise)
        except _OvertakenError as error:
            raise ConflictError(
                f"The knowledge base {base_id!r} was changed by others {self._attempts} times in a row.",
                remedy="Try again.",
                base_id=base_id,
            ) from error

    def delete(self, base_id: str) -> bool:
        """Remove a base; see `RegistryStore`."""
        self._check_format()
        gone = delete(BASES).where(BASES.c.base_id == base_id)
        return self._database.written(lambda connection: connection.execute(gone).rowcount > 0)

    def _change_once(self, base_id: str, revise: Callable[[JsonObject], Change[Result]]) -> Result | None:
        with self._database.reading() as connection:
            row = connection.execute(
                select(BASES.c.version, BASES.c.data).where(BASES.c.base_id == base_id)
            ).one_or_none()
        if row is None:
            return None
        change = revise(_parsed(base_id, row.data))
        if change.data is None:
            return change.result
        same = (BASES.c.base_id == base_id) & (BASES.c.version == row.version)
        revised = update(BASES).where(same).values({"version": row.version + 1, "data": _written(change.data)})
        if self._database.written(lambda connection: connection.execute(revised).rowcount) != 1:
            raise _OvertakenError
        return change.result

    def _format(self) -> int | None:
        with self._database.reading() as connection:
            return connection.execute(select(FORMATS.c.format)).scalar()

    def _check_format(self) -> None:
        written = self._format()
        if written is not None and written > FORMAT:
            raise NewerFormatError(
                f"The registry database has format {written}; this program knows formats up to {FORMAT}.",
                remedy="Use the newer version of Lorebase that wrote it; nothing was changed.",
            )


class _OvertakenError(Exception):
    """Another writer changed the row first."""


def _written(data: JsonObject) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")


def _parsed(base_id: str, text: str) -> JsonObject:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        data = error
    if not isinstance(data, dict):
        raise CorruptObjectError(
            f"The row of the knowledge base {base_id!r} holds no JSON object.",
            remedy="Restore it from a backup of the database.",
            base_id=base_id,
        )
    return data
