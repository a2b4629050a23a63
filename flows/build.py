"""The deployable flow that builds a knowledge base from a recipe file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.runtime import flow_run
from pydantic import Field

from flows.compile import BuildSettings, run_build
from lorebase.recipes.loading import load_recipe


class BuildOptions(BuildSettings):
    """Which recipe is built, how, and where."""

    recipe: str = Field(
        title="Recipe", description="Path of the recipe file, as the process that builds sees it.", min_length=1
    )


def _run_name() -> str:
    """What a run is called, such as "build handbook": the recipe's path is among its parameters."""
    options = BuildOptions.model_validate(flow_run.parameters["options"], from_attributes=True)
    return f"build {Path(options.recipe).stem}"


@flow(name="build-knowledge-base", flow_run_name=_run_name)
async def build_knowledge_base(options: BuildOptions) -> dict[str, Any]:
    """Build a knowledge base from a recipe, going on from whatever is finished.

    Args:
        options: Which recipe is built, how, and where.
    """
    recipe = await asyncio.to_thread(load_recipe, Path(options.recipe))
    return await run_build(recipe, options)
