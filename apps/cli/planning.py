"""Showing what a build would do, before anything is done or paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lorebase.recipes.loading import load_recipe
from lorebase.registry.base_recipe import with_registered_types
from lorebase.runs.budget import in_usd
from lorebase.runs.builder import KnowledgeBaseBuilderConfig
from lorebase.runs.plan import BuildPlan, StepPlan, plan_build
from lorebase.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

_ACTION_STYLE = {"run": "yellow", "skip": "cyan", "fail": "bold red"}
_COLUMNS = ("to do", "from ledger", "reused", "unreadable", "rows", "calls", "tokens", "usd")


def plan_recipe(recipe_file: Path, workspace: Path, *, rebuild: bool, variables: Mapping[str, str]) -> BuildPlan:
    """The plan of a recipe file.

    Raises:
        LorebaseError: The plan could not be made; what a step would fail with is in the plan instead.
    """
    recipe = load_recipe(recipe_file)
    recipe.validate()
    config = KnowledgeBaseBuilderConfig(rebuild=rebuild)
    opened = Workspace.load(workspace, variables)
    return asyncio.run(plan_build(with_registered_types(recipe, opened), opened, config))


def show_plan(plan: BuildPlan, screen: Console) -> None:
    """A line a step, then what would come, go and be paid."""
    table = Table(title=f"Plan for {plan.base_name}", title_justify="left", title_style="bold")
    table.add_column("step")
    table.add_column("would")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold")
    for step in plan.steps:
        would = Text(step.action.replace("_", " "), style=_ACTION_STYLE.get(step.action, "dim"))
        table.add_row(step.step, would, *_figures(step), escape(step.reason))
    screen.print(table)
    for line in summary_lines(plan):
        screen.print(line, markup=False)
    if plan.error is not None:
        error = plan.error
        screen.print(
            Text.assemble(("Would fail ", "bold red"), f"{error.code}: {error.message} {error.remedy}".rstrip())
        )


def summary_lines(plan: BuildPlan) -> Iterator[str]:
    """The plan in sentences."""
    since = f"since snapshot {plan.live_snapshot_id}" if plan.live_snapshot_id else "nothing is live yet"
    yield f"Sources: {plan.documents} documents; {plan.document_changes} ({since})."
    chunks = plan.chunks
    yield f"Chunks: {chunks.total} in all, {chunks.added} new, {chunks.removed} would leave."
    for step in plan.steps:
        if step.newly_searchable or step.no_longer_searchable:
            yield (
                f"{step.step}: {step.counts.computed_items} to be written, {step.newly_searchable} would become "
                f"searchable, {step.no_longer_searchable} would cease to be."
            )
    totals = plan.totals
    cost = f", {in_usd(totals.usd)}" if plan.is_priced else ""
    yield f"Models: {totals.model_calls} calls, {totals.input_tokens + totals.output_tokens} tokens{cost}."
    if plan.passes_limit is not None:
        yield (
            f"This is more than the budget: the build would stop at {plan.passes_limit} = "
            f"{getattr(plan.budget, plan.passes_limit)}, and go on from there when the budget is raised."
        )
    if plan.issues_by_code:
        yield "Issues: " + ", ".join(f"{code} {count}" for code, count in plan.issues_by_code.items())


def _figures(step: StepPlan) -> Iterator[str]:
    counts = step.counts
    values = (
        counts.computed_items,
        counts.ledger_items,
        counts.reused_items,
        counts.unreadable_items,
        counts.rows,
        counts.model_calls,
        counts.input_tokens + counts.output_tokens,
    )
    yield from (str(value) if value else "" for value in values)
    yield f"{counts.usd:.4f}" if counts.usd else ""
