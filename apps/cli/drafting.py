"""A build of a governed recipe from the command line: what became of every document."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from apps.cli.governed import service_desk
from apps.cli.output import console, print_json
from lorebase.recipes.loading import load_recipe

if TYPE_CHECKING:
    from lorebase.governance.drafting_report import DraftingReport


def is_governed(recipe_file: Path) -> bool:
    """Whether a recipe says `governance: reviewed`.

    Raises:
        InvalidRecipeError: It is no recipe.
        NotFoundError: There is no such file.
    """
    return load_recipe(recipe_file).governance == "reviewed"


def draft_recipe(
    recipe_file: Path, workspace: Path, organ: int, user: str, variables: Mapping[str, str]
) -> DraftingReport:
    """Bring items and drafts up to date with the sources of a recipe with `governance: reviewed`.

    Raises:
        LorebaseError: It could not begin; a document that was refused is in the report instead.
    """
    recipe = load_recipe(recipe_file)

    async def run() -> DraftingReport:
        async with service_desk(workspace, organ, user, dict(variables)) as at:
            return await at.knowledge.drafting.draft(at.caller, recipe, at.knowledge.workspace)

    return asyncio.run(run())


def show_drafting(report: DraftingReport, *, as_json: bool) -> None:
    """Print what a build did: JSON, or a line a document that is not as before."""
    if as_json:
        print_json({**report.model_dump(mode="json"), "counts": report.counts})
        return
    screen = console()
    for document in report.documents:
        if document.action != "UNCHANGED" or document.message:
            line = f"{document.action:>14}  {document.name}  {document.revision_id or ''}  {document.message}"
            screen.print(line.rstrip(), markup=False)
    counts = ", ".join(f"{number} {action}" for action, number in report.counts.items()) or "no documents"
    screen.print(f"{report.base_id}: {counts}.", markup=False)
    for issue in report.issues:
        screen.print(f"{issue.code}: {issue.message}", markup=False, style="dim")
    if report.missing_item_ids:
        screen.print(f"{len(report.missing_item_ids)} items have no document any more; what is live stays live.")
    screen.print("Nothing is visible before a person publishes it (docs/how-to/govern.md).")
