"""Errors, kills and other writers in the middle of a migration on local folders."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from lorebase.errors import ConflictError
from lorebase.registry.migration.journal import locked_journal
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from tests.registry.migration.failing import NEW_TREE, FailingAt, interrupted_at, rename_or_copy
from tests.registry.migration.trees import OLD_TREE, make, memory_of, read


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


def test_two_processes_do_not_migrate_to_one_place_at_once(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)
    (tmp_path / "domain_knowledge").mkdir()

    with (
        locked_journal(tmp_path / "domain_knowledge" / "demo.migration.jsonl"),
        pytest.raises(ConflictError, match="Another process is migrating"),
    ):
        migrate_tree(tmp_path, tmp_path, "demo")

    assert (tmp_path / "01_source_truth").is_dir()
