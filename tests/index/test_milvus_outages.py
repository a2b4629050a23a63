"""A Milvus server that goes away and comes back: its address is named, and the same client goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lorebase.adapters.milvus import MilvusIndexStore, MilvusLimits
from lorebase.adapters.milvus.embedded import EmbeddedMilvus
from lorebase.errors import UnavailableError
from lorebase.index.ports import EntityFields, TextEntity
from tests.fakes.tcp_proxy import TcpProxy

LIMITS = MilvusLimits(call_timeout_seconds=3, connect_timeout_seconds=3)
NAMED = r"127\.0\.0\.1"


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[TcpProxy]:
    """A server behind a proxy."""
    server = EmbeddedMilvus(tmp_path / "server.db", lock_timeout_seconds=1, start_timeout_seconds=20)
    try:
        with TcpProxy(socket_path=server.start().removeprefix("unix:")) as running:
            yield running
    finally:
        server.stop()


async def test_searches_and_writes_fail_during_an_outage_and_succeed_after_it_with_the_same_client(
    proxy: TcpProxy,
) -> None:
    store = MilvusIndexStore.on_server(f"http://127.0.0.1:{proxy.port}", limits=LIMITS)
    lexical = store.lexical("base")
    await lexical.upsert([TextEntity(EntityFields("a", "d", "r", "base"), "whale oil")])

    proxy.take_down()
    with pytest.raises(UnavailableError, match=NAMED):
        await lexical.search("oil", (), 5)
    with pytest.raises(UnavailableError, match=NAMED):
        await lexical.upsert([TextEntity(EntityFields("b", "d", "r", "base"), "lamp oil")])
    proxy.bring_back()
    await lexical.upsert([TextEntity(EntityFields("c", "d", "r", "base"), "olive oil")])
    found = {candidate.chunk_id for candidate in await lexical.search("oil", (), 5)}

    assert found == {"a", "c"}
    assert await lexical.count(()) == 2
    await store.close()
