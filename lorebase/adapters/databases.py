"""Relational databases through SQLAlchemy and its drivers: the one place that knows what each of them needs."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import tenacity
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import Pool

from lorebase.database import WRITES, Database
from lorebase.errors import ConfigurationError

SQLITE_WAIT_SECONDS = 30.0
CONNECT_SECONDS = 10
LOCK_SECONDS = 50
"""Waiting for another transaction's lock on PostgreSQL, which would wait for ever; the default of MySQL."""

KEPT_CONNECTIONS = 32
"""Connections that stay open between uses, as many as an event loop's default executor may have threads."""

_POOL = {"pool_size": KEPT_CONNECTIONS, "max_overflow": -1, "pool_use_lifo": True}
"""A thread never waits for another one's connection: there are as many as threads use at once, opened when they do.

Each call holds one. What bounds them is how many threads a process has; the server has the last word.
"""

_MEMORY = frozenset({None, "", ":memory:"})
_ENGINES: WeakSet[Engine] = WeakSet()
_OF_PARENT: list[Pool] = []


def open_database(url: str) -> Database:
    """The database at an address; arguments and errors as `open_engine`."""
    return Database(open_engine(url))


def open_engine(url: str) -> Engine:
    """An engine for an address; no connection is opened yet, nor a file or folder made.

    - SQLite: a write-ahead log, so that readers and a writer do not wait for each other; writers wait at their start.
    - MySQL and MariaDB: times are UTC, and a second reading sees what others have committed, as on PostgreSQL.
    - PostgreSQL: no transaction waits longer than `LOCK_SECONDS` for a lock, unless the server or the address says how
      long (`lock_timeout`).
    - Statements are logged and raised without their parameters: those hold what people wrote.
    - A forked child opens connections of its own.

    Args:
        url: sqlite:///FILE, postgresql+psycopg://..., mysql+pymysql://... or mariadb+pymysql://...

    Raises:
        ConfigurationError: It is no address, or its driver is not installed.
    """
    try:
        address = make_url(url)
        engine = _sqlite(address) if address.get_backend_name() == "sqlite" else _server(address)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise ConfigurationError(
            "The database address is none that can be opened here.",
            remedy="Use sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME or mysql+pymysql://USER@HOST/NAME, "
            "and install the driver that it names.",
        ) from error
    _ENGINES.add(engine)
    return engine


def _server(address: URL) -> Engine:
    options: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True, **_POOL}
    connecting: dict[str, Any] = {}
    if "connect_timeout" not in address.query:  # what is given here goes before the address
        connecting["connect_timeout"] = CONNECT_SECONDS
    if address.get_backend_name() in {"mysql", "mariadb"}:
        options["isolation_level"] = "READ COMMITTED"
        connecting |= {"init_command": "SET time_zone = '+00:00'", "charset": "utf8mb4"}
    engine = create_engine(address, connect_args=connecting, **options)
    if address.get_backend_name() == "postgresql":
        event.listen(engine, "connect", _limit_lock_waits)
    return engine


def _limit_lock_waits(connection: Any, _: object) -> None:  # noqa: ANN401 (the driver's connection, as events give it)
    with connection.cursor() as cursor:
        unlimited = "current_setting('lock_timeout') = '0'"
        cursor.execute(f"SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', false) WHERE {unlimited}")
    connection.commit()


def _sqlite(address: URL) -> Engine:
    pool = {} if address.database in _MEMORY else _POOL  # memory has one connection a thread
    engine = create_engine(address, hide_parameters=True, connect_args={"timeout": SQLITE_WAIT_SECONDS}, **pool)
    if address.database not in _MEMORY and "uri" not in address.query:
        folder = Path(address.database or "").parent

        def make_folder(*_: object) -> None:
            with suppress(OSError):  # SQLite says that it cannot open the file
                folder.mkdir(parents=True, exist_ok=True)

        event.listen(engine, "do_connect", make_folder)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401 (sqlite3's connection, as events give it)
    """Readers beside one writer, and no implicit BEGIN of the driver."""
    connection.isolation_level = None
    cursor = connection.cursor()
    # Changing to the log needs the file alone, and SQLite does not wait for that as it waits for other locks.
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(sqlite3.OperationalError),
        stop=tenacity.stop_after_delay(SQLITE_WAIT_SECONDS),
        wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.2),
        reraise=True,
    )
    attempts(cursor.execute, "PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Writers wait for each other at their start: a lock that is raised later can fail without waiting."""
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _leave_connections_to_parent() -> None:
    """In a forked child: sockets and locks are the parent's. Referenced, or they would be closed for both."""
    for engine in list(_ENGINES):
        _OF_PARENT.append(engine.pool)
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):  # registered with the import, because a fork gives no other notice
    os.register_at_fork(after_in_child=_leave_connections_to_parent)
