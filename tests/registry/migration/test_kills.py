"""Migrations that are killed after any of their changes go on from their journals, and lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from lorebase.registry.migration.objects import migrate_tree_objects
from tests.registry.migration.dying import DyingMigrations
from tests.registry.migration.trees import OLD_TREE, Content, make, memory_of, moved, read

KILLED = -9


@pytest.fixture(scope="module")
def dying() -> Iterator[DyingMigrations]:
    with DyingMigrations() as processes:
        yield processes


def nothing_is_lost(source: Path, target: Path, expected: Content) -> bool:
    """Every file's bytes are in the old place, in the new one, or in what is gathered beside it."""
    places = [read(source), read(target), read(target.with_name(f"{target.name}.partial"))]
    held = [value for place in places for value in place.values()]
    return all(value in held for value in expected.values() if isinstance(value, bytes))


@pytest.mark.parametrize(("renames", "least_kills"), [(True, 7), (False, 25)])
def test_a_tree_whose_move_is_killed_after_any_change_arrives_whole(
    tmp_path: Path, dying: DyingMigrations, renames: bool, least_kills: int
) -> None:
    """D-061, D-062, DQ-18."""
    kills = 0
    while True:
        source, agent_root = tmp_path / f"old{kills}", tmp_path / f"agent{kills}"
        target = agent_root / "domain_knowledge" / "demo"
        make(source, OLD_TREE)
        code = dying.exit_code("tree", source, agent_root, changes=kills + 1, renames=renames)
        if code == 0:
            break
        kills += 1
        safe = nothing_is_lost(source, target, moved(OLD_TREE))

        outcome = migrate_tree(source, agent_root, "demo", same_device=lambda *_: renames)

        assert code == KILLED
        assert safe, kills
        assert outcome.status in {"moved", "skipped"}, outcome
        assert read(target) == moved(OLD_TREE), kills
        assert read(source) == {path: value for path, value in OLD_TREE.items() if path.startswith("04_memory")}
        assert [path.name for path in target.parent.iterdir()] == ["demo"]
    assert kills >= least_kills


@pytest.mark.parametrize("renames", [True, False])
def test_a_migration_that_is_killed_again_and_again_ends_all_the_same(
    tmp_path: Path, dying: DyingMigrations, renames: bool
) -> None:
    """DQ-18."""
    source, agent_root = tmp_path / "old", tmp_path / "agent"
    make(source, OLD_TREE)
    codes = []

    # The first change of every attempt may be one that is there already, so that each gets one change further.
    for changes in range(1, 40):
        codes.append(dying.exit_code("tree", source, agent_root, changes=changes, renames=renames))
        if codes[-1] != KILLED:
            break

    assert codes.count(KILLED) >= 3
    assert codes[-1] == 0
    assert read(agent_root / "domain_knowledge" / "demo") == moved(OLD_TREE)


@pytest.mark.parametrize("renames", [True, False])
def test_a_memory_whose_move_is_killed_after_any_change_arrives_whole(
    tmp_path: Path, dying: DyingMigrations, renames: bool
) -> None:
    """D-063."""
    kills = 0
    while True:
        source, agent_root = tmp_path / f"old{kills}", tmp_path / f"agent{kills}"
        make(source, OLD_TREE)
        if dying.exit_code("memory", source, agent_root, changes=kills + 1, renames=renames) == 0:
            break
        kills += 1

        migrate_memory(source, agent_root, "demo", same_device=lambda *_: renames)

        assert read(agent_root / "memory" / "demo") == memory_of(OLD_TREE)
        assert not (source / "04_memory").exists()
        assert (source / "01_source_truth").exists()
    assert kills >= 4


def test_objects_whose_move_is_killed_after_any_change_arrive_whole(tmp_path: Path, dying: DyingMigrations) -> None:
    """D-061, DQ-18 for object stores."""
    files = {path: value for path, value in OLD_TREE.items() if isinstance(value, bytes)}
    kills = 0
    while True:
        store = LocalObjectStore(tmp_path / f"store{kills}")
        for path, content in files.items():
            store.put(f"old/{path}", content)
        if dying.exit_code("objects", Path("old"), tmp_path / f"store{kills}", changes=kills + 1) == 0:
            break
        kills += 1

        migrate_tree_objects(store, "old", "demo")

        there = {key.removeprefix("domain_knowledge/demo/"): store.get(key) for key in store.list("domain_knowledge")}
        assert there == moved(files)
        assert store.list("old") == ["old/04_memory/说过的话.jsonl"]
    assert kills >= 10
