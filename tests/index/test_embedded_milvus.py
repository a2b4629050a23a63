"""The embedded Milvus as a process: who holds its file, and what is left after a kill."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from pymilvus import MilvusClient

from lorebase.adapters.milvus import MilvusIndexStore, MilvusLimits
from lorebase.adapters.milvus.connection import EmbeddedConnection, ServerConnection
from lorebase.adapters.milvus.embedded import EmbeddedMilvus
from lorebase.adapters.milvus.rows import batches, text_row
from lorebase.adapters.milvus.schema import text_schema
from lorebase.errors import RefusedError, UnavailableError, UsageError
from lorebase.index.ports import EntityFields, TextEntity, VectorEntity

IMPATIENT = MilvusLimits(lock_timeout_seconds=0.3)
VECTOR = np.array([1, 0], dtype=np.float32)

HOLDER = """
import asyncio, sys, time
from pathlib import Path
import numpy as np
from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.index.ports import EntityFields, TextEntity, VectorEntity

async def main():
    store = MilvusIndexStore.in_folder(Path(sys.argv[1]))
    vector = np.array([1, 0], dtype=np.float32)
    entities = [VectorEntity(EntityFields(f"c{n:04d}", "d", "r", "b"), vector) for n in range(500)]
    await store.vectors("base", "p" * 32, 2).upsert(entities)
    print("held", flush=True)
    await asyncio.sleep(120)

asyncio.run(main())
"""


@contextmanager
def another_process_holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def entity(chunk_id: str) -> VectorEntity:
    return VectorEntity(EntityFields(chunk_id, "d", "r", "b"), VECTOR)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[MilvusIndexStore]:
    made = MilvusIndexStore.in_folder(tmp_path, limits=IMPATIENT)
    yield made
    await made.close()


async def test_a_second_process_is_refused_every_time_while_the_first_holds_the_file(
    tmp_path: Path, store: MilvusIndexStore
) -> None:
    with another_process_holding(tmp_path) as holder:
        for _attempt in range(3):  # with milvus-lite's own manager the second attempt opens the file once more
            with pytest.raises(UnavailableError, match=r"base\.db is held by another process"):
                await store.vectors("base", "p" * 32, 2).count(())
        assert holder.poll() is None


async def test_after_a_kill_the_file_is_free_and_every_written_row_is_there(tmp_path: Path) -> None:
    store = MilvusIndexStore.in_folder(tmp_path)
    with another_process_holding(tmp_path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()

        assert await store.vectors("base", "p" * 32, 2).count(()) == 500
    await store.close()


async def test_words_that_were_written_before_characters_were_folded_are_found_as_they_are_written(
    store: MilvusIndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = store.lexical("base")
    with monkeypatch.context() as before:
        before.setattr("lorebase.index.words.simplified", lambda text: text)
        await index.upsert([TextEntity(EntityFields("old", "d", "r", "b"), "圖書館")])
    await index.upsert([TextEntity(EntityFields("new", "d", "r", "b"), "圖書館的燈塔")])

    assert {found.chunk_id for found in await index.search("圖書館", (), 5)} == {"old", "new"}
    assert [found.chunk_id for found in await index.search("图书馆", (), 5)] == ["new"]


async def test_a_closed_store_lets_another_process_in_at_once(tmp_path: Path, store: MilvusIndexStore) -> None:
    await store.vectors("base", "p" * 32, 2).upsert([entity("a")])
    await store.close()

    with another_process_holding(tmp_path), pytest.raises(UnavailableError):
        await store.vectors("base", "p" * 32, 2).count(())
    assert await store.vectors("base", "p" * 32, 2).count(()) == 501


async def test_stores_of_one_process_share_the_file_and_what_one_gives_back_the_others_open_again(
    tmp_path: Path, store: MilvusIndexStore
) -> None:
    second = MilvusIndexStore.in_folder(tmp_path / ".." / tmp_path.name, limits=IMPATIENT)
    first_index, second_index = store.vectors("base", "p" * 32, 2), second.vectors("base", "p" * 32, 2)

    await first_index.upsert([entity("a")])
    await second_index.upsert([entity("b")])
    await second.close()

    assert await first_index.count(()) == 2
    assert [found.chunk_id for found in await second_index.search(VECTOR, (), 5)] == ["a", "b"]


async def test_a_store_that_nobody_closed_keeps_no_later_one_of_the_process_out(tmp_path: Path) -> None:
    await MilvusIndexStore.in_folder(tmp_path, limits=IMPATIENT).vectors("base", "p" * 32, 2).upsert([entity("a")])
    gc.collect()

    later = MilvusIndexStore.in_folder(tmp_path, limits=IMPATIENT)

    assert await later.vectors("base", "p" * 32, 2).count(()) == 1
    await later.close()


async def test_a_store_with_other_limits_is_refused_and_breaks_off_no_work_of_the_one_that_holds_the_file(
    tmp_path: Path, store: MilvusIndexStore
) -> None:
    """Closing any descriptor of a lock file gives up all locks that a process has on it."""
    index = store.vectors("base", "p" * 32, 2)
    await index.upsert([entity("a")])
    process = store._connection("base")._server._process
    other = MilvusIndexStore.in_folder(tmp_path, limits=MilvusLimits(lock_timeout_seconds=0.5))

    for _attempt in range(2):
        with pytest.raises(UnavailableError, match=r"base\.db is held"):
            await other.vectors("base", "p" * 32, 2).count(())
    await asyncio.sleep(1.0)  # the server looks at the lock now and then

    assert process.poll() is None
    assert await index.count(()) == 1
    assert store._connection("base")._server._process is process


async def test_a_file_that_was_replaced_under_an_open_store_is_the_one_that_is_read(
    tmp_path: Path, store: MilvusIndexStore
) -> None:
    folder = tmp_path / "indexes"
    open_store = MilvusIndexStore.in_folder(folder, limits=IMPATIENT)
    replaced = open_store.vectors("base", "p" * 32, 2)
    await store.vectors("base", "p" * 32, 2).upsert([entity("a"), entity("b")])
    await store.close()
    await replaced.upsert([entity("c")])
    assert await replaced.count(()) == 1

    shutil.rmtree(folder)
    folder.mkdir()
    shutil.copyfile(tmp_path / "base.db", folder / "base.db")

    assert await replaced.count(()) == 2
    assert [found.chunk_id for found in await replaced.search(VECTOR, (), 5)] == ["a", "b"]
    await open_store.close()


async def test_opening_and_closing_leaves_no_process_and_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(sockets))
    connection = EmbeddedConnection(tmp_path / "base.db", IMPATIENT)
    connection.call(lambda client: client.list_collections(timeout=5))
    process_id = connection._server._process.pid

    connection.close()

    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)
    assert list(sockets.iterdir()) == []


async def test_a_server_process_that_died_is_started_again(tmp_path: Path, store: MilvusIndexStore) -> None:
    index = store.vectors("base", "p" * 32, 2)
    await index.upsert([entity("a")])
    server = store._connection("base")._server
    os.kill(server._process.pid, signal.SIGKILL)
    server._process.wait()

    assert await index.count(()) == 1


def test_one_store_serves_several_event_loops_one_after_another(tmp_path: Path) -> None:
    store = MilvusIndexStore.in_folder(tmp_path)
    index = store.vectors("base", "p" * 32, 2)

    asyncio.run(index.upsert([entity("a")]))
    asyncio.run(index.upsert([entity("b")]))

    assert asyncio.run(index.count(())) == 2
    asyncio.run(store.close())


async def test_calls_at_the_same_time_share_one_server(store: MilvusIndexStore) -> None:
    vectors, lexical = store.vectors("base", "p" * 32, 2), store.lexical("base")
    entities = [entity(f"c{number}") for number in range(8)]

    await asyncio.gather(*(vectors.upsert([one]) for one in entities), lexical.count(()))

    assert await vectors.count(()) == 8


async def test_a_released_collection_is_loaded_on_demand(store: MilvusIndexStore) -> None:
    index = store.vectors("base", "p" * 32, 2)
    await index.upsert([entity("a")])
    store._connection("base").call(lambda client: client.release_collection(index._collection._name, timeout=5))

    assert [candidate.chunk_id for candidate in await index.search(VECTOR, (), 5)] == ["a"]


async def test_a_collection_whose_maker_was_stopped_half_way_is_finished_by_the_next_write(
    store: MilvusIndexStore,
) -> None:
    index = store.lexical("base")
    name = index._collection._name
    store._connection("base").call(
        lambda client: client._get_connection().create_collection(name, text_schema(), timeout=5)
    )

    await index.upsert([TextEntity(EntityFields("a", "d", "r", "b"), "some words")])

    assert [candidate.chunk_id for candidate in await index.search("words", (), 5)] == ["a"]


async def test_the_longest_name_of_a_base_can_be_opened(tmp_path: Path) -> None:
    store = MilvusIndexStore.in_folder(tmp_path)
    index = store.vectors("b" * 63, "p" * 32, 2)

    await index.upsert([entity("a")])

    assert await index.count(()) == 1
    assert (tmp_path / f"{'b' * 63}.db").exists()
    await store.close()


async def test_a_temporary_folder_with_a_long_path_is_no_obstacle(
    tmp_path: Path, store: MilvusIndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))

    await store.vectors("base", "p" * 32, 2).upsert([entity("a")])

    assert await store.vectors("base", "p" * 32, 2).count(()) == 1


async def test_a_name_that_is_no_slug_is_refused_before_a_path_is_made_of_it(store: MilvusIndexStore) -> None:
    with pytest.raises(UsageError):
        store.vectors("../other", "p" * 32, 2)


async def test_a_server_that_is_not_there_is_unavailable_within_the_timeout() -> None:
    limits = MilvusLimits(call_timeout_seconds=1, connect_timeout_seconds=1)
    store = MilvusIndexStore.on_server("http://127.0.0.1:9", limits=limits)

    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9"):
        await store.lexical("base").search("words", (), 5)
    await store.close()


def test_two_stores_with_different_tokens_share_no_connection(tmp_path: Path) -> None:
    server = EmbeddedMilvus(tmp_path / "base.db", lock_timeout_seconds=1, start_timeout_seconds=10)
    address = server.start()
    first = ServerConnection(address, "reader:one", MilvusLimits())
    second = ServerConnection(address, "writer:two", MilvusLimits())
    third = ServerConnection(address, "writer:two", MilvusLimits())

    handlers = {connection.call(lambda client: id(client._handler)) for connection in (first, second, third)}

    assert len(handlers) == 3
    first.close()
    assert second.call(lambda client: client.list_collections(timeout=5)) == []
    for connection in (second, third):
        connection.close()
    server.stop()


def test_text_over_the_limit_of_a_field_is_refused_with_its_size_and_a_remedy() -> None:
    fields = EntityFields("chk-1", "d", "r", "b")

    with pytest.raises(RefusedError, match=r"chk-1 .* 69999 bytes.*65535.*max_tokens") as refused:
        text_row(TextEntity(fields, " ".join(["w" * 6] * 10_000) + " "))
    assert refused.value.facts["size_bytes"] == 69_999


def test_batches_stay_below_the_message_size_and_lose_nothing() -> None:
    rows = [{"chunk_id": f"c{number}", "text": "w" * (number * 37 % 5000)} for number in range(500)]

    made = list(batches(rows, 20_000))

    assert [row for batch in made for row in batch] == rows
    assert all(sum(len(str(row["text"])) for row in batch) < 20_000 for batch in made)


async def test_no_batch_is_followed_by_a_flush(store: MilvusIndexStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_settings: object) -> None:
        raise AssertionError

    monkeypatch.setattr(MilvusClient, "flush", refuse)
    monkeypatch.setattr(MilvusClient, "insert", refuse)
    index = store.vectors("base", "p" * 32, 2)

    for number in range(5):
        await index.upsert([entity(f"c{number}")])

    assert await index.count(()) == 5
