"""Which snapshots stay, where the pointer has been, and what a listing tells of sizes and ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore
from lorebase.artifacts.retention import kept_snapshots
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectInventory
from lorebase.errors import ConflictError

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def snapshot(number: int) -> Snapshot:
    return Snapshot(
        snapshot_id=f"run-{number:02}",
        base_name="demo",
        run_id=f"run-{number:02}",
        created_at=NOON + timedelta(minutes=number),
        recipe={},
        recipe_fingerprint="",
        artifacts={},
        queries=(),
        search_assets=(),
        documents=0,
        chunks=0,
    )


@given(count=st.integers(1, 9), live=st.integers(0, 8), keep=st.integers(0, 12))
def test_the_live_one_and_the_last_ones_stay_in_their_order(count: int, live: int, keep: int) -> None:
    every = [snapshot(number) for number in range(count)]
    live_id = f"run-{live % count:02}"

    kept = kept_snapshots(every, live_id, keep=keep)

    expected = {one.snapshot_id for one in every[max(count - keep, 0) :]} | {live_id}
    assert [one.snapshot_id for one in kept] == sorted(expected)


def test_the_pointer_remembers_where_it_stood_and_why_it_moved(tmp_path: Path) -> None:
    snapshots = SnapshotStore(LocalObjectStore(tmp_path), BaseLayout("demo"))

    first = snapshots.move("a", expected=None, now=NOON)
    second = snapshots.move("b", expected=first, now=NOON)
    third = snapshots.move("a", expected=second, now=NOON, cause="rollback")

    assert snapshots.moves() == [first, second, third]
    assert [(move.sequence, move.snapshot_id, move.cause) for move in snapshots.moves()] == [
        (1, "a", "build"),
        (2, "b", "build"),
        (3, "a", "rollback"),
    ]


def test_a_move_that_lost_the_race_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    snapshots = SnapshotStore(LocalObjectStore(tmp_path), BaseLayout("demo"))
    first = snapshots.move("a", expected=None, now=NOON)
    second = snapshots.move("b", expected=first, now=NOON)

    with pytest.raises(ConflictError):
        snapshots.move("c", expected=first, now=NOON)

    assert snapshots.moves() == [first, second]


@pytest.fixture(params=["local", "s3"])
def inventory(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectInventory:
    if request.param == "local":
        return LocalObjectStore(tmp_path)
    store: S3ObjectStore = request.getfixturevalue("s3_store")
    return store


def test_a_listing_tells_sizes_and_ages(inventory: ObjectInventory) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    inventory.put("a/b/two.json", b"22")
    inventory.put("a/one.json", b"1")
    inventory.put("elsewhere.json", b"333")

    entries = inventory.entries("a")

    assert [(entry.key, entry.size_bytes) for entry in entries] == [("a/b/two.json", 2), ("a/one.json", 1)]
    assert all(before < entry.modified_at < before + timedelta(minutes=10) for entry in entries)
    assert list(inventory.entries("nothing-here")) == []
    assert list(inventory.leftovers("a")) == []


def test_what_a_killed_writer_left_is_no_object_and_can_be_removed(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    store.put("a/one.json", b"1")
    (tmp_path / "a/two.json.writing-0123").write_bytes(b"half")

    left = store.leftovers("a")
    store.delete([entry.key for entry in left])

    assert [(entry.key, entry.size_bytes) for entry in left] == [("a/two.json.writing-0123", 4)]
    assert (store.list("a"), list(store.leftovers("a"))) == (["a/one.json"], [])
