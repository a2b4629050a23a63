"""Migrating the bases of a registry, also of one that an older program wrote."""

from __future__ import annotations

import errno
import json
from datetime import UTC, datetime
from pathlib import Path

from lorebase.clock import SystemClock
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.migration.registered import migrate_registered
from tests.registry.migration.trees import OLD_TREE, make, memory_of, moved, read


class FixedClock(SystemClock):
    def now(self) -> datetime:
        return datetime(2026, 5, 1, tzinfo=UTC)


def old_registry(folder: Path) -> FileRegistryStore:
    """A registry as former versions wrote it: one base with a tree elsewhere, one in its place, one without folders."""
    make(folder / "elsewhere", OLD_TREE)
    make(folder / "home" / "domain_knowledge" / "placed", OLD_TREE)
    bases = [
        {
            "id": "sales",
            "name": "销售",
            "rootDir": str(folder / "elsewhere"),
            "wikiSchemaMode": "strict",
            "wikiTypes": [{"id": "check", "label": "检查点"}],
        },
        {"id": "placed", "name": "Placed"},
        {"id": "empty", "name": "Empty"},
    ]
    path = folder / "home" / "knowledge-bases.json"
    path.write_text(json.dumps({"bases": bases}))
    return FileRegistryStore(path)


def test_trees_and_memories_of_all_bases_move_and_the_registry_forgets_the_old_places(tmp_path: Path) -> None:
    """D-007, D-061, D-063, DQ-15."""
    store, home = old_registry(tmp_path), tmp_path / "home"

    done = migrate_registered(store, home, clock=FixedClock(), default_root=home)
    record = store.read_all().by_id["sales"]

    assert [(outcome.base_id, outcome.what, outcome.reason) for outcome in done.outcomes] == [
        ("empty", "tree", "nothing_to_move"),
        ("empty", "memory", "nothing_to_move"),
        ("placed", "tree", "renamed_in_place"),
        ("placed", "memory", "moved"),
        ("sales", "tree", "moved"),
        ("sales", "memory", "moved"),
    ]
    assert done.repointed == ("sales",)
    assert read(home / "domain_knowledge" / "sales") == moved(OLD_TREE)
    assert read(home / "domain_knowledge" / "placed") == moved(OLD_TREE)
    assert read(home / "memory" / "placed") == memory_of(OLD_TREE)
    assert read(tmp_path / "elsewhere") == {}
    assert record["name"] == "销售"
    assert record["updated_at"] == "2026-05-01T00:00:00Z"
    assert not {"rootDir", "root_dir", "wikiSchemaMode", "wikiTypes"} & record.keys()


def test_a_dry_run_changes_neither_folders_nor_the_registry(tmp_path: Path) -> None:
    store = old_registry(tmp_path)
    before = read(tmp_path)

    done = migrate_registered(store, tmp_path / "home", clock=FixedClock(), apply=False)

    assert [outcome.status for outcome in done.outcomes].count("moved") == 4
    assert done.repointed == ("sales",)
    assert read(tmp_path) == before


def test_another_agent_root_is_named_by_the_record(tmp_path: Path) -> None:
    store, home, agent_root = old_registry(tmp_path), tmp_path / "home", tmp_path / "agent"

    migrate_registered(store, agent_root, clock=FixedClock(), default_root=home, base_id="sales")

    assert store.read_all().by_id["sales"]["root_dir"] == str(agent_root / "domain_knowledge" / "sales")
    assert read(agent_root / "domain_knowledge" / "sales") == moved(OLD_TREE)
    assert (home / "domain_knowledge" / "placed" / "01_source_truth").exists()


def test_a_kill_between_the_move_and_the_record_is_made_good(tmp_path: Path) -> None:
    store, home = old_registry(tmp_path), tmp_path / "home"
    written = (home / "knowledge-bases.json").read_text()
    migrate_registered(store, home, clock=FixedClock(), default_root=home)
    (home / "knowledge-bases.json").write_text(written)

    again = migrate_registered(store, home, clock=FixedClock(), default_root=home, base_id="sales")

    assert [outcome.status for outcome in again.outcomes] == ["skipped", "skipped"]
    assert again.repointed == ("sales",)
    assert "rootDir" not in store.read_all().by_id["sales"]


def test_a_base_whose_tree_could_not_move_keeps_its_place_in_the_registry(tmp_path: Path) -> None:
    """D-064."""
    store, home = old_registry(tmp_path), tmp_path / "home"
    before = (home / "knowledge-bases.json").read_text()

    def fail(change: str) -> None:
        if change == "staged":
            raise OSError(errno.ENOSPC, "full")

    done = migrate_registered(store, home, clock=FixedClock(), base_id="sales", observer=fail)

    assert [(outcome.status, outcome.reason) for outcome in done.outcomes] == [("failed", "DISK_FULL")] * 2
    assert done.repointed == ()
    assert (home / "knowledge-bases.json").read_text() == before
    assert read(tmp_path / "elsewhere") == OLD_TREE
