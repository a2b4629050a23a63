"""Migrating trees and memories on local folders."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from lorebase.errors import ConflictError, UsageError
from lorebase.registry.migration.journal import locked_journal
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from lorebase.registry.migration.plan import on_same_device
from tests.registry.migration.trees import OLD_TREE, Content, make, memory_of, moved, read

NEW_TREE = moved(OLD_TREE)
MODES = pytest.mark.parametrize("renames", [True, False])


class FailingAt:
    """An observer that lets the migration fail after one kind of change, as a disk would."""

    def __init__(self, change: str, number: int) -> None:
        self._change = change
        self._number = number

    def __call__(self, change: str) -> None:
        if change.startswith(self._change):
            raise OSError(self._number, os.strerror(self._number), "somewhere")


def rename_or_copy(renames: bool) -> Callable[[Path, Path], bool]:
    return lambda _old, _new: renames


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


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOSPC, "DISK_FULL"), (errno.EROFS, "READ_ONLY"), (errno.EACCES, "NO_PERMISSION"), (errno.EIO, "IO_ERROR")],
)
@pytest.mark.parametrize(
    ("renames", "change"),
    [
        (True, "begun"),
        (True, "renamed 02_wiki"),
        (True, "renamed 05_diagnosis"),
        (True, "staged"),
        (False, "copied deep/card.md"),
        (False, "verified 05"),
        (False, "staged"),
    ],
)
def test_an_error_before_the_tree_appears_puts_everything_back(
    tmp_path: Path, renames: bool, change: str, number: int, reason: str
) -> None:
    """DQ-18."""
    make(tmp_path / "old", OLD_TREE)
    failing = FailingAt(change, number)

    failed = migrate_tree(
        tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames), observer=failing
    )
    put_back = read(tmp_path)
    again = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames))

    assert (failed.status, failed.reason) == ("failed", reason)
    assert put_back == {
        "old": None,
        **{f"old/{path}": value for path, value in OLD_TREE.items()},
        "agent": None,
        "agent/domain_knowledge": None,
    }
    assert again.status == "moved"


def test_an_error_before_a_memory_appears_in_its_empty_shell_puts_it_back(tmp_path: Path) -> None:
    """D-063, DQ-18."""
    make(tmp_path, {**OLD_TREE, "memory/demo": None})

    failed = migrate_memory(tmp_path, tmp_path, "demo", observer=FailingAt("begun", errno.ENOSPC))
    put_back = (tmp_path / "04_memory").is_dir()
    again = migrate_memory(tmp_path, tmp_path, "demo")

    assert (failed.status, failed.reason) == ("failed", "DISK_FULL")
    assert put_back
    assert again.status == "moved"
    assert read(tmp_path / "memory" / "demo") == memory_of(OLD_TREE)


def test_an_error_after_the_tree_has_appeared_undoes_nothing_and_the_next_call_tidies_up(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)

    failed = migrate_tree(tmp_path, tmp_path, "demo", observer=FailingAt("published", errno.EIO))
    again = migrate_tree(tmp_path, tmp_path, "demo")

    assert failed.reason == "TIDYING_FAILED"
    assert "demo is complete" in failed.message
    assert (again.status, again.folders[0].files) == ("moved", 4)
    assert read(tmp_path / "domain_knowledge" / "demo") == NEW_TREE
    assert [path.name for path in (tmp_path / "domain_knowledge").iterdir()] == ["demo"]


def test_where_the_system_will_not_rename_although_devices_are_equal_it_is_copied(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)
    failing = FailingAt("renamed 02_wiki", errno.EXDEV)

    outcome = migrate_tree(tmp_path, tmp_path, "demo", same_device=rename_or_copy(renames=True), observer=failing)

    assert (outcome.status, outcome.mode) == ("moved", "copy")
    assert read(tmp_path / "domain_knowledge" / "demo") == NEW_TREE


def test_a_kill_while_things_are_put_back_is_not_taken_for_the_end(tmp_path: Path) -> None:
    """DQ-18."""
    make(tmp_path, {**OLD_TREE, "memory/demo": None})

    def fail_then_die(change: str) -> None:
        if change == "staged":
            raise OSError(errno.EIO, "failed")
        if change.startswith("put back"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_memory(tmp_path, tmp_path, "demo", observer=fail_then_die)
    is_back = read(tmp_path / "04_memory") == memory_of(OLD_TREE)
    again = migrate_memory(tmp_path, tmp_path, "demo")

    assert is_back
    assert again.status == "moved"
    assert read(tmp_path / "memory" / "demo") == memory_of(OLD_TREE)


def test_a_file_that_is_written_after_its_copy_was_verified_is_not_deleted(tmp_path: Path) -> None:
    """DQ-18."""
    make(tmp_path / "old", OLD_TREE)

    def write_meanwhile(change: str) -> None:
        if change == "published":
            (tmp_path / "old" / "02_wiki" / "deep" / "card.md").write_bytes(b"# Cord\n")
            (tmp_path / "old" / "02_wiki" / "new.md").write_bytes(b"new")

    outcome = migrate_tree(
        tmp_path / "old",
        tmp_path / "agent",
        "demo",
        same_device=rename_or_copy(renames=False),
        observer=write_meanwhile,
    )

    assert (outcome.status, outcome.reason) == ("moved", "source_remains")
    assert outcome.remaining == ("02_wiki/deep/card.md", "02_wiki/new.md")
    assert read(tmp_path / "old" / "02_wiki") == {"deep": None, "deep/card.md": b"# Cord\n", "new.md": b"new"}
    assert read(tmp_path / "agent" / "domain_knowledge" / "demo") == NEW_TREE


def test_a_copy_that_differs_is_thrown_away_and_the_source_stays(tmp_path: Path) -> None:
    """DQ-18."""
    make(tmp_path / "old", OLD_TREE)
    partial = tmp_path / "agent" / "domain_knowledge" / "demo.partial"

    def damage(change: str) -> None:
        if change == "copied deep/card.md":
            (partial / "02_wiki" / "deep" / "card.md").write_bytes(b"# Cord\n")

    outcome = migrate_tree(
        tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames=False), observer=damage
    )

    assert (outcome.status, outcome.reason) == ("failed", "VERIFICATION_FAILED")
    assert "deep/card.md" in outcome.message
    assert read(tmp_path / "old") == OLD_TREE
    assert list(partial.parent.iterdir()) == []


def test_a_source_that_changes_while_it_is_copied_is_named(tmp_path: Path) -> None:
    make(tmp_path / "old", OLD_TREE)

    def change_source(change: str) -> None:
        if change == "copied deep":
            (tmp_path / "old" / "02_wiki" / "deep" / "card.md").write_bytes(b"other")

    outcome = migrate_tree(
        tmp_path / "old", tmp_path / "agent", "demo", same_device=rename_or_copy(renames=False), observer=change_source
    )

    assert (outcome.status, outcome.reason) == ("failed", "SOURCE_CHANGED")
    assert (tmp_path / "old" / "02_wiki" / "deep" / "card.md").read_bytes() == b"other"


def test_a_folder_that_comes_back_meanwhile_stops_the_move_and_keeps_the_journal(tmp_path: Path) -> None:
    make(tmp_path / "old", OLD_TREE)

    def recreate(change: str) -> None:
        if change == "renamed 02_wiki":
            make(tmp_path / "old", {"02_wiki/fresh.md": b"fresh"})
            raise OSError(errno.EIO, "failed")

    stopped = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo", observer=recreate)
    (tmp_path / "old" / "02_wiki").rename(tmp_path / "aside")
    again = migrate_tree(tmp_path / "old", tmp_path / "agent", "demo")

    assert stopped.reason == "RESTORE_INCOMPLETE"
    assert "02_wiki exist" in stopped.message
    assert again.status == "moved"
    assert read(tmp_path / "agent" / "domain_knowledge" / "demo") == NEW_TREE
    assert read(tmp_path / "aside") == {"fresh.md": b"fresh"}


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


def test_the_journal_of_another_source_is_not_taken_over(tmp_path: Path) -> None:
    make(tmp_path / "one", OLD_TREE)
    make(tmp_path / "two", OLD_TREE)
    with pytest.raises(KeyboardInterrupt):
        migrate_tree(tmp_path / "one", tmp_path / "agent", "demo", observer=interrupted_at("renamed 02_wiki"))

    other = migrate_tree(tmp_path / "two", tmp_path / "agent", "demo")
    foreseen = migrate_tree(tmp_path / "one", tmp_path / "agent", "demo", apply=False)
    own = migrate_tree(tmp_path / "one", tmp_path / "agent", "demo")

    assert other.reason == "OTHER_MIGRATION"
    assert str(tmp_path / "one") in other.message
    assert foreseen.reason == "resumed"
    assert own.status == "moved"
    assert read(tmp_path / "two") == OLD_TREE


def test_a_resumed_copy_replaces_half_written_files_and_drops_what_the_source_no_longer_has(tmp_path: Path) -> None:
    """DQ-18."""
    make(tmp_path / "old", OLD_TREE)
    copying = rename_or_copy(renames=False)
    with pytest.raises(KeyboardInterrupt):
        migrate_tree(
            tmp_path / "old",
            tmp_path / "agent",
            "demo",
            same_device=copying,
            observer=interrupted_at("verified 02_wiki"),
        )
    partial = tmp_path / "agent" / "domain_knowledge" / "demo.partial"
    (partial / "02_wiki" / "deep" / "card.md").write_bytes(b"# C")
    make(partial, {"03_compiled/gone/deeper/x": b"x", "02_wiki/gone": "nowhere"})
    copied_again: list[str] = []

    outcome = migrate_tree(
        tmp_path / "old", tmp_path / "agent", "demo", same_device=copying, observer=copied_again.append
    )

    assert outcome.status == "moved"
    assert read(partial.with_name("demo")) == NEW_TREE
    assert [change for change in copied_again if change.startswith("copied")] == [
        "copied deep/card.md",
        "copied vectors.bin",
        "copied ",
    ]


def interrupted_at(wanted: str) -> Callable[[str], None]:
    def observer(change: str) -> None:
        if change == wanted:
            raise KeyboardInterrupt

    return observer


def test_two_processes_do_not_migrate_to_one_place_at_once(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)
    (tmp_path / "domain_knowledge").mkdir()

    with (
        locked_journal(tmp_path / "domain_knowledge" / "demo.migration.jsonl"),
        pytest.raises(ConflictError, match="Another process is migrating"),
    ):
        migrate_tree(tmp_path, tmp_path, "demo")

    assert (tmp_path / "01_source_truth").is_dir()


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
