"""Bringing the tables of governed knowledge to the form that this version of Lorebase needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from lorebase.database import Database
from lorebase.errors import ConfigurationError, UnavailableError

SCHEMA_REVISION = "r0001"
"""Newest script in migrations/versions."""

VERSION_TABLE = "alembic_version_governance"
_LOCK_NUMBER = 0x10_4E_BA_5E
_LOCK_WAIT_SECONDS = 60


def migrate(database: Database) -> bool:
    """Run the scripts that the database lacks; of several processes that start at once, one does it.

    Returns:
        Whether anything was missing.

    Raises:
        ConfigurationError: The database was made by a newer version.
        UnavailableError: The database does not answer, or another process migrates it for too long.
    """
    with database.reading() as connection:
        if schema_revision(connection) == SCHEMA_REVISION:
            return False
    with _alone(database), database.transaction() as connection:
        found = schema_revision(connection)
        if found == SCHEMA_REVISION:
            return False
        if found is not None and found > SCHEMA_REVISION:
            raise ConfigurationError(
                f"The database has the schema {found}, this version of Lorebase knows up to {SCHEMA_REVISION}.",
                remedy="Use the version that made it, or a newer one.",
            )
        _upgrade(connection)
    return True


def is_made(database: Database) -> bool:
    """Whether a database has the tables, of whatever version; nothing is written, nor a SQLite file made.

    Raises:
        UnavailableError: The database does not answer.
    """
    address = database.engine.url
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
        return False
    with database.reading() as connection:
        return schema_revision(connection) is not None


def schema_revision(connection: Connection) -> str | None:
    """The newest script that the database has seen; None for an empty database."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 (a constant)
    return found


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 (only when there is something to do)
    from alembic.config import Config  # noqa: PLC0415 (as above)

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    """Nobody else migrates until the caller's transaction is committed: so a connection of its own holds the lock.

    SQLite needs none: who writes holds the lock of the whole file.
    """
    if database.engine.dialect.name == "sqlite":
        yield
        return
    with database.transaction() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK_NUMBER})
            yield
            return
        lock = {"name": f"lorebase-{_LOCK_NUMBER}", "seconds": _LOCK_WAIT_SECONDS}
        if connection.execute(text("SELECT GET_LOCK(:name, :seconds)"), lock).scalar() != 1:
            raise UnavailableError(
                f"Another process migrates the {database.name} for more than {_LOCK_WAIT_SECONDS} s.",
                remedy="Repeat the command when it has ended.",
                dependency="database",
            )
        try:
            yield
        finally:
            connection.execute(text("SELECT RELEASE_LOCK(:name)"), {"name": lock["name"]})
