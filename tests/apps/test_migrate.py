"""`lorebase migrate` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from apps.cli.main import app
from tests.registry.migration.trees import OLD_TREE, make, memory_of, moved, read


def lorebase(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["migrate", *map(str, arguments)])


def test_without_apply_it_says_what_would_move_where_and_moves_nothing(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)

    done = lorebase("--root", tmp_path)

    assert done.exit_code == 0
    assert "would be moved" in done.stdout
    assert f"default, tree: would be moved: {tmp_path} -> {tmp_path}/domain_knowledge/default" in done.stdout
    assert f"default, memory: would be moved: {tmp_path} -> {tmp_path}/memory/default" in done.stdout
    assert "domain_knowledge/default/01_source_raw" in done.stdout
    assert "10.0 KiB" in done.stdout
    assert "Nothing was moved: add --apply." in done.stdout
    assert read(tmp_path) == OLD_TREE


def test_with_apply_tree_and_memory_move(tmp_path: Path) -> None:
    """D-061, D-063."""
    make(tmp_path / "旧", OLD_TREE)

    done = lorebase("--root", tmp_path / "旧", "--agent-root", tmp_path / "新", "--base", "demo", "--apply")

    assert done.exit_code == 0
    assert "would" not in done.stdout
    assert read(tmp_path / "新" / "domain_knowledge" / "demo") == moved(OLD_TREE)
    assert read(tmp_path / "新" / "memory" / "demo") == memory_of(OLD_TREE)
    assert read(tmp_path / "旧") == {}


def test_json_stands_alone_on_stdout(tmp_path: Path) -> None:
    make(tmp_path, OLD_TREE)

    done = lorebase("--root", tmp_path, "--json")
    found = json.loads(done.stdout)

    assert [(outcome["what"], outcome["status"], outcome["applied"]) for outcome in found["outcomes"]] == [
        ("tree", "moved", False),
        ("memory", "moved", False),
    ]
    assert found["applied"] is False
    assert "would be moved" in done.stderr


def test_a_failure_is_explained_with_its_remedy_and_exits_with_one(tmp_path: Path) -> None:
    """DQ-16."""
    make(tmp_path, {**OLD_TREE, "01_source_raw/a.md": b"a"})
    before = read(tmp_path)

    done = lorebase("--root", tmp_path, "--apply", "--base", "demo")

    assert done.exit_code == 1
    assert "demo, tree: failed (LAYOUT_CONFLICT)" in done.stdout
    assert "Merge them into 01_source_raw by hand" in done.stdout
    kept = {path: value for path, value in before.items() if not path.startswith("04_memory")}
    assert kept.items() <= read(tmp_path).items()


def test_what_was_skipped_exits_with_zero(tmp_path: Path) -> None:
    """DQ-17."""
    make(tmp_path, {**OLD_TREE, "domain_knowledge/default/01_source_raw/a.md": b"a"})

    done = lorebase("--root", tmp_path, "--apply")

    assert done.exit_code == 0
    assert "skipped (target_occupied)" in done.stdout
    assert "Compare both" in done.stdout


def test_an_id_that_is_a_path_is_wrong_usage(tmp_path: Path) -> None:
    """DQ-22."""
    make(tmp_path, OLD_TREE)
    command = [sys.executable, "-m", "apps.cli.main", "migrate", "--root", str(tmp_path), "--base", "../up", "--json"]

    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "USAGE_ERROR"
    assert "Use 1 to 48 of a-z" in done.stderr


def test_without_a_root_the_bases_of_the_registry_move(tmp_path: Path) -> None:
    """D-061."""
    make(tmp_path / "old", OLD_TREE)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    bases = [{"id": "sales", "name": "Sales", "rootDir": str(tmp_path / "old")}]
    (workspace / "knowledge-bases.json").write_text(json.dumps({"bases": bases}))

    foreseen = lorebase("-w", workspace)
    done = lorebase("-w", workspace, "--apply", "--json")
    again = lorebase("-w", workspace)

    assert "The registry would name the new place of sales." in foreseen.stdout
    assert json.loads(done.stdout)["repointed"] == ["sales"]
    assert read(workspace / "domain_knowledge" / "sales") == moved(OLD_TREE)
    assert "already_in_place" in again.stdout


def test_an_empty_registry_has_nothing_to_migrate(tmp_path: Path) -> None:
    done = lorebase("-w", tmp_path)

    assert done.exit_code == 0
    assert "There is no knowledge base to migrate." in done.stdout
