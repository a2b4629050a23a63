"""A relational database: transactions that are short and whole, and say in Lorebase's errors what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, TypeVar

import tenacity
from sqlalchemy import Connection, Engine, MetaData, inspect, text
from sqlalchemy.exc import (
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from lorebase.errors import CorruptObjectError, TransactionUndoneError, UnavailableError

WRITES: Final = "lorebase_writes"
"""Execution option of a connection that is going to write; whoever makes engines may begin its transactions so."""

UNDONE_TRIES: Final = 4
_FULL_CODES: Final = frozenset({"53300", 1040, 1203, 1226})
"""PostgreSQL's and MySQL's codes of a server that has no more connections for this login."""

_FULL_WORDS: Final = ("too many clients", "too many connections", "connection slots")
"""PostgreSQL's client library gives no code for a login that was refused, only the server's sentence."""

_UNDONE_CODES: Final = frozenset({"40001", "40P01", "55P03", 1020, 1205, 1213})
"""Their codes of a transaction that gave way to another one: nothing of it stays, and it may be made again."""

_TIME_NOW: Final = {
    "sqlite": "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')",
    "postgresql": "SELECT clock_timestamp()",
    "mysql": "SELECT UTC_TIMESTAMP(6)",
}
_STATES: Final = ("sqlstate", "pgcode", "sqlite_errorname")
_OUTAGES = (OperationalError, InterfaceError, InternalError, ProgrammingError)
"""What drivers raise of a database that is away, busy, or not set up; InternalError where an answer was cut off."""

_Answer = TypeVar("_Answer")


class Database:
    """Transactions over one engine. No caller makes a network call inside one.

    A broken unique key (`sqlalchemy.exc.IntegrityError`) leaves the transaction before anybody looks for the row that
    was there first: catch it outside of `transaction`.

    Attributes:
        engine: Opens connections.
        name: What errors call it.
    """

    def __init__(self, engine: Engine, name: str = "relational database") -> None:
        self.engine = engine
        self.name = name

    def called(self, name: str) -> Database:
        """The same database, with the same connections, under the name of what is kept in it."""
        return Database(self.engine, name)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write: committed at the end, rolled back by any exception.

        Raises:
            TransactionUndoneError: The database gave up on a lock or a deadlock; nothing has changed.
            UnavailableError: The database does not answer.
            CorruptObjectError: It is damaged, or its file is no database.
        """
        options = {WRITES: True}
        with self._translated(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read what is committed.

        Raises:
            UnavailableError: The database does not answer.
            CorruptObjectError: It is damaged, or its file is no database.
        """
        with self._translated(), self.engine.connect() as connection:
            yield connection

    def written(self, write: Callable[[Connection], _Answer]) -> _Answer:
        """Write in a transaction, and again where that was undone: never where its connection broke.

        After a lost connection nobody knows whether the COMMIT was done; who can repeat that knows it by itself.

        Args:
            write: Reads all that it depends on from the connection, because others were there since its last time.

        Raises:
            TransactionUndoneError: It was undone four times.
            UnavailableError: The database does not answer.
        """
        tries = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(TransactionUndoneError),
            stop=tenacity.stop_after_attempt(UNDONE_TRIES),
            wait=tenacity.wait_random_exponential(multiplier=0.01, max=0.5),
            reraise=True,
        )
        done: _Answer = tries(self._written_once, write)
        return done

    def make_tables(self, metadata: MetaData) -> None:
        """Make the tables that are missing; of several processes that do it at the same moment, all succeed.

        Raises:
            UnavailableError: The database does not answer, or lets nobody make tables.
        """
        with self.reading() as connection:
            there = set(inspect(connection).get_table_names())
        if metadata.tables.keys() <= there:
            return
        try:
            self.written(metadata.create_all)
        except (IntegrityError, UnavailableError):  # another process has just made one of them
            self.written(metadata.create_all)

    def close(self) -> None:
        """Give the connections back; the next call opens anew."""
        self.engine.dispose()

    def _written_once(self, write: Callable[[Connection], _Answer]) -> _Answer:
        with self.transaction() as connection:
            return write(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (*_OUTAGES, PoolTimeoutError) as error:
            raise self._outage(error) from error
        except DatabaseError as error:
            if type(error) is not DatabaseError:
                raise  # about the rows that were written: the caller knows them
            raise CorruptObjectError(
                f"The {self.name} is damaged, or its file is no database ({code_of(error)}).",
                remedy="Put a backup in its place.",
            ) from error

    def _outage(self, error: DBAPIError | PoolTimeoutError) -> UnavailableError:
        """The error to raise. What a driver says may name hosts and quote rows: only its kind and code are told."""
        code = code_of(error)
        cause = type(getattr(error, "orig", None) or error).__name__
        said = f"{cause} {code}" if code else cause
        if code in _UNDONE_CODES:
            return TransactionUndoneError(
                f"The {self.name} undid a transaction that was in the way of another one ({said}); nothing changed.",
                remedy="Repeat the command.",
                dependency="database",
            )
        if code in _FULL_CODES or isinstance(error, PoolTimeoutError) or _says_full(error):
            return UnavailableError(
                f"The {self.name} has no connection left for this process ({said}).",
                remedy="Repeat the command later; raise the server's limit of connections, or let fewer processes or "
                "threads use it (LOREBASE_API_THREADS).",
                dependency="database",
            )
        return UnavailableError(
            f"The {self.name} did not answer ({said}).",
            remedy="Check that it runs, that `database` in the workspace file is right, and that its tables are made; "
            "then repeat the command.",
            dependency="database",
        )


def database_time(connection: Connection) -> datetime:
    """What the database's own clock says now, in aware UTC, whatever the time zones of server and session are.

    SQLite has the clock of the machine, in milliseconds; the others give microseconds. It goes on within a transaction.
    """
    statement = _TIME_NOW.get(connection.dialect.name, _TIME_NOW["mysql"])
    said: datetime | str = connection.execute(text(statement)).scalar_one()
    moment = datetime.fromisoformat(said) if isinstance(said, str) else said
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def code_of(error: Exception) -> str | int | None:
    """What the database calls an error: PostgreSQL's SQLSTATE, MySQL's number, SQLite's name; None for others."""
    cause = getattr(error, "orig", None)
    number = cause.args[0] if isinstance(cause, Exception) and cause.args else None
    if isinstance(number, int) and number:  # before MySQL's SQLSTATE, which is one and the same for most of its errors
        return number
    return next((str(state) for name in _STATES if (state := getattr(cause, name, None))), None)


def _says_full(error: Exception) -> bool:
    return any(words in str(getattr(error, "orig", "")) for words in _FULL_WORDS)


def is_mariadb(connection: Connection) -> bool:
    """Whether the server is MariaDB, whatever the address calls it."""
    return bool(getattr(connection.dialect, "is_mariadb", False))
