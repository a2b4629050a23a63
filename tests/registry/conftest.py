"""Stores of every kind that this machine has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.service import KnowledgeBases
from lorebase.registry.sql_store import SqlRegistryStore
from lorebase.registry.stores import RegistryStore
from tests.registry.opening import opened


@pytest.fixture
def store(tmp_path: Path) -> FileRegistryStore:
    return FileRegistryStore(tmp_path / "knowledge-bases.json")


@pytest.fixture
def bases(store: FileRegistryStore) -> KnowledgeBases[None, None]:
    return opened(store)


@pytest.fixture(params=["file", "sqlite", "postgres", "mariadb"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], RegistryStore]]:
    """Opens the same registry, each time as another program would."""
    if request.param == "file":
        yield lambda: FileRegistryStore(tmp_path / "knowledge-bases.json")
        return
    opened_databases: list[Database] = []
    with_database = {"sqlite": _sqlite, "postgres": _postgres, "mariadb": _mariadb}[request.param](tmp_path)
    url = next(with_database)

    def open_sql() -> SqlRegistryStore:
        opened_databases.append(open_database(url))
        made = SqlRegistryStore(opened_databases[-1])
        made.create_tables()
        return made

    yield open_sql
    for database in opened_databases:
        database.close()
    next(with_database, None)


def _sqlite(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder / 'registry.db'}"


def _postgres(_: Path) -> Iterator[str]:
    url = os.environ.get("LOREBASE_TEST_POSTGRES_URL")
    if not url:
        pytest.skip("LOREBASE_TEST_POSTGRES_URL is not set: no PostgreSQL here")
    schema = f"registry_{uuid4().hex[:8]}"
    _run(url, f"CREATE SCHEMA {schema}")
    yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{schema}"
    _run(url, f"DROP SCHEMA {schema} CASCADE")


def _mariadb(_: Path) -> Iterator[str]:
    url = os.environ.get("LOREBASE_TEST_MARIADB_URL")
    if not url:
        pytest.skip("LOREBASE_TEST_MARIADB_URL is not set: no MariaDB here")
    database = f"registry_{uuid4().hex[:8]}"
    _run(url, f"CREATE DATABASE {database}")
    yield create_engine(url).url.set(database=database).render_as_string(hide_password=False)
    _run(url, f"DROP DATABASE {database}")


def _run(url: str, statement: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
