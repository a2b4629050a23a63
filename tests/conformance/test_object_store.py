"""What every object store does: the local folder and S3 (a real SeaweedFS)."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore, open_object_store
from lorebase.artifacts.lease import require_conditional_writes
from lorebase.artifacts.store import ObjectStore
from lorebase.errors import ConfigurationError, NotFoundError, RefusedError, UnavailableError, UsageError


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return LocalObjectStore(tmp_path / "store") if request.param == "local" else request.getfixturevalue("s3_store")


def test_what_was_put_is_got(store: ObjectStore) -> None:
    store.put("a/b.bin", b"\0one")

    assert store.get("a/b.bin") == b"\0one"
    assert store.exists("a/b.bin")


def test_a_longer_object_in_the_place_of_a_shorter_is_read_whole(store: ObjectStore) -> None:
    store.put("a/b", b"short")
    store.list("a")

    store.put("a/b", b"longer than before")

    assert store.get("a/b") == b"longer than before"


def test_a_missing_object_is_named(store: ObjectStore) -> None:
    with pytest.raises(NotFoundError, match=r"no object 'a/b'"):
        store.get("a/b")

    assert not store.exists("a/b")
    assert store.get_versioned("a/b") is None


def test_a_list_holds_the_keys_below_a_folder_at_any_depth_sorted(store: ObjectStore) -> None:
    for key in ("x/2", "x/1", "x/y/3", "xy/4", "z"):
        store.put(key, b"")

    assert store.list("x") == ["x/1", "x/2", "x/y/3"]
    assert store.list("nothing") == []


def test_deleting_removes_and_what_is_not_there_is_no_error(store: ObjectStore) -> None:
    store.put("a/1", b"")
    store.put("a/2", b"")

    store.delete(["a/1", "a/missing"])
    store.delete([])

    assert store.list("a") == ["a/2"]


def test_chinese_keys_and_many_deletions(store: ObjectStore) -> None:
    keys = [f"知识/{number}.json" for number in range(30)]
    for key in keys:
        store.put(key, b"x")

    store.delete(keys)

    assert store.list("知识") == []


def test_only_one_writer_creates_an_object(store: ObjectStore) -> None:
    assert store.put_if("lease", b"1", None)
    assert not store.put_if("lease", b"2", None)
    assert store.get("lease") == b"1"


def test_a_swap_needs_the_version_that_was_read(store: ObjectStore) -> None:
    store.put("pointer", b"1")
    seen = store.get_versioned("pointer")
    assert seen is not None

    assert store.put_if("pointer", b"2", seen.version)
    assert not store.put_if("pointer", b"3", seen.version)
    assert store.get("pointer") == b"2"


def test_a_swap_of_what_is_gone_writes_nothing(store: ObjectStore) -> None:
    store.put("pointer", b"1")
    seen = store.get_versioned("pointer")
    assert seen is not None
    store.delete(["pointer"])

    assert not store.put_if("pointer", b"2", seen.version)
    assert not store.exists("pointer")


@pytest.mark.parametrize("key", ["", "/a", "a//b", "../a", "a/./b", "a\\b", "a\0"])
def test_a_key_that_could_leave_the_store_is_refused(store: ObjectStore, key: str) -> None:
    with pytest.raises(UsageError, match="is not a key"):
        store.put(key, b"")


def test_it_passes_the_probe_of_conditional_writes(store: ObjectStore) -> None:
    require_conditional_writes(store, "knowledge_bases/demo")

    assert store.list("knowledge_bases") == []


def _race(store: ObjectStore, start: object, wins: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    for round_number in range(20):
        if store.put_if(f"race/{round_number}", b"1", None):
            wins.put(round_number)  # type: ignore[attr-defined]


def test_of_several_processes_exactly_one_creates_each_object(store: ObjectStore) -> None:
    context = multiprocessing.get_context("spawn")
    start, wins = context.Event(), context.Queue()
    racers = [context.Process(target=_race, args=(store, start, wins)) for _ in range(4)]
    for racer in racers:
        racer.start()

    start.set()
    won = sorted(wins.get(timeout=60) for _ in range(20))
    for racer in racers:
        racer.join()

    assert won == list(range(20))
    assert wins.empty()


def test_a_wrong_secret_is_refused_and_an_absent_server_is_unavailable(seaweedfs: str) -> None:
    absent = S3ObjectStore("bucket", endpoint_url="http://127.0.0.1:9", key="any", secret="any")

    stranger = S3ObjectStore("bucket", endpoint_url=seaweedfs, key="test-key", secret="wrong")

    with pytest.raises(UnavailableError, match="failed at 'a'"):
        absent.get("a")
    with pytest.raises(RefusedError, match="Check the key, the secret"):
        stranger.put("a", b"")
    with pytest.raises(RefusedError, match="Check the key, the secret"):
        stranger.put_if("a", b"", None)


@pytest.mark.parametrize("url", ["s3://", "ftp://host/x"])
def test_an_address_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        open_object_store(url)


def test_an_endpoint_without_scheme_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigurationError, match=r"Write http://127.0.0.1:9000"):
        open_object_store("s3://bucket", endpoint_url="127.0.0.1:9000")


def test_a_read_only_folder_is_unavailable_and_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")

    with pytest.raises(UnavailableError, match="Check that the folder is writable"):
        LocalObjectStore(blocked).put("a", b"")
