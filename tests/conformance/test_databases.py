"""What holds of every database that is opened: connections for all threads, forked children, locks, refused logins."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import make_url

from lorebase.adapters.databases import KEPT_CONNECTIONS, open_database
from lorebase.database import UNDONE_TRIES, Database
from lorebase.errors import CorruptObjectError, TransactionUndoneError, UnavailableError
from tests.governance.conftest import address_on

SERVERS = ["postgresql", "mariadb"]
THREADS = KEPT_CONNECTIONS + 8
CONNECTION_ID = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with address_on(request.param, tmp_path) as url:
        opened = open_database(url)
        yield opened
        opened.close()


@pytest.mark.parametrize("database", ["sqlite", *SERVERS], indirect=True)
def test_every_thread_has_a_connection_and_most_are_kept_for_the_next_time(database: Database) -> None:
    opened: list[object] = []
    event.listen(database.engine, "connect", lambda connection, _record: opened.append(connection))

    def all_at_once() -> None:
        together = threading.Barrier(THREADS, timeout=60)

        def call(_number: int) -> None:
            with database.reading() as connection:
                connection.execute(text("SELECT 1"))
                together.wait()

        with ThreadPoolExecutor(THREADS) as callers:
            list(callers.map(call, range(THREADS)))

    all_at_once()
    first = len(opened)
    all_at_once()

    assert (first, len(opened) - first) == (THREADS, THREADS - KEPT_CONNECTIONS)


@pytest.mark.parametrize("database", SERVERS, indirect=True)
def test_a_forked_child_has_connections_of_its_own_and_those_of_its_parent_stay(database: Database) -> None:
    statement = text(CONNECTION_ID[database.engine.dialect.name])

    def connection_id() -> int:
        with database.reading() as connection:
            found: int = connection.execute(statement).scalar_one()
            return found

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    before = connection_id()
    child = context.Process(target=lambda: theirs.send(connection_id()))
    child.start()
    assert ours.poll(60)
    of_child = ours.recv()
    child.join(60)

    assert child.exitcode == 0
    assert of_child != before
    assert connection_id() == before


def make_rows(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE counters (id INTEGER PRIMARY KEY, number INTEGER)"))
    connection.execute(text("INSERT INTO counters VALUES (1, 0), (2, 0)"))


def count_up(connection: Connection, row: int) -> None:
    connection.execute(text("UPDATE counters SET number = number + 1 WHERE id = :row"), {"row": row})


def counted(database: Database) -> list[int]:
    with database.reading() as connection:
        return list(connection.execute(text("SELECT number FROM counters ORDER BY id")).scalars())


@pytest.mark.parametrize("database", SERVERS, indirect=True)
def test_of_two_writers_in_a_deadlock_the_one_that_is_undone_writes_again(database: Database) -> None:
    database.written(make_rows)
    both = threading.Barrier(2, timeout=30)
    tries: list[tuple[int, int]] = []

    def write(rows: tuple[int, int]) -> None:
        def crosswise(connection: Connection) -> None:
            count_up(connection, rows[0])
            if tries.count(rows) == 0:
                tries.append(rows)
                both.wait()
            else:
                tries.append(rows)
            count_up(connection, rows[1])

        database.written(crosswise)

    with ThreadPoolExecutor(2) as writers:
        list(writers.map(write, [(1, 2), (2, 1)]))

    assert len(tries) == 3
    assert counted(database) == [2, 2]


@pytest.mark.parametrize("database", SERVERS, indirect=True)
@pytest.mark.parametrize("is_freed", [True, False])
def test_a_writer_that_waited_too_long_for_a_lock_tries_again_a_few_times(database: Database, is_freed: bool) -> None:
    limits = {"postgresql": "SET LOCAL lock_timeout = '100ms'", "mysql": "SET SESSION innodb_lock_wait_timeout = 1"}
    database.written(make_rows)
    tries: list[int] = []
    with database.engine.connect() as holder:
        count_up(holder, 1)

        def write(connection: Connection) -> None:
            tries.append(1)
            if len(tries) > 1 and is_freed:
                holder.rollback()
            connection.execute(text(limits[connection.dialect.name]))
            count_up(connection, 1)

        if is_freed:
            database.written(write)
        else:
            with pytest.raises(TransactionUndoneError, match=r"relational database undid .* nothing changed") as undone:
                database.written(write)
            assert undone.value.retryable
            holder.rollback()

    assert len(tries) == (2 if is_freed else UNDONE_TRIES)
    assert counted(database) == [int(is_freed), 0]


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\x00" + b"garbage" * 99])
def test_a_damaged_file_is_named_as_such_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "lorebase.db"
    file.write_bytes(content)
    opened = open_database(f"sqlite:///{file}")

    for opening in (opened.reading, opened.transaction):
        with pytest.raises(CorruptObjectError, match="relational database is damaged"), opening() as connection:
            connection.execute(text("SELECT count(*) FROM sqlite_schema"))
    opened.close()

    assert file.read_bytes() == content


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("given", "limit"), [(None, "50s"), ("-c lock_timeout=7s", "7s")])
def test_no_transaction_waits_for_a_lock_for_ever(database: Database, given: str | None, limit: str) -> None:
    address = make_url(database.engine.url).update_query_dict({"options": given} if given else {})
    opened = open_database(address.render_as_string(hide_password=False))

    with opened.reading() as connection:
        found = connection.execute(text("SHOW lock_timeout")).scalar()
        connection.rollback()
        after = connection.execute(text("SHOW lock_timeout")).scalar()
    opened.close()

    assert found == after == limit


@pytest.mark.parametrize("database", SERVERS, indirect=True)
def test_a_server_without_another_connection_says_so_and_serves_again_when_one_is_free(database: Database) -> None:
    name = f"limited_{uuid4().hex[:12]}"
    is_postgres = database.engine.dialect.name == "postgresql"
    user = name if is_postgres else f"'{name}'@'%'"
    limit = "LOGIN PASSWORD 'x' CONNECTION LIMIT 1" if is_postgres else "IDENTIFIED BY 'x' WITH MAX_USER_CONNECTIONS 1"
    with database.transaction() as connection:
        connection.execute(text(f"CREATE {'ROLE' if is_postgres else 'USER'} {user} {limit}"))
        if not is_postgres:
            connection.execute(text(f"GRANT ALL ON {database.engine.url.database}.* TO {user}"))
    address = make_url(database.engine.url).set(username=name, password="x")
    limited = open_database(address.render_as_string(hide_password=False)).called("database of the registry")
    try:
        with (
            limited.reading(),
            pytest.raises(UnavailableError, match="registry has no connection left") as refused,
            limited.reading(),
        ):
            pass
        with limited.reading() as connection:
            again = connection.execute(text("SELECT 1")).scalar_one()
    finally:
        limited.close()
        with database.transaction() as connection:
            connection.execute(text(f"DROP {'ROLE' if is_postgres else 'USER'} {user}"))

    assert again == 1
    assert "LOREBASE_API_THREADS" in refused.value.remedy
    assert name not in str(refused.value)
