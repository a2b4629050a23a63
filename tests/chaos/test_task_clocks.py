"""Workers of governed tasks whose clocks are an hour apart: the database's clock decides who holds a task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from lorebase.adapters.databases import open_database
from lorebase.database import database_time
from lorebase.governance.migrating import migrate
from lorebase.governance.model import Task
from tests.chaos.remote_worker import RemoteWorker, remote_worker
from tests.governance.conftest import address_on

KINDS = ["sqlite", "postgresql", "mariadb"]
SKEWS = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
SHORT_LEASE = 1.0


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with address_on(request.param, tmp_path) as address:
        database = open_database(address)
        migrate(database)
        database.close()
        yield address


@pytest.mark.parametrize(("holder_hours", "rival_hours"), SKEWS)
def test_a_task_belongs_to_a_worker_that_lives_whatever_the_clocks_say(
    url: str, tmp_path: Path, holder_hours: float, rival_hours: float
) -> None:
    with (
        remote_worker(url, tmp_path, number=1, hours=holder_hours, lease_seconds=300) as holder,
        remote_worker(url, tmp_path, number=2, hours=rival_hours, lease_seconds=300) as rival,
    ):
        asked = holder.start_task()
        held = holder.claim()
        refused = rival.claim()
        renewed = holder.heartbeat()

    assert asked is not None
    assert held is not None
    assert (held.id, refused) == (asked.id, None)
    assert renewed is not None
    assert renewed.lease_owner == "worker-1"


@pytest.mark.parametrize(("holder_hours", "rival_hours"), SKEWS)
def test_the_task_of_a_killed_worker_is_taken_over_after_its_lease_and_not_before(
    url: str, tmp_path: Path, holder_hours: float, rival_hours: float
) -> None:
    with remote_worker(url, tmp_path, number=2, hours=rival_hours, lease_seconds=SHORT_LEASE) as rival:
        with remote_worker(url, tmp_path, number=1, hours=holder_hours, lease_seconds=SHORT_LEASE) as holder:
            holder.start_task()
            lost = holder.claim()
        taken = claimed_in_the_end(rival)

    assert lost is not None
    assert lost.lease_until is not None
    assert taken.lease_until is not None
    assert (taken.id, taken.attempts, taken.lease_owner) == (lost.id, 2, "worker-2")
    assert taken.lease_until - timedelta(seconds=SHORT_LEASE) > lost.lease_until


def claimed_in_the_end(worker: RemoteWorker) -> Task:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        task = worker.claim()
        if task is not None:
            return task
        time.sleep(0.02)
    raise AssertionError("the task was never free")


@pytest.mark.parametrize("kind", KINDS)
def test_the_time_of_a_database_is_utc_in_any_zone_and_goes_on_within_a_transaction(kind: str, tmp_path: Path) -> None:
    zones = {"postgresql": "SET TIME ZONE 'Asia/Shanghai'", "mariadb": "SET time_zone = '+08:00'"}
    with address_on(kind, tmp_path) as url:
        database = open_database(url)
        with database.transaction() as connection:
            before = database_time(connection)
            connection.execute(text(zones.get(kind, "SELECT 1")))
            time.sleep(0.002)
            zoned = database_time(connection)
        with database.reading() as connection:
            after = database_time(connection)
        database.close()

    assert before < zoned <= after
    assert zoned.utcoffset() == timedelta(0)
