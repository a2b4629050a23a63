"""Migrations over real borders: another file system, a full one, a read-only one, and rights that are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lorebase.registry.migration.local import migrate_tree
from tests.registry.migration.trees import OLD_TREE, make, moved, read

NOBODY = 65534
_OTHER_DISK = Path("/dev/shm")


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own, where this process may mount one."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("this process may not mount file systems")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def without_root() -> Iterator[None]:
    """Rights are checked as for anybody; root passes over them."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder that an ordinary user can reach and write to; pytest's own are their owner's alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=True)
    shutil.rmtree(folder)


def test_a_tree_moves_to_another_file_system(tmp_path: Path) -> None:
    """DQ-18."""
    if not _OTHER_DISK.is_dir() or _OTHER_DISK.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system to write to")
    make(tmp_path / "old", OLD_TREE)
    with tempfile.TemporaryDirectory(dir=_OTHER_DISK) as agent_root:
        outcome = migrate_tree(tmp_path / "old", Path(agent_root), "demo")

        assert (outcome.status, outcome.mode) == ("moved", "copy")
        assert read(Path(agent_root) / "domain_knowledge" / "demo") == moved(OLD_TREE)
        assert sorted(path.name for path in (tmp_path / "old").iterdir()) == ["04_memory"]


def test_a_disk_that_is_too_small_is_refused_before_anything_is_copied(tmp_path: Path) -> None:
    make(tmp_path / "old", {**OLD_TREE, "01_source_truth/big.bin": bytes(1 << 20)})
    before = read(tmp_path / "old")
    with mounted(tmp_path / "disk", "size=256k") as disk:
        outcome = migrate_tree(tmp_path / "old", disk, "demo")

        assert (outcome.status, outcome.reason) == ("failed", "DISK_FULL")
        assert "bytes to copy" in outcome.message
        assert list(disk.iterdir()) == []
    assert read(tmp_path / "old") == before


def test_a_disk_that_fills_up_meanwhile_gets_its_room_back(tmp_path: Path) -> None:
    """DQ-18."""
    make(tmp_path / "old", {**OLD_TREE, "01_source_truth/big.bin": bytes(100 << 10)})
    before = read(tmp_path / "old")
    with mounted(tmp_path / "disk", "size=256k") as disk:

        def fill(change: str) -> None:
            if change == "begun":
                (disk / "filler").write_bytes(bytes(200 << 10))

        outcome = migrate_tree(tmp_path / "old", disk, "demo", observer=fill)

        assert (outcome.status, outcome.reason) == ("failed", "DISK_FULL")
        assert read(disk / "domain_knowledge") == {}
    assert read(tmp_path / "old") == before


def test_a_read_only_target_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "old", OLD_TREE)
    with mounted(tmp_path / "disk", "size=256k,ro") as disk:
        outcomes = [migrate_tree(tmp_path / "old", disk, "demo", apply=apply) for apply in (False, True)]

    assert [(outcome.status, outcome.reason) for outcome in outcomes] == [("failed", "READ_ONLY")] * 2
    assert read(tmp_path / "old") == OLD_TREE


def test_a_source_that_cannot_be_deleted_is_copied_and_what_remains_is_named(tmp_path: Path) -> None:
    """DQ-18."""
    with mounted(tmp_path / "disk", "size=256k") as disk:
        make(disk / "old", {"01_source_raw/a.md": b"a", "02_wiki/b.md": b"b"})
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        outcome = migrate_tree(disk / "old", tmp_path / "agent", "demo")

        assert (outcome.status, outcome.reason) == ("moved", "source_remains")
        assert outcome.remaining == ("01_source_raw/a.md", "02_wiki/b.md")
        assert read(tmp_path / "agent/domain_knowledge/demo") == read(disk / "old")


def test_files_that_cannot_be_read_are_named_where_they_must_be_copied(anybodys: Path) -> None:
    make(anybodys / "old", {"01_source_raw/open.md": b"a", "01_source_raw/closed.md": b"b"})
    (anybodys / "old" / "01_source_raw" / "closed.md").chmod(0o000)

    with without_root():
        outcome = migrate_tree(anybodys / "old", anybodys / "agent", "demo", same_device=lambda *_: False)

    assert (outcome.status, outcome.reason) == ("failed", "UNREADABLE")
    assert "01_source_raw/closed.md" in outcome.message
    assert not (anybodys / "agent").exists()


@pytest.mark.parametrize("renames", [True, False])
def test_a_folder_that_cannot_be_looked_into_is_named(anybodys: Path, renames: bool) -> None:
    make(anybodys / "old", {"01_source_raw/closed/a.md": b"a"})
    (anybodys / "old" / "01_source_raw" / "closed").chmod(0o000)

    with without_root():
        outcome = migrate_tree(anybodys / "old", anybodys / "agent", "demo", same_device=lambda *_: renames)

    assert (outcome.status, outcome.reason) == ("failed", "UNREADABLE")
    assert "01_source_raw/closed" in outcome.message


def test_a_source_that_this_user_may_not_change_is_put_back_whole(anybodys: Path) -> None:
    """DQ-18."""
    make(anybodys / "old", {"01_source_raw/a.md": b"a", "02_wiki/b.md": b"b"})
    (anybodys / "old").chmod(0o555)
    before = read(anybodys / "old")

    with without_root():
        outcome = migrate_tree(anybodys / "old", anybodys / "agent", "demo")

    assert (outcome.status, outcome.reason) == ("failed", "NO_PERMISSION")
    assert read(anybodys / "old") == before
    assert read(anybodys / "agent") == {"domain_knowledge": None}


def test_a_target_that_this_user_may_not_write_to_is_refused(anybodys: Path) -> None:
    make(anybodys / "old", {"01_source_raw/a.md": b"a"})
    (anybodys / "agent").mkdir()
    (anybodys / "agent").chmod(0o555)

    with without_root():
        outcome = migrate_tree(anybodys / "old", anybodys / "agent", "demo")

    assert (outcome.status, outcome.reason) == ("failed", "NO_PERMISSION")
    assert read(anybodys / "agent") == {}
