"""The registry file: backup, newer formats, entries that cannot be used, and when it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock

from lorebase.errors import ConflictError, CorruptObjectError, NewerFormatError, UnavailableError
from lorebase.registry.base_changes import BaseChange
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.service import KnowledgeBases
from tests.registry.opening import counted_up, opened


def test_a_file_that_cannot_be_read_gives_the_backup_with_a_warning(store: FileRegistryStore) -> None:
    """DQ-19."""
    store.insert("a", {"id": "a"})
    store.insert("b", {"id": "b"})
    store.path.write_bytes(store.path.read_bytes()[:40])

    read = store.read_all()

    assert list(read.by_id) == ["a"]
    assert read.warnings[0].startswith("REGISTRY_FROM_BACKUP")


def test_a_good_backup_survives_changes_and_the_unreadable_file_is_put_aside(store: FileRegistryStore) -> None:
    """DQ-19."""
    store.insert("a", {"id": "a"})
    store.insert("b", {"id": "b"})
    store.path.write_text("{broken")

    store.insert("c", {"id": "c"})

    assert list(store.read_all().by_id) == ["a", "c"]
    assert not store.read_all().warnings
    assert [base["id"] for base in json.loads(store.backup.read_text())["bases"]] == ["a"]
    assert store.path.with_name("knowledge-bases.json.unreadable").read_text() == "{broken"


def test_a_missing_file_gives_the_backup(store: FileRegistryStore) -> None:
    store.insert("a", {"id": "a"})
    store.insert("b", {"id": "b"})
    store.path.unlink()

    assert list(store.read_all().by_id) == ["a"]


@pytest.mark.parametrize("content", [b"", b"null", b"7", b'{"bases": {}}', b"\xff\xfe", b"[" * 100_000])
def test_without_a_readable_backup_nothing_is_read_and_nothing_overwritten(
    store: FileRegistryStore, content: bytes
) -> None:
    """DQ-19."""
    store.path.write_bytes(content)

    with pytest.raises(CorruptObjectError, match="no backup"):
        store.read_all()
    with pytest.raises(CorruptObjectError, match="no backup"):
        store.insert("a", {"id": "a"})
    assert store.path.read_bytes() == content


def test_a_registry_of_a_newer_program_is_refused_and_left_alone(store: FileRegistryStore) -> None:
    """DQ-19."""
    store.insert("a", {"id": "a"})
    store.insert("b", {"id": "b"})
    newer = '{"format": 2, "bases": []}'
    store.path.write_text(newer)

    for act in (store.read_all, lambda: store.insert("c", {"id": "c"}), lambda: store.delete("a")):
        with pytest.raises(NewerFormatError, match="format 2"):
            act()
    assert store.path.read_text() == newer


def test_a_list_without_a_format_is_a_registry_of_a_former_version(store: FileRegistryStore) -> None:
    """D-007, D-023, DQ-15."""
    store.path.write_text(
        json.dumps([{"id": "default", "name": "总库", "rootDir": "/kb", "wikiSchemaMode": "strict", "createdAt": ""}])
    )

    shown = opened(store).show("default").data
    store.change("default", counted_up)
    opened(store).update("default", BaseChange(name="新名"))

    assert (shown.name, shown.root_dir, shown.is_default) == ("总库", "/kb", True)
    assert shown.created_at is not None
    assert "wikiSchemaMode" not in store.path.read_text()


@pytest.mark.parametrize("base_id", ["../x", "/etc", "a/b", "a\\b", "..", "", "A", "a\n", "x" * 49, None, 7])
def test_an_entry_whose_id_is_a_path_is_passed_over_and_kept(store: FileRegistryStore, base_id: object) -> None:
    """DQ-22."""
    store.path.write_text(json.dumps({"format": 1, "bases": [{"id": base_id, "name": "kept"}, {"id": "a"}]}))

    read = store.read_all()
    store.insert("b", {"id": "b"})

    assert list(read.by_id) == ["a"]
    assert read.warnings[0].startswith("INVALID_BASE_ID")
    assert {"id": base_id, "name": "kept"} in json.loads(store.path.read_text())["bases"]


def test_another_writer_that_holds_the_file_too_long_is_a_conflict(tmp_path: Path) -> None:
    store = FileRegistryStore(tmp_path / "knowledge-bases.json", lock_seconds=0.05)

    with (
        FileLock(tmp_path / ".knowledge-bases.json.lock"),
        pytest.raises(ConflictError, match="have held the registry"),
    ):
        store.insert("a", {"id": "a"})


def test_readers_wait_for_no_writer(store: FileRegistryStore) -> None:
    store.insert("a", {"id": "a"})

    with FileLock(store.path.with_name(".knowledge-bases.json.lock")):
        assert list(store.read_all().by_id) == ["a"]


class CountingStore(FileRegistryStore):
    """Counts how often the file is read."""

    reads = 0

    def _read(self):
        self.reads += 1
        return super()._read()


def test_five_thousand_bases_are_listed_with_one_read(tmp_path: Path) -> None:
    entries = [{"id": f"base-{number:04}", "name": f"知识库 {number}"} for number in range(4999)]
    path = tmp_path / "knowledge-bases.json"
    path.write_text(json.dumps({"format": 1, "bases": [*entries, {"id": "default"}]}, ensure_ascii=False))
    store = CountingStore(path)
    bases: KnowledgeBases[None, None] = opened(store)

    listed = bases.list()

    assert store.reads == 1
    assert len(listed.data) == 5000
    assert [base.id for base in listed.data[:2]] == ["default", "base-0000"]


def test_a_link_to_a_registry_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "knowledge-bases.json"
    link.symlink_to(tmp_path / "elsewhere" / "registry.json")

    FileRegistryStore(link).insert("a", {"id": "a"})

    assert link.is_symlink()
    assert list(FileRegistryStore(tmp_path / "elsewhere" / "registry.json").read_all().by_id) == ["a"]


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "knowledge-bases.json").mkdir()

    with pytest.raises(UnavailableError, match="cannot be used"):
        FileRegistryStore(tmp_path / "knowledge-bases.json").read_all()
