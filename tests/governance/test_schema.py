"""The schema as migrations make it, on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Table, inspect, select, text
from sqlalchemy.exc import IntegrityError

import lorebase.governance.migrations
from lorebase.adapters.databases import open_database
from lorebase.database import Database, is_mariadb
from lorebase.errors import ConfigurationError, InvalidInputError, UnavailableError, VersionConflictError
from lorebase.governance.columns import CurrentTime
from lorebase.governance.migrating import SCHEMA_REVISION, VERSION_TABLE, _alone, is_made, migrate, schema_revision
from lorebase.governance.tables import items, metadata, releases, revisions, tags
from tests.governance.conftest import address_on
from tests.governance.racing import race_to_migrate
from tests.governance.world import AUTHOR, HandClock, World, services

KINDS = ["sqlite", "postgresql", "mariadb"]


@pytest.fixture(scope="module", params=KINDS)
def any_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with address_on(request.param, tmp_path_factory.mktemp("schema")) as url:
        database = open_database(url)
        migrate(database)
        yield database
        database.close()


@pytest.fixture
def empty(any_database: Database) -> Database:
    with any_database.transaction() as connection:
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
    return any_database


Insert = Callable[[Connection, int], None]


def draft_row(connection: Connection, row_id: int, item_id: int = 1, organ_id: int = 7, status: str = "DRAFT") -> None:
    connection.execute(
        revisions.insert().values(
            id=row_id, organ_id=organ_id, item_id=item_id, revision_number=row_id, status=status,
            index_status="NOT_INDEXED", created_by="test",
        )
    )  # fmt: skip


def tag_row(connection: Connection, row_id: int, name: str = "差旅", organ_id: int = 7) -> None:
    connection.execute(tags.insert().values(id=row_id, organ_id=organ_id, name=name))


@pytest.mark.parametrize(("table", "insert"), [(revisions, draft_row), (tags, tag_row)])
def test_a_key_that_is_unique_among_live_rows_is_refused_twice_and_free_after_each_deletion(
    empty: Database, table: Table, insert: Insert
) -> None:
    """KX-06, K-018: several rounds of creating and deleting."""
    for first in (10, 20, 30):
        with empty.transaction() as connection:
            insert(connection, first)
        with pytest.raises(IntegrityError), empty.transaction() as connection:
            insert(connection, first + 1)
        with empty.transaction() as connection:
            connection.execute(table.update().where(table.c.id == first).values(delete_flag=1))

    with empty.reading() as connection:
        assert list(connection.execute(select(table.c.id).order_by(table.c.id)).scalars()) == [10, 20, 30]


def test_other_organisations_items_states_and_names_do_not_collide(empty: Database) -> None:
    """KX-06."""
    with empty.transaction() as connection:
        draft_row(connection, 1)
        draft_row(connection, 2, item_id=2)
        draft_row(connection, 3, organ_id=8)
        draft_row(connection, 4, status="PUBLISHED")
        draft_row(connection, 5, status="DEPRECATED")
        tag_row(connection, 6)
        tag_row(connection, 7, organ_id=8)
        tag_row(connection, 8, name="Travel")
        tag_row(connection, 9, name="travel")

    with empty.reading() as connection:
        assert len(connection.execute(select(revisions.c.id)).all()) == 5
        assert len(connection.execute(select(tags.c.id)).all()) == 4


def test_a_second_draft_is_refused_also_when_a_revision_becomes_one(empty: Database) -> None:
    """K-018, KQ-03."""
    with empty.transaction() as connection:
        draft_row(connection, 1)
        draft_row(connection, 2, status="REVIEWING")

    with pytest.raises(IntegrityError), empty.transaction() as connection:
        connection.execute(revisions.update().where(revisions.c.id == 2).values(status="DRAFT"))

    with empty.reading() as connection:
        assert connection.execute(select(revisions.c.status).where(revisions.c.id == 2)).scalar() == "REVIEWING"


def test_the_key_of_a_deleted_item_stays_taken(empty: Database) -> None:
    """KQ-05."""
    row = {"organ_id": 7, "base_id": "b", "knowledge_key": "k", "title": "t", "created_by": "test"}
    with empty.transaction() as connection:
        connection.execute(items.insert().values(id=1, delete_flag=1, **row))

    with pytest.raises(IntegrityError), empty.transaction() as connection:
        connection.execute(items.insert().values(id=2, **row))

    with empty.reading() as connection:
        assert list(connection.execute(select(items.c.id)).scalars()) == [1]


def test_of_two_updates_from_the_same_version_one_finds_its_row(empty: Database, tmp_path: Path) -> None:
    """KX-07, C144: the UPDATE itself decides."""
    store = services(empty, tmp_path, HandClock()).store
    with empty.transaction() as connection:
        connection.execute(releases.insert().values(id=1, organ_id=7, item_id=1))
        store.update(connection, releases, 1, 0, {"active_revision_id": 5})

    with pytest.raises(VersionConflictError), empty.transaction() as connection:
        store.update(connection, releases, 1, 0, {"active_revision_id": 6})

    with empty.reading() as connection:
        row = connection.execute(select(releases.c.active_revision_id, releases.c.version)).one()
        assert tuple(row) == (5, 1)


def test_an_update_that_changes_nothing_still_finds_its_row(empty: Database, tmp_path: Path) -> None:
    """MySQL counts changed rows unless it is told to count found ones."""
    with empty.transaction() as connection:
        connection.execute(releases.insert().values(id=1, organ_id=7, item_id=1))
        done = connection.execute(releases.update().where(releases.c.id == 1).values(organ_id=7))

        assert done.rowcount == 1


def test_a_failed_command_leaves_neither_its_row_nor_its_audit(empty: Database, tmp_path: Path) -> None:
    """K-029, KX-07: one transaction."""
    store = services(empty, tmp_path, HandClock()).store

    with pytest.raises(InvalidInputError), empty.transaction() as connection:  # noqa: PT012 (one transaction)
        store.insert(connection, tags, AUTHOR, {"name": "x"})
        store.record(connection, AUTHOR, "ADD_TAG")
        store.record(connection, AUTHOR, "ADD_TAG", reason="x" * 1001)

    with empty.reading() as connection:
        rows = [connection.execute(select(table.c.id)).all() for table in metadata.sorted_tables]
    assert not any(rows)


def test_the_whole_life_of_a_revision_works_there(empty: Database, tmp_path: Path) -> None:
    """KQ-24: also on MariaDB, with its times, JSON, locks and Chinese."""
    world = World(empty, tmp_path)

    ready = world.ready()

    assert (ready.tags, ready.faq[0].question) == (("差旅", "expenses"), "几天内报销?")
    assert (ready.created_at, ready.status) == (world.clock.now(), "READY_TO_PUBLISH")
    assert world.governance.tasks.claim("w") is None


def test_rows_that_something_else_writes_get_the_databases_time(empty: Database) -> None:
    """KX-05."""
    with empty.transaction() as connection:
        tag_row(connection, 1)
        written = connection.execute(select(tags.c.create_time, tags.c.version, tags.c.delete_flag)).one()
        now = connection.execute(select(CurrentTime())).scalar_one()

    assert abs((now - written.create_time).total_seconds()) < 600
    assert (written.version, written.delete_flag, written.create_time.utcoffset().seconds) == (0, 0, 0)


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection", "ignore:autogenerate skipping")
def test_migrations_make_what_the_tables_say(any_database: Database) -> None:
    """KX-05, KX-28."""
    with any_database.reading() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": False,
                "version_table": VERSION_TABLE,
                # Keys over an expression are tested above: SQLite cannot reflect them, MariaDB has a column instead.
                "include_name": lambda name, kind, parents: name not in {"uq_organ_item_draft", "uq_organ_tag"},
                "include_object": lambda thing, name, kind, reflected, other: (
                    name not in {"uq_organ_item_draft", "uq_organ_tag", "draft_slot", "live_slot"}
                ),
            },
        )
        differences = compare_metadata(context, metadata)
        columns = {
            table: {column["name"]: column["nullable"] for column in inspect(connection).get_columns(table)}
            for table in metadata.tables
        }
        extra = {"draft_slot", "live_slot"} if is_mariadb(connection) else set()

    assert differences == []
    assert columns.keys() == metadata.tables.keys()
    for name, table in metadata.tables.items():
        found = {column: null for column, null in columns[name].items() if column not in extra}
        assert found == {column.name: column.nullable for column in table.columns}


def test_every_table_has_the_conventional_columns() -> None:
    """KX-05."""
    conventional = {"id", "organ_id", "trace_id", "create_time", "update_time", "version", "delete_flag"}

    lacking = {name for name, table in metadata.tables.items() if not conventional <= set(table.columns.keys())}

    assert lacking == set()
    assert len(metadata.tables) == 8


def test_the_newest_script_is_the_revision_that_the_code_asks_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(lorebase.governance.migrations.__file__).parent))

    assert ScriptDirectory.from_config(config).get_current_head() == SCHEMA_REVISION


def test_migrating_twice_does_nothing_the_second_time(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'folder that is made' / 'x.db'}")

    done = [migrate(database), migrate(database)]

    database.close()
    assert done == [True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_of_several_processes_that_find_an_empty_database_one_makes_the_tables(kind: str, tmp_path: Path) -> None:
    with address_on(kind, tmp_path) as url:
        answers = race_to_migrate(url)

    assert answers == ["False", "False", "False", "True"]


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_migration_that_another_process_never_ends_is_given_up_and_nothing_is_made(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lorebase.governance.migrating._LOCK_WAIT_SECONDS", 1)
    monkeypatch.setattr("lorebase.adapters.databases.LOCK_SECONDS", 1)
    with address_on(kind, tmp_path) as url:
        holder, waiting = open_database(url), open_database(url)
        with _alone(holder), pytest.raises(UnavailableError, match=r"Another process migrates|undid a transaction"):
            migrate(waiting)
        was_made = is_made(waiting)
        done = migrate(waiting)
        holder.close()
        waiting.close()

    assert (was_made, done) == (False, True)


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    migrate(database)
    with database.transaction() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = 'r9999'"))  # noqa: S608 (a constant)

    with pytest.raises(ConfigurationError, match="r9999"):
        migrate(database)

    with database.reading() as connection:
        assert schema_revision(connection) == "r9999"
    database.close()


@pytest.mark.parametrize("url", ["", "nonsense", "oracle9000://x", "sqlite+nothing:///x"])
def test_an_address_that_cannot_be_opened_is_named_as_such_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="database address") as refused:
        open_database(url)

    assert refused.value.remedy.startswith("Use sqlite:///FILE")


def test_a_database_that_does_not_answer_is_unavailable_and_its_address_is_not_told() -> None:
    """K-069."""
    database = open_database("postgresql+psycopg://ann:very-secret@127.0.0.1:1/x?connect_timeout=2")

    with pytest.raises(UnavailableError) as refused, database.reading():
        pass

    assert refused.value.retryable
    assert "very-secret" not in str(refused.value)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "mariadb"])
def test_whether_there_are_tables_is_told_without_making_any(kind: str, tmp_path: Path) -> None:
    with address_on(kind, tmp_path) as url:
        database = open_database(url)
        before, files = is_made(database), list(tmp_path.iterdir())
        migrate(database)
        after = is_made(database)
        database.close()

    assert (before, files, after) == (False, [], True)
