"""Migrating trees and memories inside an object store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.errors import UnavailableError, UsageError
from lorebase.registry.migration.objects import migrate_memory_objects, migrate_tree_objects

OLD = {
    "01_source_truth/制度.md": "员工手册".encode(),
    "02_wiki/deep/card.md": b"# Card\n",
    "03_compiled/vectors.bin": bytes(range(256)),
    "04_memory/said.jsonl": b"{}\n",
}
NEW = {
    "01_source_raw/制度.md": "员工手册".encode(),
    "02_wiki/deep/card.md": b"# Card\n",
    "03_compiled/vectors.bin": bytes(range(256)),
}


class DamagingStore(LocalObjectStore):
    """Loses the last byte of what is written to the new place."""

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        super().put(key, content[:-1] if key.endswith("domain_knowledge/demo/02_wiki/deep/card.md") else content)


class FailingStore(LocalObjectStore):
    """Does not answer at one key, once."""

    failing_key = "domain_knowledge/demo/03_compiled/vectors.bin"

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        if key == self.failing_key:
            self.failing_key = ""
            raise UnavailableError("The store does not answer.", dependency="object store")
        super().put(key, content, durable=durable)


def filled(store: LocalObjectStore, prefix: str = "old/") -> None:
    for path, content in OLD.items():
        store.put(f"{prefix}{path}", content)


def held(store: LocalObjectStore, prefix: str) -> dict[str, bytes]:
    return {key.removeprefix(f"{prefix}/"): store.get(key) for key in store.list(prefix)}


@pytest.mark.parametrize("prefix", ["old", ""])
def test_objects_of_a_tree_move_and_its_memory_moves_by_its_own_migration(tmp_path: Path, prefix: str) -> None:
    """D-061, D-062, D-063, DQ-16."""
    store = LocalObjectStore(tmp_path)
    filled(store, f"{prefix}/" if prefix else "")

    tree = migrate_tree_objects(store, prefix, "demo", agent_prefix="team")
    after_tree = held(store, f"{prefix}/04_memory" if prefix else "04_memory")
    memory = migrate_memory_objects(store, prefix, "demo", agent_prefix="team")

    assert (tree.status, tree.mode, [part.files for part in tree.folders]) == ("moved", "copy", [1, 1, 1])
    assert memory.status == "moved"
    assert after_tree == {"said.jsonl": b"{}\n"}
    assert held(store, "team/domain_knowledge/demo") == NEW
    assert held(store, "team") == {
        **{f"domain_knowledge/demo/{path}": content for path, content in NEW.items()},
        "memory/demo/said.jsonl": b"{}\n",
    }


def test_a_dry_run_changes_no_object(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    filled(store)

    outcome = migrate_tree_objects(store, "old", "demo", apply=False)

    assert (outcome.status, outcome.applied) == ("moved", False)
    assert [(part.name, part.size_bytes) for part in outcome.folders] == [
        ("01_source_truth", 12),
        ("02_wiki", 7),
        ("03_compiled", 256),
    ]
    assert held(store, "old") == OLD
    assert store.list("domain_knowledge") == []


@pytest.mark.parametrize(
    ("added", "status", "reason"),
    [
        ("domain_knowledge/demo/03_compiled/kept", "skipped", "target_occupied"),
        ("domain_knowledge/demo/notes.txt", "failed", "TARGET_NOT_EMPTY"),
        ("old/01_source_raw/a.md", "failed", "LAYOUT_CONFLICT"),
    ],
)
def test_what_stands_in_the_way_is_never_touched(tmp_path: Path, added: str, status: str, reason: str) -> None:
    """DQ-16, DQ-17."""
    store = LocalObjectStore(tmp_path)
    filled(store)
    store.put(added, b"kept")

    outcome = migrate_tree_objects(store, "old", "demo")

    assert (outcome.status, outcome.reason) == (status, reason)
    assert store.get(added) == b"kept"
    assert OLD.items() <= held(store, "old").items()


def test_objects_in_their_place_only_get_the_new_name(tmp_path: Path) -> None:
    """D-060, DQ-16."""
    store = LocalObjectStore(tmp_path)
    filled(store, "domain_knowledge/demo/")

    first, second = (migrate_tree_objects(store, "domain_knowledge/demo", "demo") for _ in range(2))

    assert (first.status, second.reason) == ("moved", "already_in_place")
    assert held(store, "domain_knowledge/demo") == {**NEW, "04_memory/said.jsonl": b"{}\n"}


def test_an_old_prefix_without_a_tree_is_skipped(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    store.put("old/02_wiki/card.md", b"x")

    outcomes = [migrate(store, "old", "demo") for migrate in (migrate_tree_objects, migrate_memory_objects)]

    assert [(outcome.status, outcome.reason) for outcome in outcomes] == [("skipped", "nothing_to_move")] * 2


def test_a_copy_that_differs_is_removed_and_the_originals_stay(tmp_path: Path) -> None:
    """DQ-18."""
    store = DamagingStore(tmp_path)
    filled(store)

    outcome = migrate_tree_objects(store, "old", "demo")

    assert (outcome.status, outcome.reason) == ("failed", "VERIFICATION_FAILED")
    assert held(store, "old") == OLD
    assert store.list("domain_knowledge") == []


def test_a_store_that_does_not_answer_keeps_the_journal_and_the_next_call_goes_on(tmp_path: Path) -> None:
    """DQ-18."""
    store = FailingStore(tmp_path)
    filled(store)

    with pytest.raises(UnavailableError):
        migrate_tree_objects(store, "old", "demo")
    untouched = held(store, "old") == OLD
    foreseen = migrate_tree_objects(store, "old", "demo", apply=False)
    outcome = migrate_tree_objects(store, "old", "demo")

    assert untouched
    assert foreseen.reason == "resumed"
    assert outcome.status == "moved"
    assert held(store, "domain_knowledge/demo") == NEW


def test_an_object_that_changes_after_it_was_verified_is_not_deleted(tmp_path: Path) -> None:
    """DQ-18."""
    store = LocalObjectStore(tmp_path)
    filled(store)

    outcome = migrate_tree_objects(store, "old", "demo", observer=changing(store, "old/02_wiki/deep/card.md"))

    assert (outcome.status, outcome.reason) == ("moved", "source_remains")
    assert outcome.remaining == ("old/02_wiki/deep/card.md",)
    assert store.get("old/02_wiki/deep/card.md") == b"changed"


def changing(store: LocalObjectStore, key: str) -> Callable[[str], None]:
    def observer(change: str) -> None:
        if change == "staged":
            store.put(key, b"changed")

    return observer


def test_a_journal_of_another_prefix_is_not_taken_over(tmp_path: Path) -> None:
    store = FailingStore(tmp_path)
    filled(store)
    with pytest.raises(UnavailableError):
        migrate_tree_objects(store, "old", "demo")

    filled(store, "other/")
    outcome = migrate_tree_objects(store, "other", "demo")

    assert outcome.reason == "OTHER_MIGRATION"
    assert held(store, "other") == OLD


def test_an_id_that_is_a_path_is_refused(tmp_path: Path) -> None:
    """DQ-22."""
    with pytest.raises(UsageError, match="cannot be the id"):
        migrate_tree_objects(LocalObjectStore(tmp_path), "old", "../demo")
