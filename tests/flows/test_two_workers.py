"""Two bases that are built at once through one Prefect server: `tests/chaos/test_workers.py` does it with workers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import HYBRID, PrefectServer, Project


async def test_two_bases_are_built_at_once_on_one_server(
    prefect: PrefectServer, tmp_path: Path, endpoint: OpenAIServer
) -> None:
    """B-027."""
    from flows.build import BuildOptions, build_knowledge_base

    projects = [Project(tmp_path / name) for name in ("one", "two")]
    for project in projects:
        project.folder.mkdir()
        project.write(heron=f"The heron stands in marsh {project.folder.name}.")
        project.use_endpoint(endpoint.base_url, "any")

    async def both() -> list[Any]:
        chosen = [
            BuildOptions(
                recipe=project.recipe(HYBRID.format(name=f"at-once-{project.folder.name}", embed="")),
                workspace=str(project.workspace),
            )
            for project in projects
        ]
        return list(await asyncio.gather(*(build_knowledge_base(one, return_state=True) for one in chosen)))

    states = await prefect.run(both)

    runs = [prefect.task_runs(state, 5) for state in states]
    assert [state.is_completed() for state in states] == [True, True]
    assert [len(names) for names in runs] == [5, 5]
    assert {state["state_name"] for names in runs for state in names.values()} == {"Completed"}
    assert max(endpoint.stats.seen.values()) == 1
