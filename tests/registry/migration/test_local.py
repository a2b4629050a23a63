"""Migrating trees and memories on local folders: what moves where, and what is refused."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from lorebase.errors import UsageError
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from lorebase.registry.migration.plan import on_same_device
from tests.registry.migration.failing import MODES, NEW_TREE, rename_or_copy
from tests.registry.migration.trees import OLD_TREE, Content, make, memory_of, read


@MODES
def test_a_tree_moves_below_the_agents_root_and_its_memory_stays_behind(tmp_path: Path, renames: bool) -> None:
    """D-061, D-062, DQ-16."""
    make(tmp_path / "old", OLD_TREE)

    outcome = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames))

    assert outcome.status == "moved"
    assert outcome.applied
    assert outcome.mode == ("rename" if renames else "copy")
    assert [(folder.name, folder.new_name, folder.files, folder.size_bytes) for folder in outcome.folders] == [
        ("01_source_truth", "01_source_raw", 4, 30),
        ("02_wiki", "02_wiki", 2, 7),
        ("03_compiled", "03_compiled", 1, 10240),
        ("05_diagnosis", "05_diagnosis", 0, 0),
    ]
    assert read(tmp_path / "agent") == {
        "domain_knowledge": None,
        "domain_knowledge/demo": None,
        **{f"domain_knowledge/demo/{path}": value for path, value in NEW_TREE.items()},
    }
    assert read(tmp_path / "old") == {"04_memory": None, "04_memory/说过的话.jsonl": b"{}\n"}


@MODES
def test_the_old_root_may_be_the_agents_root_itself(tmp_path: Path, renames: bool) -> None:
    """D-061."""
    make(tmp_path, {**OLD_TREE, "notes.txt": b"the user's own"})

    outcome = migrate_tree(tmp_path, tmp_path, "demo", same_device=rename_or_copy(renames))

    assert outcome.status == "moved"
    assert read(tmp_path / "domain_knowledge" / "demo") == NEW_TREE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["04_memory", "domain_knowledge", "notes.txt"]


def test_a_memory_moves_by_its_own_migration(tmp_path: Path) -> None:
    """D-063."""
    make(tmp_path, OLD_TREE)

    outcome = migrate_memory(tmp_path, tmp_path, "demo")

    assert outcome.status == "moved"
    assert read(tmp_path / "memory" / "demo") == memory_of(OLD_TREE)
    assert not (tmp_path / "04_memory").exists()
    assert (tmp_path / "01_source_truth").is_dir()


def test_a_second_migration_has_nothing_to_do(tmp_path: Path) -> None:
    """D-064."""
    make(tmp_path, OLD_TREE)
    migrate_tree(tmp_path, tmp_path, "demo")
    migrate_memory(tmp_path, tmp_path, "demo")
    before = read(tmp_path)

    again = [migrate_tree(tmp_path, tmp_path, "demo"), migrate_memory(tmp_path, tmp_path, "demo")]

    assert [(outcome.status, outcome.reason) for outcome in again] == [("skipped", "nothing_to_move")] * 2
    assert read(tmp_path) == before


@pytest.mark.parametrize("content", [{}, {"02_wiki/card.md": b"x"}, {"notes.txt": b"x"}])
def test_what_is_no_tree_is_left_alone(tmp_path: Path, content: Content) -> None:
    """D-059, D-064."""
    make(tmp_path / "old", content)

    outcome = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo")

    assert (outcome.status, outcome.reason) == ("skipped", "nothing_to_move")
    assert not (tmp_path / "agent").exists()


def test_a_dry_run_says_what_would_move_and_changes_nothing(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)

    outcome = migrate_tree(tmp_path, tmp_path, "demo", apply=False)

    assert (outcome.status, outcome.applied, len(outcome.folders)) == ("moved", False, 4)
    assert read(tmp_path) == OLD_TREE


@MODES
def test_an_empty_shell_at_the_target_is_replaced(tmp_path: Path, renames: bool) -> None:
    """D-017, D-058, DQ-17."""
    make(tmp_path, {**OLD_TREE, "domain_knowledge/demo/02_wiki/drafts": None})

    outcome = migrate_tree(tmp_path, tmp_path, "demo", same_device=rename_or_copy(renames))

    assert outcome.status == "moved"
    assert read(tmp_path / "domain_knowledge" / "demo") == NEW_TREE


def test_a_tree_at_the_target_is_never_touched(tmp_path: Path) -> None:
    """DQ-17."""
    make(tmp_path, {**OLD_TREE, "domain_knowledge/demo/01_source_raw/kept.md": b"kept"})
    before = read(tmp_path)

    outcome = migrate_tree(tmp_path, tmp_path, "demo")

    assert (outcome.status, outcome.reason) == ("skipped", "target_occupied")
    assert read(tmp_path) == before


def test_a_memory_at_the_target_is_never_touched(tmp_path: Path) -> None:
    """DQ-17, D-063."""
    make(tmp_path, {**OLD_TREE, "memory/demo/kept.jsonl": b"kept"})
    before = read(tmp_path)

    outcome = migrate_memory(tmp_path, tmp_path, "demo")

    assert (outcome.status, outcome.reason) == ("skipped", "target_occupied")
    assert read(tmp_path) == before


def test_a_tree_in_its_place_only_gets_the_new_name_of_its_first_folder(tmp_path: Path) -> None:
    """D-060, DQ-16."""
    tree = tmp_path / "domain_knowledge" / "demo"
    make(tree, OLD_TREE)

    first, second = (migrate_tree(tree, tmp_path, "demo") for _ in range(2))

    assert (first.status, first.reason) == ("moved", "renamed_in_place")
    assert (second.status, second.reason) == ("skipped", "already_in_place")
    assert read(tree) == {path.replace("_truth", "_raw"): value for path, value in OLD_TREE.items()}


REFUSED: list[tuple[str, Content, str]] = [
    ("both names of the first folder", {"01_source_raw/a.md": b"a"}, "LAYOUT_CONFLICT"),
    ("both names, both empty", {"01_source_raw": None}, "LAYOUT_CONFLICT"),
    ("a target that is no tree", {"domain_knowledge/demo/notes.txt": b"a"}, "TARGET_NOT_EMPTY"),
    ("cards at the target", {"domain_knowledge/demo/02_wiki/card.md": b"a"}, "TARGET_NOT_EMPTY"),
    ("a leftover without a journal", {"domain_knowledge/demo.partial/02_wiki/a.md": b"a"}, "PARTIAL_LEFTOVER"),
    ("a file for a folder", {"domain_knowledge": b"a"}, "IO_ERROR"),
    ("a link out of the tree", {"02_wiki/out.md": "../notes.txt", "notes.txt": b"a"}, "UNSAFE_LINK"),
    ("a link by the older name", {"02_wiki/raw": "../01_source_truth"}, "UNSAFE_LINK"),
    ("a link out and back by the older name", {"01_source_truth/b": "../01_source_truth/制度.md"}, "UNSAFE_LINK"),
    ("a link out and back", {"02_wiki/raw": "../../old/02_wiki/deep"}, "UNSAFE_LINK"),
    ("a folder that is a relative link", {"05_diagnosis/x": None, "02_wiki/up": "deep/../.."}, "UNSAFE_LINK"),
]


@MODES
@pytest.mark.parametrize(("added", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_move_safely_is_refused_with_its_reason_and_nothing_is_touched(
    tmp_path: Path, added: Content, reason: str, renames: bool
) -> None:
    """D-064, DQ-16, DQ-18."""
    make(tmp_path / "old", {**OLD_TREE, **added})
    before = read(tmp_path)

    outcomes = [
        migrate_tree(tmp_path / "old", tmp_path / "old", "demo", apply=apply, same_device=rename_or_copy(renames))
        for apply in (False, True)
    ]

    assert [(outcome.status, outcome.reason) for outcome in outcomes] == [("failed", reason)] * 2
    assert outcomes[1].remedy
    assert read(tmp_path) == before


def test_absolute_links_into_the_old_tree_are_refused_and_others_are_kept(tmp_path: Path) -> None:
    make(tmp_path / "bad", {"03_compiled/a": b"a", "02_wiki/a": str(tmp_path / "bad" / "03_compiled" / "a")})
    make(tmp_path / "good", {"03_compiled/a": b"a", "02_wiki/a": str(tmp_path / "elsewhere")})

    bad = migrate_tree(tmp_path / "bad", tmp_path / "agent", "bad")
    good = migrate_tree(tmp_path / "good", tmp_path / "agent", "good")

    assert bad.reason == "UNSAFE_LINK"
    assert "02_wiki/a -> " in bad.message
    assert good.status == "moved"
    link = tmp_path / "agent" / "domain_knowledge" / "good" / "02_wiki" / "a"
    assert link.readlink() == tmp_path / "elsewhere"


@MODES
def test_a_socket_is_refused(tmp_path: Path, renames: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "old", OLD_TREE)
    monkeypatch.chdir(tmp_path / "old" / "02_wiki")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")

        outcome = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames))

    assert outcome.reason == "UNSUPPORTED_FILE"
    assert "02_wiki/door" in outcome.message


def test_a_target_inside_of_what_moves_is_refused(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)

    outcome = migrate_tree(tmp_path, tmp_path / "02_wiki" / "deep", "demo")

    assert outcome.reason == "TARGET_INSIDE_SOURCE"
    assert read(tmp_path) == OLD_TREE


def test_rights_and_times_are_copied_too(tmp_path: Path) -> None:
    make(tmp_path / "old", {"01_source_raw/sub/a.md": b"a"})
    (tmp_path / "old/01_source_raw/sub/a.md").chmod(0o640)
    (tmp_path / "old/01_source_raw/sub").chmod(0o550)
    os.utime(tmp_path / "old/01_source_raw/sub", (1_000_000, 1_000_000))

    migrate_tree(tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames=False))
    copied = tmp_path / "agent/domain_knowledge/demo/01_source_raw/sub"

    assert copied.stat().st_mode & 0o777 == 0o550
    assert copied.stat().st_mtime == 1_000_000
    assert (copied / "a.md").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("base_id", ["../x", "a/b", "", "..", "/tmp"])
def test_an_id_that_is_a_path_is_refused_before_anything_is_looked_at(tmp_path: Path, base_id: str) -> None:
    """DQ-22."""
    make(tmp_path, OLD_TREE)

    with pytest.raises(UsageError, match="cannot be the id"):
        migrate_tree(tmp_path, tmp_path, base_id)

    assert read(tmp_path) == OLD_TREE


def test_names_that_are_no_utf_8_move_too(tmp_path: Path) -> None:
    name = os.fsdecode(b"gb-\xd6\xc6.md")
    make(tmp_path / "old", {"01_source_raw": None, f"01_source_raw/{name}": b"a"})

    outcome = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames=False))

    assert outcome.status == "moved"
    assert outcome.model_dump_json()
    assert read(tmp_path / "agent/domain_knowledge/demo/01_source_raw") == {name: b"a"}


def test_devices_are_told_apart_by_where_a_path_would_be_made(tmp_path: Path) -> None:
    assert on_same_device(tmp_path, tmp_path / "not" / "yet" / "there")
    assert not on_same_device(tmp_path, Path("/proc/self"))
