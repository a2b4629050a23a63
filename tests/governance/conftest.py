"""The databases that governed knowledge is tested on: SQLite always, PostgreSQL and MariaDB where they are given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.governance.migrating import migrate
from lorebase.governance.tables import metadata
from tests.governance.world import World


@contextmanager
def server_database(variable: str, driver: str) -> Iterator[str]:
    """Address of an empty database on the server that an environment variable names; removed afterwards."""
    given = os.environ.get(variable)
    if not given:
        pytest.skip(f"{variable} is not set: no such server here")
    server = make_url(given).set(drivername=driver)
    name = f"lorebase_governance_{uuid4().hex[:12]}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}"))
        engine.dispose()


@contextmanager
def address_on(kind: str, folder: Path) -> Iterator[str]:
    """Address of an empty database of a kind."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'governance.db'}"
    elif kind == "postgresql":
        with server_database("LOREBASE_TEST_POSTGRES_URL", "postgresql+psycopg") as url:
            yield url
    else:
        with server_database("LOREBASE_TEST_MARIADB_URL", "mysql+pymysql") as url:
            yield url


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A migrated database for one test module."""
    with address_on(request.param, tmp_path_factory.mktemp("database")) as url:
        database = open_database(url)
        migrate(database)
        database.close()
        yield url


@pytest.fixture(scope="module")
def module_database(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    yield database
    database.close()


@pytest.fixture
def database(module_database: Database) -> Database:
    """The module's database, empty."""
    with module_database.transaction() as connection:
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
    return module_database


@pytest.fixture
def world(database: Database, tmp_path: Path) -> World:
    return World(database, tmp_path / "objects")
