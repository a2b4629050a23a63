"""A build of a governed recipe in a flow run: documents become drafts, and nothing becomes visible."""

from __future__ import annotations

from typing import Any

from flows.governed import OrganOptions, flow_caller, governed_knowledge
from lorebase.governance.context import Capability
from lorebase.recipes.model import KnowledgeRecipe


async def draft_sources(recipe: KnowledgeRecipe, workspace: str, organ_id: int) -> dict[str, Any]:
    """Bring items and drafts up to date with the sources of a recipe.

    Returns:
        How many documents became what.

    Raises:
        GovernedWorkError: It could not be done.
    """
    options = OrganOptions(workspace=workspace, organ_id=organ_id)
    async with governed_knowledge(options) as knowledge:
        caller = flow_caller(options, Capability.EDIT)
        report = await knowledge.drafting.draft(caller, recipe, knowledge.workspace)
    return {
        "base": report.base_id,
        "governance": recipe.governance,
        "documents": report.counts,
        "missing_items": len(report.missing_item_ids),
    }
