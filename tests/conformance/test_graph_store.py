"""What every graph store does: on SQLite, and on PostgreSQL and MariaDB where they can be reached."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import event

from lorebase.adapters.databases import open_database
from lorebase.errors import ConfigurationError, UnavailableError
from lorebase.extraction.graph_building import build_facts
from lorebase.extraction.graph_kinds import GraphFact
from lorebase.extraction.graph_ports import GraphStore
from lorebase.extraction.graph_store import SqlGraphStore
from lorebase.extraction.mentions import EntityMention
from lorebase.extraction.resolution import resolve
from tests.extraction.mentioning import entities_in, relations_in

BASE = f"graph-{uuid.uuid4().hex[:12]}"
URLS = {"postgres": "LOREBASE_TEST_POSTGRES_URL", "mariadb": "LOREBASE_TEST_MARIADB_URL"}


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GraphStore]:
    url = f"sqlite:///{tmp_path / 'graphs.db'}"
    if request.param in URLS:
        url = os.environ.get(URLS[request.param], "")
        if not url:
            pytest.skip(f"{URLS[request.param]} is not set")
    graphs = SqlGraphStore(lambda: open_database(url))
    yield graphs
    for base in (BASE, f"{BASE}-b"):
        await graphs.remove(base, await graphs.content_keys(base))
    await graphs.close()


def facts_of(*documents: str) -> list[GraphFact]:
    """Each document says that a person of its own works for Acme, which lies in 北港."""
    entities = [
        entities_in(
            document,
            f"chk-{document}",
            ("Acme", "organization"),
            (f"Person {document}", "person"),
            EntityMention("北港", "place", "一个港口", aliases=("North Harbour",)),
        )
        for document in documents
    ]
    relations = [
        relations_in(document, f"chk-{document}", (f"Person {document}", "works for", "Acme"), ("Acme", "位于", "北港"))
        for document in documents
    ]
    return build_facts(resolve(entities, relations).mentions, relations).facts


async def test_what_was_written_is_read(store: GraphStore) -> None:
    await store.write(BASE, "one", facts_of("d1", "d2", "d3"))

    named = await store.named(BASE, "one", ["acme", "north harbour", "北港", "nothing"])
    acme, harbour = named["acme"][0], named["北港"][0]
    relations = await store.relations(BASE, "one", [acme.entity_id], 10)
    evidence = await store.evidence(BASE, "one", [relations[0].relation_id, acme.entity_id], 2)
    assert set(named) == {"acme", "north harbour", "北港"}
    assert named["north harbour"] == [harbour]
    assert (harbour.description, harbour.aliases, harbour.types) == ("一个港口", ("North Harbour",), ("place",))
    assert (acme.chunks, acme.documents) == (3, 3)
    assert [relation.name for relation in relations] == ["位于", "works for", "works for", "works for"]
    assert [one.chunk_id for one in evidence[relations[0].relation_id]] == ["chk-d1", "chk-d2"]
    assert len(evidence[acme.entity_id]) == 2
    assert await store.entities(BASE, "one", [acme.entity_id, "ent-none"]) == {acme.entity_id: acme}
    of_chunks = await store.entities_of_chunks(BASE, "one", ["chk-d1", "chk-none"])
    assert {key: len(ids) for key, ids in of_chunks.items()} == {"chk-d1": 3}


async def test_the_largest_come_first_and_the_heaviest_relations_are_kept(store: GraphStore) -> None:
    await store.write(BASE, "one", facts_of("d1", "d2", "d3"))

    largest = await store.largest(BASE, "one", 2)
    heaviest = await store.relations(BASE, "one", [entity.entity_id for entity in largest], 1)

    assert {entity.name for entity in largest} == {"Acme", "北港"}
    assert [relation.name for relation in heaviest] == ["位于"]


async def test_graphs_of_other_contents_and_bases_are_not_seen(store: GraphStore) -> None:
    await store.write(BASE, "one", facts_of("d1"))
    await store.write(BASE, "two", facts_of("d2"))
    await store.write(f"{BASE}-b", "one", facts_of("d3"))

    assert "person d1" in await store.named(BASE, "one", ["person d1", "person d2", "person d3"])
    assert set(await store.named(BASE, "two", ["person d1", "person d2"])) == {"person d2"}
    assert await store.content_keys(BASE) == ["one", "two"]
    assert await store.content_keys_of_document(BASE, "d2") == {"two": 5}


async def test_a_graph_is_written_once(store: GraphStore) -> None:
    await store.write(BASE, "one", facts_of("d1"))

    await asyncio.gather(*(store.write(BASE, "one", facts_of("d1")) for _ in range(3)))
    await asyncio.gather(*(store.write(BASE, "two", facts_of("d1", "d2")) for _ in range(4)))

    assert await store.content_keys(BASE) == ["one", "two"]
    assert (await store.named(BASE, "two", ["acme"]))["acme"][0].chunks == 2


async def test_removing_takes_one_graph_and_counts_its_rows(store: GraphStore) -> None:
    await store.write(BASE, "one", facts_of("d1"))
    await store.write(BASE, "two", facts_of("d1"))
    rows = await store.rows(BASE, ["one"])

    removed = await store.remove(BASE, ["one", "never"])

    assert removed == rows > 0
    assert not await store.holds(BASE, "one")
    assert await store.holds(BASE, "two")
    assert await store.named(BASE, "one", ["acme"]) == {}
    assert await store.content_keys_of_document(BASE, "d1") == {"two": 5}


async def test_any_character_can_be_kept(store: GraphStore) -> None:
    strange = EntityMention("a\x00b 灯塔🙂 'x\"; --", "concept", "\x00 😀 \u200b", aliases=("\x00", "塔\x00"))
    mentions = resolve([entities_in("d1", "chk-1", strange)], []).mentions

    await store.write(BASE, "one", build_facts(mentions, []).facts)

    entity = (await store.largest(BASE, "one", 5))[0]
    assert (entity.name, entity.description) == ("a\ufffdb 灯塔🙂 'x\"; --", "\ufffd 😀 \u200b")


async def test_an_empty_graph_is_a_graph(store: GraphStore) -> None:
    await store.write(BASE, "none", [])

    assert await store.holds(BASE, "none")
    assert await store.largest(BASE, "none", 5) == []
    assert await store.relations(BASE, "none", [], 5) == []


async def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    broken = open_database(f"sqlite:///{tmp_path / 'graphs.db'}")

    def break_off(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "INSERT INTO graph_evidence" in statement:
            raise KeyboardInterrupt

    event.listen(broken.engine, "before_cursor_execute", break_off)
    store = SqlGraphStore(lambda: broken)
    with pytest.raises(KeyboardInterrupt):
        store._write(BASE, "one", facts_of("d1"))

    event.remove(broken.engine, "before_cursor_execute", break_off)

    assert not await store.holds(BASE, "one")
    assert await store.largest(BASE, "one", 5) == []
    await store.close()


async def test_a_database_that_cannot_be_reached_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "no").write_text("a file, where a folder would have to be made")
    store = SqlGraphStore(lambda: open_database(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}"))

    with pytest.raises(
        UnavailableError, match=r"database of knowledge graphs did not answer \(OperationalError SQLITE_CANTOPEN"
    ):
        await store.holds(BASE, "one")


@pytest.mark.parametrize("url", ["no address", "sqlite+nodriver:///x.db"])
def test_an_address_that_cannot_be_used_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="database address is none that can be opened") as refused:
        open_database(url)

    assert url not in str(refused.value)
