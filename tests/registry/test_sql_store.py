"""The registry in a database: newer formats, lost races, rows that were damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.errors import ConflictError, CorruptObjectError, NewerFormatError, UnavailableError
from lorebase.registry.reading import JsonObject
from lorebase.registry.sql_store import BASES, FORMATS, SqlRegistryStore
from lorebase.registry.stores import Change
from tests.registry.opening import counted_up


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path / 'registry.db'}")


@pytest.fixture
def sql_store(database: Database) -> SqlRegistryStore:
    made = SqlRegistryStore(database, attempts=3)
    made.create_tables()
    made.insert("a", {"id": "a"})
    return made


def test_a_database_of_a_newer_program_is_refused(database: Database, sql_store: SqlRegistryStore) -> None:
    with database.transaction() as connection:
        connection.execute(update(FORMATS).values(format=2))

    acts: tuple[Callable[[], object], ...] = (
        sql_store.read_all,
        sql_store.create_tables,
        lambda: sql_store.read_one("a"),
        lambda: sql_store.insert("b", {"id": "b"}),
        lambda: sql_store.change("a", counted_up),
        lambda: sql_store.delete("a"),
    )
    for act in acts:
        with pytest.raises(NewerFormatError, match="format 2"):
            act()


def test_tables_can_be_created_again(sql_store: SqlRegistryStore) -> None:
    sql_store.create_tables()

    assert list(sql_store.read_all().by_id) == ["a"]


def test_a_change_that_another_writer_overtook_is_made_again_on_what_that_one_wrote(
    sql_store: SqlRegistryStore,
) -> None:
    seen: list[object] = []

    def revise(data: JsonObject) -> Change[int]:
        seen.append(data.get("description"))
        if len(seen) == 1:
            sql_store.change("a", counted_up)
        return counted_up(data)

    result = sql_store.change("a", revise)

    assert result == 2
    assert seen == [None, "1"]


def test_a_change_that_always_loses_ends_as_a_conflict(sql_store: SqlRegistryStore) -> None:
    def revise(data: JsonObject) -> Change[int]:
        SqlRegistryStore(sql_store._database).change("a", counted_up)
        return Change(0, {**data, "mine": True})

    with pytest.raises(ConflictError, match="3 times in a row"):
        sql_store.change("a", revise)
    assert sql_store.read_one("a").by_id["a"]["description"] == "3"


def test_a_damaged_row_is_named(database: Database, sql_store: SqlRegistryStore) -> None:
    with database.transaction() as connection:
        connection.execute(update(BASES).values(data="[1"))

    with pytest.raises(CorruptObjectError, match="'a'"):
        sql_store.read_all()


def test_a_database_without_tables_or_without_an_answer_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="database of the registry did not answer"):
        SqlRegistryStore(open_database(f"sqlite:///{tmp_path / 'new.db'}")).read_all()
    (tmp_path / "absent").write_text("a file, where a folder would have to be made")
    with pytest.raises(UnavailableError, match="database of the registry did not answer"):
        SqlRegistryStore(open_database(f"sqlite:///{tmp_path / 'absent' / 'new.db'}")).create_tables()
