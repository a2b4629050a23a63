"""Governed knowledge of a workspace that is given a database later: told, and taken over whole."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import inspect, select

from lorebase.adapters.databases import open_database
from lorebase.database import Database
from lorebase.errors import ConfigurationError, ConflictError, LorebaseError, NotFoundError
from lorebase.governance.kinds import FeedbackKind
from lorebase.governance.migrating import migrate
from lorebase.governance.model import FaqEntry
from lorebase.governance.tables import items, metadata
from lorebase.governance_import import import_governance
from lorebase.workspace import Workspace
from lorebase.workspace_config import WorkspaceConfig
from tests.fakes.memory_index import MemoryIndexStore
from tests.governance.conftest import address_on
from tests.governance.importing import import_and_die, workspace_with
from tests.governance.knowledge_world import KnowledgeWorld
from tests.governance.world import AUTHOR

KINDS = ["sqlite", "postgresql", "mariadb"]
TEXT = "# Travel 差旅\n\nTravel reports are due on Friday. 差旅报告周五前交。🙂\n"
Rows = dict[str, list[dict[str, Any]]]


def rows_of(database: Database) -> Rows:
    """Everything that is governed in a database, tables by name, rows by id."""
    with database.reading() as connection:
        return {
            table.name: [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]
            for table in metadata.sorted_tables
        }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


@pytest.fixture
def index() -> MemoryIndexStore:
    return MemoryIndexStore()


@pytest.fixture
async def former(folder: Path, index: MemoryIndexStore) -> Rows:
    """What the database file of a workspace holds: a live topic with history, a draft, a tag, a deletion, a remark."""
    database = open_database(f"sqlite:///{folder / 'lorebase.db'}")
    migrate(database)
    world = KnowledgeWorld(database, folder, index_store=index)
    try:
        item = world.item()
        world.governance.tags.add(AUTHOR, "报销")
        first = await world.ready(item, TEXT, tags=["报销"])
        await world.publish(first)
        second = await world.ready(item, TEXT.replace("Friday", "Monday"))
        await world.publish(second)
        await world.faq(world.item("faq"), FaqEntry(question="When?", answer="On Monday. 周一。"))
        world.draft(world.item("draft"), TEXT)
        gone = world.item("gone")
        world.governance.items.delete(AUTHOR, gone.id, version=gone.version)
        world.governance.feedback.report(AUTHOR, second.id, FeedbackKind.WRONG_ANSWER, note="过期")
        return rows_of(database)
    finally:
        await world.close()
        database.close()


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with address_on(request.param, tmp_path) as address:
        yield address


@pytest.fixture
def workspace(folder: Path, url: str) -> Iterator[Workspace]:
    """The workspace, which has a database now."""
    opened = workspace_with(folder, url)
    yield opened
    opened.database.close()


async def test_every_row_is_taken_over_and_published_knowledge_is_evidence_again(
    folder: Path, workspace: Workspace, former: Rows, index: MemoryIndexStore
) -> None:
    done = import_governance(workspace)

    assert rows_of(workspace.database) == former
    assert done.imported == {name: len(rows) for name, rows in former.items()}
    assert all(done.imported.values()), done.imported
    assert done.put_aside == str(folder / "lorebase.db.imported")
    assert not (folder / "lorebase.db").exists()
    world = KnowledgeWorld(workspace.database, folder, index_store=index)
    found = " ".join(await world.texts())
    await world.close()
    assert "Monday" in found
    assert "Friday" not in found


def test_what_is_left_behind_is_told_with_the_command_that_takes_it_over_and_nothing_is_made_for_it(
    folder: Path, workspace: Workspace, former: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    left = workspace.topics_left_behind()
    tables = inspect(workspace.database.engine).get_table_names()
    with caplog.at_level(logging.WARNING):
        workspace.open_governance()
    import_governance(workspace)

    assert left is not None
    assert (left.file, left.topics) == (folder / "lorebase.db", len(former["knowledge_item"]))
    assert "`lorebase item import`" in left.remedy
    assert tables == []
    assert f"{left.message} {left.remedy}" in caplog.text
    assert workspace.topics_left_behind() is None


@pytest.mark.parametrize("content", [b"garbage, and no database at all", b"SQLite format 3\x00" + b"garbage" * 99])
def test_a_damaged_former_file_keeps_nobody_from_governing_in_the_database(
    folder: Path, workspace: Workspace, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "lorebase.db").write_bytes(content)

    with caplog.at_level(logging.WARNING):
        workspace.open_governance().items.create(AUTHOR, base_id="handbook", knowledge_key="travel", title="差旅")
    with pytest.raises(LorebaseError, match=r"no SQLite database|is damaged, or its file is no database"):
        import_governance(workspace)

    assert "lorebase.db holds governed topics is not known" in caplog.text
    assert (folder / "lorebase.db").read_bytes() == content


def test_an_import_that_is_killed_has_copied_everything_or_nothing_and_the_next_one_finishes_it(
    folder: Path, workspace: Workspace, url: str, former: Rows
) -> None:
    chance = Random(11)
    seen = []
    for _kill in range(8):
        import_and_die(folder, url, chance.uniform(0.0, 0.4))
        migrate(workspace.database)
        seen.append(rows_of(workspace.database))
    if (folder / "lorebase.db").exists():
        import_governance(workspace)

    nothing: Rows = {name: [] for name in former}
    assert all(rows in (nothing, former) for rows in seen)
    assert rows_of(workspace.database) == former


def test_a_key_that_both_have_given_away_stops_the_import_before_anything_is_copied(
    folder: Path, workspace: Workspace, former: Rows
) -> None:
    migrate(workspace.database)
    world = KnowledgeWorld(workspace.database, folder, worker=1)
    world.item("draft")
    before = rows_of(workspace.database)

    with pytest.raises(ConflictError, match=r"1 key\(s\) name a topic in both databases \(draft\)"):
        import_governance(workspace)

    assert rows_of(workspace.database) == before
    assert (folder / "lorebase.db").exists()
    assert len(former["knowledge_item"]) == 4


def test_topics_of_another_workspace_come_beside_those_that_are_there_and_its_file_stays(
    folder: Path, workspace: Workspace, former: Rows
) -> None:
    migrate(workspace.database)
    world = KnowledgeWorld(workspace.database, folder, worker=1)
    world.governance.tags.add(AUTHOR, "报销")
    other = world.item("other")

    done = import_governance(workspace, folder / "lorebase.db")
    again = import_governance(workspace, folder / "lorebase.db")

    with workspace.database.reading() as connection:
        ids = set(connection.execute(select(items.c.id)).scalars())
    assert ids == {other.id} | {row["id"] for row in former["knowledge_item"]}
    assert done.imported["knowledge_tag"] == 0
    assert done.put_aside is None
    assert set(again.imported.values()) == {0}
    assert (folder / "lorebase.db").exists()


def test_a_file_that_another_process_has_open_is_taken_over_and_stays_in_its_place(
    folder: Path, workspace: Workspace, former: Rows
) -> None:
    holder = sqlite3.connect(folder / "lorebase.db")
    holder.execute("SELECT count(*) FROM knowledge_item").fetchone()

    done = import_governance(workspace)
    holder.close()
    finished = import_governance(workspace)

    assert (done.put_aside, sum(done.imported.values())) == (None, sum(map(len, former.values())))
    assert set(finished.imported.values()) == {0}
    assert finished.put_aside == str(folder / "lorebase.db.imported")


def test_a_workspace_without_a_database_of_its_own_has_nothing_to_take_over(folder: Path, former: Rows) -> None:
    workspace = Workspace(folder, WorkspaceConfig())

    with pytest.raises(ConfigurationError, match="is the database of this workspace"):
        import_governance(workspace)

    assert workspace.topics_left_behind() is None
    assert rows_of(workspace.database) == former
    workspace.database.close()


@pytest.mark.parametrize(
    ("content", "said"), [(None, "no database file"), (b"rows: 7\n", "no SQLite database"), (b"", "no SQLite")]
)
def test_a_file_that_is_no_database_is_named_and_left_alone(
    folder: Path, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "资料.db"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(NotFoundError, match=said):
        import_governance(Workspace(folder, WorkspaceConfig()), file)

    assert (file.read_bytes() if file.exists() else None) == content


def test_a_database_in_which_nothing_was_ever_governed_is_left_alone(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE other (id INTEGER)")
    made.close()
    database = open_database(f"sqlite:///{file}")

    with pytest.raises(NotFoundError, match="no governed knowledge"):
        import_governance(Workspace(folder, WorkspaceConfig()), file)

    assert inspect(database.engine).get_table_names() == ["other"]
    database.close()
