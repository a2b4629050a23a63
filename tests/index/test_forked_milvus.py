"""Connections to Milvus that a parent opened, in its forked children: never used, never stopped by them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lorebase.adapters.milvus import MilvusIndexStore, MilvusLimits
from lorebase.adapters.milvus.connection import ServerConnection
from lorebase.adapters.milvus.embedded import EmbeddedMilvus
from lorebase.errors import UnavailableError
from lorebase.index.ports import EntityFields, Equals, VectorEntity

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

LIMITS = MilvusLimits(lock_timeout_seconds=0.3)
PROFILE = "p" * 32
SEARCHABLE = (Equals("searchable", value=True),)


def entity(chunk_id: str) -> VectorEntity:
    fields = EntityFields(chunk_id, "d", "r", "base", searchable=True)
    return VectorEntity(fields, np.array([1, 0], dtype=np.float32))


def count(store: MilvusIndexStore) -> int:
    return asyncio.run(store.vectors("base", PROFILE, 2).count(SEARCHABLE))


def write(store: MilvusIndexStore, chunk_id: str) -> None:
    asyncio.run(store.vectors("base", PROFILE, 2).upsert([entity(chunk_id)]))


def in_child(act: Callable[[], None]) -> int | None:
    """The exit code of a forked child that acts; None where it hangs."""
    child = multiprocessing.get_context("fork").Process(target=act)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which is what is tried here
        child.start()
    child.join(60)
    if child.exitcode is None:
        child.kill()
    return child.exitcode


def test_a_child_neither_uses_nor_stops_the_embedded_server_of_its_parent(tmp_path: Path) -> None:
    store = MilvusIndexStore.in_folder(tmp_path, limits=LIMITS)
    write(store, "a")
    process_id = store._connection("base")._server._process.pid

    def act() -> None:
        with pytest.raises(UnavailableError, match="is held by another process"):
            count(store)
        asyncio.run(store.close())

    code = in_child(act)

    assert code == 0
    assert count(store) == 1
    assert store._connection("base")._server._process.pid == process_id
    asyncio.run(store.close())


def test_what_a_parent_counted_is_no_answer_in_a_child_once_the_file_has_changed(tmp_path: Path) -> None:
    store = MilvusIndexStore.in_folder(tmp_path, limits=LIMITS)
    write(store, "a")
    assert count(store) == 1
    go_on, gone_on = multiprocessing.get_context("fork").Pipe()

    def act() -> None:
        assert gone_on.recv() == "the parent has written and closed"
        assert count(store) == 2
        write(store, "c")
        asyncio.run(store.close())

    child = multiprocessing.get_context("fork").Process(target=act)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as above
        child.start()
    write(store, "b")
    assert count(store) == 2
    asyncio.run(store.close())
    go_on.send("the parent has written and closed")
    child.join(60)

    assert child.exitcode == 0
    assert count(store) == 3
    asyncio.run(store.close())


def test_the_file_of_a_closed_parent_is_not_kept_locked_by_a_child(tmp_path: Path) -> None:
    store = MilvusIndexStore.in_folder(tmp_path, limits=LIMITS)
    write(store, "a")
    end, ended = multiprocessing.get_context("fork").Pipe()

    def begin_and_wait() -> None:
        ended.send("what is the parent's is left to it")
        ended.recv()

    child = multiprocessing.get_context("fork").Process(target=begin_and_wait)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as above
        child.start()
    end.recv()
    asyncio.run(store.close())

    another = MilvusIndexStore.in_folder(tmp_path, limits=LIMITS)
    write(another, "b")

    assert count(another) == 2
    asyncio.run(another.close())
    end.send("")
    child.join(60)
    assert child.exitcode == 0


def test_a_child_asks_a_server_over_a_channel_of_its_own(tmp_path: Path) -> None:
    server = EmbeddedMilvus(tmp_path / "base.db", lock_timeout_seconds=1, start_timeout_seconds=20)
    connection = ServerConnection(server.start(), "", LIMITS)
    of_parent = connection.call(lambda client: client)

    def act() -> None:
        assert connection.call(lambda client: client) is not of_parent
        assert connection.call(lambda client: client.list_collections(timeout=5)) == []
        connection.close()

    code = in_child(act)

    assert code == 0
    assert connection.call(lambda client: client) is of_parent
    assert of_parent.list_collections(timeout=5) == []
    connection.close()
    server.stop()
