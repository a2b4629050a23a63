"""PostgreSQL and MariaDB are taken away: while graphs are written, in governed commands, publications and retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine, func, make_url, select

from lorebase import KnowledgeBase
from lorebase.adapters.databases import open_database
from lorebase.errors import KeyTakenError, UnavailableError
from lorebase.extraction.graph_tables import CONTENT, GRAPHS
from lorebase.governance.migrating import migrate
from lorebase.governance.tables import metadata
from lorebase.workspace_config import DatabaseConfig
from tests.extraction.graph_bases import ACME, RECIPE, graph_of_base, live_of, names_in
from tests.fakes.tcp_proxy import TcpProxy
from tests.fakes.workspace import FakeWorkspace
from tests.governance.conftest import address_on
from tests.governance.knowledge_world import KnowledgeWorld
from tests.governance.world import AUTHOR
from tests.runs.snapshot_checks import build_of

OLD, NEW = "Travel reports are due on Friday.\n", "Travel reports are due on Monday.\n"
QUESTION = "who is the chief financial officer of Acme Corporation"


@pytest.fixture(params=["postgresql", "mariadb"])
def direct_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of an empty database, past every proxy."""
    with address_on(request.param, tmp_path) as url:
        yield url


@pytest.fixture
def proxy(direct_url: str) -> Iterator[TcpProxy]:
    address = make_url(direct_url)
    with TcpProxy(address.host or "127.0.0.1", address.port or 0) as running:
        yield running


def proxied(url: str, proxy: TcpProxy) -> str:
    return make_url(url).set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)


def once(sign: bytes) -> Callable[[bytes], bool]:
    """True for the first piece that holds a sign."""
    seen: list[bytes] = []

    def is_it(piece: bytes) -> bool:
        if sign not in piece or seen:
            return False
        seen.append(piece)
        return True

    return is_it


def rows_of_graphs(url: str) -> int:
    """All rows of graph tables, as the database has them."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = sum(
            connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (GRAPHS, *CONTENT)
        )
    engine.dispose()
    return found


def graph_workspace(folder: Path, url: str) -> FakeWorkspace:
    workspace = FakeWorkspace(folder)
    workspace.config = workspace.config.model_copy(update={"database": DatabaseConfig(url=SecretStr(url))})
    return workspace


@pytest.mark.parametrize("sign", [b"INSERT INTO graphs", b"INSERT INTO graph_evidence", b"COMMIT"])
async def test_a_connection_that_is_cut_while_a_graph_is_written_leaves_no_half_of_it_and_the_next_build_goes_on(
    tmp_path: Path, direct_url: str, proxy: TcpProxy, sign: bytes
) -> None:
    """B-017."""
    workspace = graph_workspace(tmp_path / "ws", proxied(direct_url, proxy))
    await workspace.graph_store.holds("demo", "made so that the tables are there")
    proxy.cut_at = once(sign)

    broken = await build_of(tmp_path, workspace, {"acme.md": ACME}, RECIPE)
    left = rows_of_graphs(direct_url)
    sent = workspace.seen.total()
    record = await build_of(tmp_path, workspace, {"acme.md": ACME}, RECIPE)

    assert proxy.cuts == 1
    assert (broken.status, left) == ("failed", 0)
    assert broken.error is not None
    assert broken.error.code == "DEPENDENCY_UNAVAILABLE"
    assert "database of knowledge graphs" in broken.error.message
    assert record.status == "succeeded"
    assert workspace.seen.total() == sent
    assert "Acme Corporation" in await names_in(await graph_of_base(workspace))
    await workspace.graph_store.close()


async def test_a_graph_whose_commit_was_done_and_not_answered_is_whole_and_not_written_twice(
    tmp_path: Path, direct_url: str, proxy: TcpProxy
) -> None:
    """B-017."""
    workspace = graph_workspace(tmp_path / "ws", proxied(direct_url, proxy))
    await workspace.graph_store.holds("demo", "made so that the tables are there")
    proxy.cut_answer_at = once(b"COMMIT")

    broken = await build_of(tmp_path, workspace, {"acme.md": ACME}, RECIPE)
    left = rows_of_graphs(direct_url)
    record = await build_of(tmp_path, workspace, {"acme.md": ACME}, RECIPE)

    assert (proxy.cuts, broken.status, record.status) == (1, "failed", "succeeded")
    assert left > 0
    assert rows_of_graphs(direct_url) == left
    assert "Acme Corporation" in await names_in(await graph_of_base(workspace))
    await workspace.graph_store.close()


async def test_graph_search_during_an_outage_says_so_and_answers_again_in_the_same_process(
    tmp_path: Path, direct_url: str, proxy: TcpProxy
) -> None:
    workspace = graph_workspace(tmp_path / "ws", proxied(direct_url, proxy))
    await build_of(tmp_path, workspace, {"acme.md": ACME}, RECIPE)
    async with KnowledgeBase.load("demo", workspace) as base:
        before = (await base.query(QUESTION, mode="graph_search")).results

        proxy.take_down()
        with pytest.raises(UnavailableError, match="database of knowledge graphs"):
            await base.query(QUESTION, mode="graph_search")
        proxy.bring_back()
        after = (await base.query(QUESTION, mode="graph_search")).results
        proxy.cut()  # the server was restarted between two questions: nobody notices
        later = (await base.query(QUESTION, mode="graph_search")).results

    assert before
    assert before == after == later
    assert live_of(workspace).chunks > 0
    await workspace.graph_store.close()


@pytest.fixture
def world(tmp_path: Path, direct_url: str, proxy: TcpProxy) -> Iterator[KnowledgeWorld]:
    direct = open_database(direct_url)
    migrate(direct)
    direct.close()
    database = open_database(proxied(direct_url, proxy))
    yield KnowledgeWorld(database, tmp_path / "ws")
    database.close()


def rows_by_table(url: str) -> dict[str, int]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }
    engine.dispose()
    return found


@pytest.mark.parametrize("sign", [b"INSERT INTO", b"COMMIT"])
def test_a_governed_command_that_is_cut_off_changes_nothing_and_can_be_repeated(
    world: KnowledgeWorld, direct_url: str, proxy: TcpProxy, sign: bytes
) -> None:
    world.item("first")
    before = rows_by_table(direct_url)
    proxy.cut_at = once(sign)

    with pytest.raises(UnavailableError, match="relational database"):
        world.item("second")
    after = rows_by_table(direct_url)
    again = world.item("second")

    assert proxy.cuts == 1
    assert after == before
    assert world.governance.items.get(AUTHOR, again.id).knowledge_key == "second"


def test_a_governed_command_whose_commit_was_done_and_not_answered_is_never_done_twice(
    world: KnowledgeWorld, direct_url: str, proxy: TcpProxy
) -> None:
    world.item("first")
    proxy.cut_answer_at = once(b"COMMIT")

    with pytest.raises(UnavailableError, match="relational database"):
        world.item("second")
    after = rows_by_table(direct_url)
    with pytest.raises(KeyTakenError, match="second"):
        world.item("second")

    assert proxy.cuts == 1
    assert rows_by_table(direct_url) == after
    assert after["knowledge_item"] == 2


async def test_governed_retrieval_during_an_outage_is_an_error_and_never_no_evidence(
    world: KnowledgeWorld, proxy: TcpProxy
) -> None:
    revision = await world.ready(world.item(), OLD)
    await world.publish(revision)
    before = await world.texts()

    proxy.take_down()
    with pytest.raises(UnavailableError, match="relational database") as failed:
        await world.retrieve()
    proxy.bring_back()
    after = await world.texts()
    proxy.cut()
    later = await world.texts()

    assert failed.value.facts["dependency"] == "database"
    assert before == after == later != []
    await world.close()


@pytest.mark.parametrize("piece", [2, 5, 8, 12, 16])
async def test_a_publication_that_is_cut_off_shows_one_revision_whole_and_can_be_repeated(
    world: KnowledgeWorld, proxy: TcpProxy, piece: int
) -> None:
    """However far it came: its task goes on, or it is published again."""
    item = world.item()
    await world.publish(await world.ready(item, OLD))
    new = await world.ready(item, NEW)
    count = [0]

    def at_that_piece(_piece: bytes) -> bool:
        count[0] += 1
        return count[0] == piece

    proxy.cut_at = at_that_piece
    failed_at = {"database"}
    try:
        await world.publish(new)
    except UnavailableError as error:
        failed_at.add(str(error.facts["dependency"]))
    proxy.cut_at = lambda _piece: False
    shown = await world.texts()
    if shown != [NEW.strip()]:
        await world.publish(world.read(new))

    assert proxy.cuts == 1
    assert failed_at == {"database"}
    assert shown in ([OLD.strip()], [NEW.strip()])
    assert await world.texts() == [NEW.strip()]
    await world.close()
