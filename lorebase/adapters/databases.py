"""Relational databases through SQLAlchemy."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from lorebase.errors import ConfigurationError

SQLITE_WAIT_SECONDS = 30.0
POOL = {"pool_size": 5, "max_overflow": 27}
"""Together as many as an event loop's default executor has threads; all but five are closed after use."""


def open_engine(url: str) -> Engine:
    """An engine for an address; no connection is opened yet.

    SQLite is used with a write-ahead log, so that readers and a writer do not wait for each other.

    Args:
        url: SQLAlchemy address, such as `sqlite:////folder/lorebase.db` or `postgresql+psycopg://user@host/name`.

    Raises:
        ConfigurationError: It is no address, or its driver is not installed.
    """
    try:
        parsed = make_url(url)
        is_sqlite = parsed.get_backend_name() == "sqlite"
        arguments: dict[str, Any] = {"timeout": SQLITE_WAIT_SECONDS} if is_sqlite else {}
        pool = {} if is_sqlite and parsed.database in {None, "", ":memory:"} else POOL  # memory has one connection
        engine = create_engine(parsed, connect_args=arguments, pool_pre_ping=not is_sqlite, **pool)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise ConfigurationError(
            f"The database address cannot be used: {type(error).__name__}.",
            remedy="Write it as dialect+driver://user:password@host/name, and install its driver.",
        ) from error
    if is_sqlite:
        event.listen(engine, "connect", _with_write_ahead_log)
    return engine


def _with_write_ahead_log(connection: Any, _: object) -> None:  # noqa: ANN401 (a connection of the driver)
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
