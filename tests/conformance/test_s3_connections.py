"""Connections of the S3 store: one for each call under way, all of them given back, on a real SeaweedFS."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.adapters.object_stores import S3ObjectStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import NotFoundError, RefusedError
from lorebase.runs.cleaning import clean_up
from tests.fakes.workspace import FakeWorkspace, recipe_in, write_documents

CALLERS = 80


@pytest.fixture(autouse=True)
def earlier(seaweedfs: str) -> Iterator[None]:
    """Connections of earlier tests of this process, which may end whenever they like, are not counted."""
    _EARLIER.update(_sockets(seaweedfs))
    yield
    _EARLIER.clear()


_EARLIER: set[str] = set()


def open_sockets(url: str) -> int:
    """Connections of this process to a server that the test has opened."""
    return len(_sockets(url) - _EARLIER)


def _sockets(url: str) -> set[str]:
    """Inodes of this process's connections to a server, as the operating system lists them."""
    if not Path("/proc/self/net/tcp").exists():
        return set()
    port = int(url.rpartition(":")[2])
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    inodes = {found[1] for link in links if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}
    fields = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return {field[9] for field in fields if int(field[2].rpartition(":")[2], 16) == port} & inodes


def use_everything(store: S3ObjectStore) -> None:
    """A call of s3fs and a call of boto3: each has sockets of its own."""
    store.put("a", b"1")
    assert store.get("a") == b"1"
    assert store.get_versioned("a") is not None


needs_proc = pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="sockets are counted in /proc")


@needs_proc
def test_a_closed_store_has_no_connection_and_a_later_call_opens_one(seaweedfs: str, s3_store: S3ObjectStore) -> None:
    use_everything(s3_store)
    before = open_sockets(seaweedfs)

    s3_store.close()
    s3_store.close()
    after = open_sockets(seaweedfs)
    use_everything(s3_store)

    assert (before > 0, after) == (True, 0)
    assert open_sockets(seaweedfs) > 0
    s3_store.close()
    assert open_sockets(seaweedfs) == 0


@needs_proc
def test_a_call_that_failed_leaves_no_connection_behind_a_close(seaweedfs: str, s3_store: S3ObjectStore) -> None:
    with pytest.raises(NotFoundError):
        s3_store.get("missing")
    assert s3_store.get_versioned("missing") is None

    s3_store.close()

    assert open_sockets(seaweedfs) == 0


@needs_proc
def test_closing_breaks_no_call_off_and_gives_back_what_it_used(seaweedfs: str, s3_store: S3ObjectStore) -> None:
    def call(number: int) -> None:
        use_everything(s3_store)
        if number % 4 == 0:
            s3_store.close()

    with ThreadPoolExecutor(8) as callers:
        list(callers.map(call, range(24)))
    s3_store.close()

    assert open_sockets(seaweedfs) == 0


def test_many_calls_at_once_throw_no_connection_away(
    seaweedfs: str, s3_store: S3ObjectStore, caplog: pytest.LogCaptureFixture
) -> None:
    del seaweedfs
    use_everything(s3_store)
    together = threading.Barrier(CALLERS, timeout=60)

    def call(_number: int) -> bytes:
        together.wait()
        found = s3_store.get_versioned("a")
        return s3_store.get("a") + (found.content if found else b"")

    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(CALLERS) as callers:
        answers = list(callers.map(call, range(CALLERS)))

    s3_store.close()
    assert answers == [b"11"] * CALLERS
    assert [record.getMessage() for record in caplog.records if "pool" in record.getMessage().lower()] == []


@needs_proc
@pytest.mark.parametrize("fails", [False, True])
async def test_a_build_that_has_ended_holds_no_connection(
    seaweedfs: str, s3_store: S3ObjectStore, tmp_path: Path, *, fails: bool
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    workspace.__dict__["object_store"] = s3_store
    write_documents(tmp_path, {"harbour.md": "# Harbour\n\nWhale oil, 鲸油."})
    if fails:
        workspace.failures.append(RefusedError("no", dependency="model"))

    result = await KnowledgeBase("demo", workspace).rebuild(recipe_in(tmp_path))

    assert (result.record.status, open_sockets(seaweedfs)) == ("failed" if fails else "succeeded", 0)


@needs_proc
async def test_an_operation_that_was_refused_holds_no_connection(
    seaweedfs: str, s3_store: S3ObjectStore, tmp_path: Path
) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    workspace.__dict__["object_store"] = s3_store

    with pytest.raises(NotFoundError):
        await clean_up(workspace, BaseLayout("unknown"))

    assert open_sockets(seaweedfs) == 0
