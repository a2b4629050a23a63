"""A rebuild as people see it in Prefect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lorebase.registered_bases import open_bases
from lorebase.registry.base_changes import BaseChange
from lorebase.registry.record import RecipeReference
from lorebase.workspace import Workspace
from tests.flows.conftest import FULL_TEXT, PrefectServer, Project


async def test_a_rebuild_shows_its_steps_and_returns_its_layers(prefect: PrefectServer, project: Project) -> None:
    """X-08: who publishes decides what is seen."""
    from flows.rebuild_knowledge import RebuildOptions, rebuild_knowledge

    recipe = Path(project.recipe(FULL_TEXT.format(name="rebuilt")))
    reference = RecipeReference(path=str(recipe))
    open_bases(Workspace.load(project.workspace)).create("rebuilt", BaseChange(recipe=reference))

    async def act() -> Any:
        options = RebuildOptions(base="rebuilt", workspace=str(project.workspace))
        return await rebuild_knowledge(options, return_state=True)

    state = await prefect.run(act)

    report = await state.result()
    runs = prefect.task_runs(state, 4)
    assert set(runs) == {"parse_documents", "classify_documents", "split_documents", "index_full_text"}
    assert prefect.flow_run(state)["name"] == "rebuild rebuilt"
    assert (report["status"], report["published"]) == ("succeeded", True)
    assert [layer["layer"] for layer in report["layers"]] == ["source", "classification", "extraction", "compiled"]
