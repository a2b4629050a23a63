"""Building from the command line: through Prefect, with the workspace's own server where none is named, or inline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apps.cli.output import console
from apps.cli.progress import ConsoleProgress
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import BuildFailedError
from lorebase.ids import new_run_id
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import load_recipe
from lorebase.runs.builder import KnowledgeBaseBuilderConfig
from lorebase.runs.journal import RunJournal
from lorebase.runs.report import BuildReport
from lorebase.workspace import Workspace

if TYPE_CHECKING:
    from lorebase.recipes.model import KnowledgeRecipe


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What the command line was asked for.

    Attributes:
        recipe_file: The recipe.
        workspace: Folder of the workspace.
        rebuild: Whether finished work is done again.
        wait_seconds: How long to wait for another build.
        stop_on_error: Whether the first failed step ends the build.
        api_url: Address of a Prefect server; None starts the workspace's own.
    """

    recipe_file: Path
    workspace: Path
    rebuild: bool
    wait_seconds: float
    stop_on_error: bool
    api_url: str | None


def build_recipe(request: BuildRequest, *, with_prefect: bool, variables: Mapping[str, str]) -> BuildReport:
    """Build, show progress on stderr, and return the report.

    Raises:
        LorebaseError: The build could not begin; a step that failed is in the report instead.
    """
    recipe = load_recipe(request.recipe_file)
    recipe.validate()
    workspace = Workspace.load(request.workspace, variables)
    progress = ConsoleProgress(console(stderr=True))
    build = _build_with_prefect if with_prefect else _build_inline
    return build(recipe, request, workspace, progress)


def _build_inline(
    recipe: KnowledgeRecipe, request: BuildRequest, workspace: Workspace, progress: ConsoleProgress
) -> BuildReport:
    config = KnowledgeBaseBuilderConfig(
        rebuild=request.rebuild, wait_seconds=request.wait_seconds, stop_on_error=request.stop_on_error
    )
    with progress.shown():
        result = asyncio.run(KnowledgeBase(recipe.name, workspace).rebuild(recipe, config=config, progress=progress))
    return BuildReport.of(result.record)


def _build_with_prefect(
    recipe: KnowledgeRecipe, request: BuildRequest, workspace: Workspace, progress: ConsoleProgress
) -> BuildReport:
    """Run the deployable flow in this process, so that its task runs and artifacts are those of a deployment."""
    screen = console(stderr=True)
    screen.print("Starting Prefect ...")
    # Imported late: the inline build needs none of it.
    from flows.build import BuildOptions, build_knowledge_base  # noqa: PLC0415 (Prefect takes seconds to import)
    from flows.local_server import with_prefect  # noqa: PLC0415 (as above)
    from flows.watching import watched_by  # noqa: PLC0415 (as above)

    run_id = new_run_id(workspace.clock.now(), workspace.random)
    options = BuildOptions(
        recipe=str(request.recipe_file),
        workspace=str(request.workspace),
        mode="rebuild" if request.rebuild else "resume",
        wait_seconds=request.wait_seconds,
        stop_on_error=request.stop_on_error,
        run_id=run_id,
    )

    async def run() -> None:
        await build_knowledge_base(options)

    with prefect_api(request.workspace, request.api_url) as url, progress.shown(), watched_by(progress):
        screen.print(f"Prefect is at {url.removesuffix('/api')}")
        # A failed step is reported below, from the record.
        with suppress(BuildFailedError):
            asyncio.run(with_prefect(url, run, log_level="CRITICAL"))
    return BuildReport.of(RunJournal(workspace.object_store, BaseLayout(recipe.name)).read(run_id))


@contextmanager
def prefect_api(workspace: Path, api_url: str | None) -> Iterator[str]:
    """Address of the API that is configured, otherwise of the workspace's own server."""
    from flows.local_server import workspace_server  # noqa: PLC0415 (see above)

    if api_url:
        yield api_url
        return
    with workspace_server(workspace) as url:
        yield url


def keep_server_open(folder: Path, port: int | None) -> None:
    """Run the workspace's Prefect server until Ctrl-C, printing its address."""
    from flows.local_server import workspace_server  # noqa: PLC0415 (see above)

    with workspace_server(folder, port=port) as url:
        console().print(f"The Prefect UI of {folder} is at {url.removesuffix('/api')}. Ctrl-C ends it.")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            console().print("Closed.")
