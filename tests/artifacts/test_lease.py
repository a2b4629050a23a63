"""The lease on a knowledge base."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.lease import acquire_lease, lease_in_force, read_lease, require_conditional_writes
from lorebase.errors import ConfigurationError, ConflictError, UnavailableError

KEY = "knowledge_bases/demo/lease.json"


class HandClock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


def let_pass(folder: Path, seconds: float) -> None:
    """What the store's clock shows when nobody has renewed the lease for so long."""
    written = time.time() - seconds
    os.utime(folder / KEY, (written, written))


def test_a_second_holder_is_told_who_holds_it_since_when(tmp_path: Path) -> None:
    store, clock = LocalObjectStore(tmp_path), HandClock()
    acquire_lease(store, KEY, holder="run-1", now=clock.now, note="host-a")

    with pytest.raises(ConflictError, match=r"'demo' is in use by run-1 on host-a since 2026-01-01 00:00:00"):
        acquire_lease(store, KEY, holder="run-2", now=clock.now)


def test_a_released_lease_is_free_at_once_and_the_epoch_rises(tmp_path: Path) -> None:
    store, clock = LocalObjectStore(tmp_path), HandClock()
    with acquire_lease(store, KEY, holder="run-1", now=clock.now) as first:
        pass

    with acquire_lease(store, KEY, holder="run-2", now=clock.now) as second:
        assert second.epoch == first.epoch + 1


def test_a_lease_of_a_killed_holder_runs_out_with_a_margin_for_a_late_renewal(tmp_path: Path) -> None:
    store, clock = LocalObjectStore(tmp_path), HandClock()
    acquire_lease(store, KEY, holder="killed", now=clock.now, seconds=30)

    let_pass(tmp_path, 40)
    with pytest.raises(ConflictError, match="free 45 seconds after"):
        acquire_lease(store, KEY, holder="next", now=clock.now, seconds=30)
    let_pass(tmp_path, 46)
    taken = acquire_lease(store, KEY, holder="next", now=clock.now, seconds=30)

    assert taken.epoch == 2


def test_who_lost_the_lease_can_do_nothing_more_and_does_not_free_the_new_holders(tmp_path: Path) -> None:
    store, clock = LocalObjectStore(tmp_path), HandClock()
    first = acquire_lease(store, KEY, holder="slow", now=clock.now, seconds=30)
    let_pass(tmp_path, 60)
    acquire_lease(store, KEY, holder="next", now=clock.now, seconds=30)

    with pytest.raises(ConflictError, match="lost its lease: next holds it"):
        first.require_held()
    with first:
        pass

    record = lease_in_force(store, KEY)
    assert record is not None
    assert record.holder == "next"


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_an_hour_off_takes_no_lease_from_a_holder_that_lives(tmp_path: Path, hours: int) -> None:
    store, clock, wrong = LocalObjectStore(tmp_path), HandClock(), HandClock()
    wrong.moment += timedelta(hours=hours)
    held = acquire_lease(store, KEY, holder="alive", now=clock.now, seconds=30)

    with pytest.raises(ConflictError):
        acquire_lease(store, KEY, holder="rival", now=wrong.now, seconds=30)

    held.require_held()
    assert held.epoch == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_lease_of_a_killed_holder_whose_clock_was_an_hour_off_runs_out_as_any_other(
    tmp_path: Path, hours: int
) -> None:
    store, clock, wrong = LocalObjectStore(tmp_path), HandClock(), HandClock()
    wrong.moment += timedelta(hours=hours)
    acquire_lease(store, KEY, holder="killed", now=wrong.now, seconds=30)

    let_pass(tmp_path, 46)

    assert lease_in_force(store, KEY) is None
    assert acquire_lease(store, KEY, holder="next", now=clock.now, seconds=30).epoch == 2


def test_a_clock_that_is_set_back_while_the_lease_is_held_does_not_give_it_back(tmp_path: Path) -> None:
    store, clock = LocalObjectStore(tmp_path), HandClock()
    held = acquire_lease(store, KEY, holder="busy", now=clock.now, seconds=30)

    clock.moment -= timedelta(hours=1)
    held.require_held()

    with pytest.raises(ConflictError):
        acquire_lease(store, KEY, holder="rival", now=clock.now, seconds=30)


class FailingStore(LocalObjectStore):
    """Does not answer once it was told to."""

    is_gone = False

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        if self.is_gone:
            raise UnavailableError("The store is gone.", dependency="object store")
        return super().put_if(key, content, version)


def test_a_clock_that_is_set_forward_loses_no_lease_to_one_renewal_that_failed(tmp_path: Path) -> None:
    store, clock = FailingStore(tmp_path), HandClock()
    with acquire_lease(store, KEY, holder="busy", now=clock.now, seconds=6) as held:
        clock.moment += timedelta(hours=1)
        store.is_gone = True
        time.sleep(2.3)  # one renewal
        store.is_gone = False

        held.require_held()
        assert not held.is_lost


class ForgetfulStore(LocalObjectStore):
    """Ignores conditions, as some S3-compatible stores do."""

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        self.put(key, content)
        return True


def test_a_store_that_ignores_conditions_is_refused_with_an_explanation(tmp_path: Path) -> None:
    store = ForgetfulStore(tmp_path)

    with pytest.raises(ConfigurationError, match="ignores the conditions of writes"):
        require_conditional_writes(store, "knowledge_bases/demo")

    assert store.list("knowledge_bases") == []


def test_a_store_that_keeps_to_conditions_passes_the_probe_and_nothing_is_left(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)

    require_conditional_writes(store, "knowledge_bases/demo")

    assert store.list("knowledge_bases") == []


def test_it_is_renewed_from_a_thread_of_its_own(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    now = lambda: datetime.now(UTC)  # noqa: E731 (the clock of this one test)

    with acquire_lease(store, KEY, holder="busy", now=now, seconds=0.3):
        begun = read_lease(store, KEY)
        time.sleep(0.6)
        later = read_lease(store, KEY)

    assert begun is not None
    assert later is not None
    assert later.expires_at > begun.expires_at
