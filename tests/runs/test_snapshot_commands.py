"""History, rollback, cleaning and forgetting from the command line, over the embedded Milvus."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from apps.cli.main import app
from lorebase.errors import NotFoundError, UsageError
from lorebase.runs.records import RecipeRunRecord
from lorebase.workspace import Workspace
from tests.runs.snapshot_checks import GARDEN, HARBOUR, assert_everything_is_whole, build_of, live_id, names_found

FULL_TEXT = "name: demo\nsources: [{folder: documents}]\npartitions: 2\nprocedures: [{use: full_text_index}]\n"


async def built_twice(folder: Path) -> list[RecipeRunRecord]:
    workspace = Workspace(folder / "ws")
    return [
        await build_of(folder, workspace, {"harbour.md": HARBOUR}, FULL_TEXT),
        await build_of(
            folder, workspace, {"harbour.md": HARBOUR.replace("oil", "tallow"), "garden.md": GARDEN}, FULL_TEXT
        ),
    ]


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--workspace", str(folder / "ws")])


async def found(folder: Path, query: str) -> set[str]:
    workspace = Workspace(folder / "ws")
    try:
        return await names_found(workspace, query)
    finally:
        await workspace.index_store.close()


async def test_rollback_and_history_show_the_state_that_searches_see(tmp_path: Path) -> None:
    first, second = await built_twice(tmp_path)

    rolled_back = run_outside_loop(tmp_path, "rollback", "demo", "--to", first.run_id, "--json")
    again = run_outside_loop(tmp_path, "rollback", "demo", "--to", first.run_id)
    history = run_outside_loop(tmp_path, "history", "demo", "--json")
    lines = run_outside_loop(tmp_path, "history", "demo").stdout

    assert json.loads(rolled_back.stdout)["moved"] is True
    assert (again.exit_code, "is live already" in again.stdout) == (0, True)
    shown = json.loads(history.stdout)
    assert shown["live"] == first.run_id
    assert [line["snapshot_id"] for line in shown["snapshots"]] == [second.run_id, first.run_id]
    assert shown["snapshots"][0]["changes"]["documents_changed"] == 1
    assert [move["cause"] for move in shown["moves"]] == ["rollback", "build", "build"]
    assert f"* live  {first.run_id}" in lines
    assert await found(tmp_path, "beans") == set()
    assert await found(tmp_path, "whale oil") == {"harbour.md"}


async def test_gc_promises_then_frees_and_the_rest_stays_searchable(tmp_path: Path) -> None:
    _, second = await built_twice(tmp_path)

    promised = run_outside_loop(tmp_path, "gc", "demo", "--keep", "1")
    done = json.loads(run_outside_loop(tmp_path, "gc", "demo", "--keep", "1", "--apply", "--json").stdout)

    assert "Nothing was removed: add --apply" in promised.stdout
    assert done["kept_snapshots"] == [second.run_id]
    assert done["index"] == [{"collection": "text", "entities": 2, "dropped": False}]
    assert done["freed_bytes"] > 0
    assert_everything_is_whole(Workspace(tmp_path / "ws"))
    assert await found(tmp_path, "beans tallow") == {"garden.md", "harbour.md"}
    assert (
        await build_of(tmp_path, Workspace(tmp_path / "ws"), {"garden.md": GARDEN}, FULL_TEXT)
    ).status == "succeeded"


async def test_forget_removes_and_warns_of_what_the_source_still_holds(tmp_path: Path) -> None:
    _, second = await built_twice(tmp_path)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(FULL_TEXT, encoding="utf-8")

    first_time = run_outside_loop(tmp_path, "forget", "demo", "garden.md", "--recipe", str(recipe))
    answer = json.loads(run_outside_loop(tmp_path, "forget", "demo", "garden.md", "--json").stdout)

    assert first_time.exit_code == 0
    assert "Warning: it still lies in its source documents" in first_time.stdout
    assert 'exclude: ["garden.md"]' in first_time.stdout
    assert "found in a search of everything that remains: 0" in first_time.stdout
    assert answer["traces"] == []
    assert live_id(Workspace(tmp_path / "ws")) == f"{second.run_id}.1"
    assert await found(tmp_path, "beans") == set()
    assert await found(tmp_path, "tallow") == {"harbour.md"}


def test_a_base_that_nobody_knows_or_can_name_is_refused_by_every_command(tmp_path: Path) -> None:
    commands = (["history"], ["gc"], ["rollback", "--to", "x"], ["forget"])

    for command, *rest in commands:
        document = ["garden.md"] if command == "forget" else []
        unknown = run(tmp_path, command, "demo", *document, *rest)
        impossible = run(tmp_path, command, "../demo", *document, *rest)

        assert isinstance(unknown.exception, NotFoundError)
        assert isinstance(impossible.exception, UsageError)


def run_outside_loop(folder: Path, *arguments: str) -> Result:
    """The command in a thread: it starts an event loop of its own, as a process would."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, folder, *arguments).result()
