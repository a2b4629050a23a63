"""Building from the command line: through Prefect, with the workspace's own server where none is named, or inline."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apps.cli.output import console
from apps.cli.progress import ConsoleProgress
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import load_recipe
from lorebase.runs.builder import KnowledgeBaseBuilderConfig
from lorebase.runs.report import BuildReport
from lorebase.workspace import Workspace

if TYPE_CHECKING:
    from lorebase.recipes.model import KnowledgeRecipe


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """What the command line was asked for.

    Attributes:
        workspace: Folder of the workspace.
        rebuild: Whether finished work is done again.
        wait_seconds: How long to wait for another build.
        stop_on_error: Whether the first failed step ends the build.
        api_url: Address of a Prefect server; None starts the workspace's own.
    """

    workspace: Path
    rebuild: bool
    wait_seconds: float
    stop_on_error: bool
    api_url: str | None


def build_recipe(
    recipe_file: Path, settings: BuildSettings, *, with_prefect: bool, variables: Mapping[str, str]
) -> BuildReport:
    """Build, show progress, and return the report.

    Raises:
        LorebaseError: The build could not begin; a step that failed is in the report instead.
    """
    recipe = load_recipe(recipe_file)
    recipe.validate()
    workspace = Workspace.load(settings.workspace, variables)
    progress = ConsoleProgress(console(stderr=True))
    with progress.shown():
        return asyncio.run(_build_inline(recipe, settings, workspace, progress))


async def _build_inline(
    recipe: KnowledgeRecipe, settings: BuildSettings, workspace: Workspace, progress: ConsoleProgress
) -> BuildReport:
    base = KnowledgeBase(recipe.name, workspace)
    config = KnowledgeBaseBuilderConfig(
        rebuild=settings.rebuild, wait_seconds=settings.wait_seconds, stop_on_error=settings.stop_on_error
    )
    result = await base.rebuild(recipe, config=config, progress=progress)
    return BuildReport.of(result.record)
