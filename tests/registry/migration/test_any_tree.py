"""For every tree: what is migrated arrives byte by byte, and what fails stays where it was."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.registry.migration.journal import JournalRecord, LocalJournal, read_journal
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from tests.registry.migration.trees import Content, make, memory_of, moved, read

NAMES = st.one_of(
    st.sampled_from(["a", "b", "制度.md", "cafe\u0301", "caf\u00e9", "A", ".hidden", "-rf", "*", "a\nb", "é" * 60]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=20).filter(
        lambda name: name not in {".", ".."}
    ),
)
FOLDERS = st.sampled_from(["01_source_truth", "02_wiki", "03_compiled", "04_memory", "05_diagnosis"])
PATHS = st.builds(lambda folder, names: "/".join([folder, *names]), FOLDERS, st.lists(NAMES, min_size=1, max_size=4))
TREES = st.dictionaries(PATHS, st.one_of(st.none(), st.binary(max_size=300)), max_size=12)


def laid_out(root: Path, content: Content) -> Content:
    """Make as much of it as names allow, and read what became of it."""
    make(root, {"03_compiled": None, "04_memory": None})
    for path, value in content.items():
        parents = [root / parent for parent in Path(path).parents]
        if not any(parent.is_file() for parent in parents) and not os.path.lexists(root / path):
            make(root, {path: value})
    return read(root)


@given(content=TREES, renames=st.booleans(), in_place=st.booleans())
@settings(max_examples=20, deadline=None)
def test_any_tree_arrives_with_every_byte(content: Content, renames: bool, in_place: bool) -> None:
    """D-061, D-062, D-063."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "old")
        agent_root = source if in_place else Path(folder, "agent")
        held = laid_out(source, content)

        tree = migrate_tree(source, agent_root, "demo", same_device=lambda *_: renames)
        memory = migrate_memory(source, agent_root, "demo", same_device=lambda *_: renames)

        assert (tree.status, memory.status) == ("moved", "moved")
        assert read(agent_root / "domain_knowledge" / "demo") == moved(held)
        assert read(agent_root / "memory" / "demo") == memory_of(held)
        assert sum(part.files for part in (*tree.folders, *memory.folders)) == sum(map(is_file, held.values()))


def is_file(value: bytes | str | None) -> bool:
    return value is not None


@given(content=TREES, renames=st.booleans(), failing_change=st.integers(1, 12))
@settings(max_examples=20, deadline=None)
def test_a_failure_after_any_change_loses_nothing(content: Content, renames: bool, failing_change: int) -> None:
    """DQ-18."""
    with tempfile.TemporaryDirectory() as folder:
        source, agent_root = Path(folder, "old"), Path(folder, "agent")
        held = laid_out(source, content)
        changes = 0

        def fail_once(_change: str) -> None:
            nonlocal changes
            changes += 1
            if changes == failing_change:
                raise OSError(errno.EIO, "failed")

        try:
            first = migrate_tree(source, agent_root, "demo", same_device=lambda *_: renames, observer=fail_once)
            is_back = first.status != "failed" or first.reason == "TIDYING_FAILED" or read(source) == held
        finally:
            migrate_tree(source, agent_root, "demo", same_device=lambda *_: renames)

        assert is_back
        assert read(agent_root / "domain_knowledge" / "demo") == moved(held)
        assert not (source / "03_compiled").exists()


@given(kept=st.integers(0, 400))
@settings(max_examples=40, deadline=None)
def test_a_record_that_a_kill_cut_off_counts_for_nothing(kept: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.jsonl")
        begun = JournalRecord(
            phase="begun", what="tree", base_id="demo", source="/旧", target="/新", mode="copy", moves=(("a", "b"),)
        )
        staged = begun.model_copy(update={"phase": "staged"})
        write(path, begun)
        whole = path.stat().st_size
        write(path, staged)
        cut = path.read_bytes()[: whole + kept]
        path.write_bytes(cut)

        after_kill = read_journal(path)
        write(path, staged)

        assert after_kill == (staged if len(cut) == whole + len(staged.model_dump_json().encode()) + 2 else begun)
        assert read_journal(path) == staged


def write(path: Path, record: JournalRecord) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        LocalJournal(path, descriptor).write(record)
    finally:
        os.close(descriptor)
