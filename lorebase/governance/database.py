"""The relational store: opening it, and transactions that are short, whole, and translate what drivers raise."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tenacity
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from lorebase.errors import ConfigurationError, UnavailableError

_WAIT_FOR_LOCK_SECONDS = 30
_WRITES = "lorebase_writes"
_POOL = {"pool_size": 5, "max_overflow": 27}
"""Together as many as an event loop's default executor has threads; all but five are closed after use."""


class Database:
    """Transactions over one engine. No caller makes a network call inside one.

    A broken unique key (`sqlalchemy.exc.IntegrityError`) leaves the transaction before anybody looks for the row that
    was there first: catch it outside of `transaction`.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write: committed at the end, rolled back by any exception.

        Raises:
            UnavailableError: The database does not answer, or gave up on a lock or a deadlock.
        """
        options = {_WRITES: True}
        with _translated(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read what is committed.

        Raises:
            UnavailableError: The database does not answer.
        """
        with _translated(), self.engine.connect() as connection:
            yield connection

    def close(self) -> None:
        """Give the connections back; the next call opens anew."""
        self.engine.dispose()


def open_database(url: str) -> Database:
    """The store at a SQLAlchemy address; opens no connection by itself.

    Args:
        url: sqlite:///FILE, postgresql+psycopg://..., mysql+pymysql://... or mariadb+pymysql://...

    Raises:
        ConfigurationError: The address is of no known form, or its driver is not installed.
    """
    try:
        address = make_url(url)
        if address.get_backend_name() == "sqlite":
            return Database(_sqlite(address))
        # Statements are logged and raised without their parameters: those hold what people wrote.
        options: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True, **_POOL}
        if address.get_backend_name() in {"mysql", "mariadb"}:
            # Times are UTC; and a re-read sees what others have committed, as on PostgreSQL.
            options["isolation_level"] = "READ COMMITTED"
            options["connect_args"] = {"init_command": "SET time_zone = '+00:00'", "charset": "utf8mb4"}
        return Database(create_engine(address, **options))
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise ConfigurationError(
            "The database address is none that can be opened here.",
            remedy="Use sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME or mysql+pymysql://USER@HOST/NAME.",
        ) from error


def is_mariadb(connection: Connection) -> bool:
    """Whether the server is MariaDB, whatever the address calls it."""
    return bool(getattr(connection.dialect, "is_mariadb", False))


def _sqlite(address: URL) -> Engine:
    if address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(address, hide_parameters=True, connect_args={"timeout": _WAIT_FOR_LOCK_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, record: object) -> None:  # noqa: ANN401 (sqlite3's connection, as events give it)
    """Readers beside one writer, and no implicit BEGIN of the driver."""
    del record
    connection.isolation_level = None
    cursor = connection.cursor()
    # Changing to the log needs the file alone, and SQLite does not wait for that as it waits for other locks.
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(sqlite3.OperationalError),
        stop=tenacity.stop_after_delay(_WAIT_FOR_LOCK_SECONDS),
        wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.2),
        reraise=True,
    )
    attempts(cursor.execute, "PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Writers wait for each other at their start: a lock that is raised later can fail without waiting."""
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        cause = type(getattr(error, "orig", None) or error).__name__
        raise UnavailableError(
            f"The relational database did not do it ({cause}).",
            remedy="Check that it runs and can be reached, then repeat the command.",
            dependency="database",
        ) from error
