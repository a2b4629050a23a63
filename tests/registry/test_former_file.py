"""A registry that took the place of the file in the workspace's folder: what it says of that, and taking it over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from lorebase.errors import ConfigurationError, NotFoundError
from lorebase.registered_bases import open_bases
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.former_file import import_bases
from lorebase.workspace import Workspace
from lorebase.workspace_config import DatabaseConfig, RegistryConfig, WorkspaceConfig
from tests.governance.conftest import address_on
from tests.registry.opening import counted_up

NAMES = {"handbook": "员工手册", "sales": "Sales"}


@pytest.fixture
def former(tmp_path: Path) -> FileRegistryStore:
    """The file in the folder, with two bases."""
    file = FileRegistryStore(tmp_path / "ws" / "knowledge-bases.json")
    for base_id, name in NAMES.items():
        file.insert(base_id, {"id": base_id, "name": name})
    return file


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", "file"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path, former: FileRegistryStore) -> Iterator[Workspace]:
    """A workspace whose registry is elsewhere since."""
    del former
    if request.param == "file":
        yield Workspace(tmp_path / "ws", WorkspaceConfig(registry=RegistryConfig(file="new/registry.json")))
        return
    with address_on(request.param, tmp_path) as url:
        opened = Workspace(tmp_path / "ws", WorkspaceConfig(database=DatabaseConfig(url=SecretStr(url))))
        yield opened
        opened.database.close()


def test_bases_that_were_left_behind_are_told_with_the_command_that_takes_them_over(workspace: Workspace) -> None:
    listed = open_bases(workspace).list()

    (warning,) = listed.warnings
    assert listed.data == ()
    assert warning.startswith("BASES_LEFT_BEHIND: 2 knowledge base(s) are in ")
    assert "(handbook, sales)" in warning
    assert "`lorebase kb import`" in warning
    assert workspace.left_behind_bases() == ("handbook", "sales")


@pytest.mark.parametrize(
    "act",
    [
        lambda workspace: open_bases(workspace).show("handbook"),
        lambda workspace: open_bases(workspace).create("handbook"),
        lambda workspace: open_bases(workspace).delete("handbook"),
        lambda workspace: workspace.registry_store.change("handbook", counted_up),
        lambda workspace: workspace.registry_store.delete("handbook"),
    ],
)
def test_a_base_that_was_left_behind_is_neither_missing_nor_made_a_second_time(
    workspace: Workspace, act: Callable[[Workspace], object]
) -> None:
    with pytest.raises(ConfigurationError, match=r"'handbook' is still in .*knowledge-bases\.json") as refused:
        act(workspace)

    assert "`lorebase kb import`" in refused.value.remedy
    assert open_bases(workspace).create("new").ok
    assert [base.id for base in open_bases(workspace).list().data] == ["new"]


def test_what_is_imported_is_as_it_was_and_the_file_is_put_aside(
    workspace: Workspace, former: FileRegistryStore
) -> None:
    done = workspace.import_registry()

    listed = open_bases(workspace).list()
    assert (done.data.imported, done.data.there_already, done.warnings) == (("handbook", "sales"), (), ())
    assert {base.id: base.name for base in listed.data} == NAMES
    assert listed.warnings == ()
    assert done.data.put_aside == f"{former.path}.imported"
    assert [base["id"] for base in json.loads(Path(done.data.put_aside).read_text())["bases"]] == list(NAMES)
    assert former.read_all().by_id == {}
    with pytest.raises(NotFoundError, match="no registry file"):
        workspace.import_registry()


def test_an_import_that_was_interrupted_goes_on_and_other_values_of_the_registry_stay(
    workspace: Workspace, former: FileRegistryStore
) -> None:
    former.insert("third", {"id": "third", "name": "old"})
    import_bases(workspace._registry, FileRegistryStore(former.backup), put_aside=False)  # died before "third"
    workspace._registry.insert("third", {"id": "third", "name": "new"})

    done = workspace.import_registry()

    assert (done.data.imported, done.data.there_already) == ((), ("handbook", "sales", "third"))
    assert [warning.split()[0:2] for warning in done.warnings] == [["DIFFERENT_BASE:", "'third'"]]
    assert workspace.registry_store.read_one("third").by_id["third"]["name"] == "new"


def test_a_former_file_that_cannot_be_read_stops_nobody_but_the_import(
    workspace: Workspace, former: FileRegistryStore
) -> None:
    former.path.write_text("{broken")
    former.backup.unlink()

    listed = open_bases(workspace).list()

    assert listed.ok
    assert "cannot be read" in listed.warnings[0]


def test_a_file_that_is_named_is_read_and_left_in_its_place(workspace: Workspace, tmp_path: Path) -> None:
    other = FileRegistryStore(tmp_path / "other.json")
    other.insert("legal", {"id": "legal", "name": "合同"})

    done = workspace.import_registry(other.path)

    assert (done.data.imported, done.data.put_aside) == (("legal",), None)
    assert list(other.read_all().by_id) == ["legal"]
    assert open_bases(workspace).show("legal").data.name == "合同"


@pytest.mark.parametrize("with_database", [False, True])
def test_a_configured_registry_file_is_the_registry_even_where_there_is_a_database(
    tmp_path: Path, with_database: bool
) -> None:
    """D-011."""
    elsewhere = tmp_path / "shared" / "知识库.json"
    database = DatabaseConfig(url=SecretStr(f"sqlite:///{tmp_path / 'governed.db'}")) if with_database else None
    config = WorkspaceConfig(registry=RegistryConfig(file=str(elsewhere)), database=database)

    open_bases(Workspace(tmp_path / "ws", config)).create("handbook")

    assert list(FileRegistryStore(elsewhere).read_all().by_id) == ["handbook"]
    assert open_bases(Workspace(tmp_path / "another", config)).show("handbook").ok
    assert not (tmp_path / "governed.db").exists()


def test_the_registry_is_not_imported_into_itself(tmp_path: Path, former: FileRegistryStore) -> None:
    workspace = Workspace(tmp_path / "ws", WorkspaceConfig(registry=RegistryConfig(file="./knowledge-bases.json")))

    with pytest.raises(ConfigurationError, match="is the registry of this workspace"):
        workspace.import_registry()

    assert list(former.read_all().by_id) == list(NAMES)
    assert workspace.former_registry is None
