"""The deployable flow that removes what no kept snapshot of a knowledge base needs."""

from __future__ import annotations

from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import acreate_markdown_artifact
from prefect.runtime import flow_run
from pydantic import BaseModel, Field

from flows.events import emit_cleaned
from flows.workspaces import opened_workspace
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import UsageError
from lorebase.ids import is_slug
from lorebase.runs.cleaning import DEFAULT_KEEP, CleaningReport, clean_up


class RetentionOptions(BaseModel):
    """What is cleaned up, and how much stays."""

    base: str = Field(title="Knowledge base", description="Its name.", min_length=1)
    workspace: str = Field(
        ".lorebase", title="Workspace", description="Its folder, or block:NAME of a saved LorebaseWorkspace block."
    )
    keep: int = Field(
        DEFAULT_KEEP, ge=0, title="Keep", description="Last snapshots that stay, besides the one that is live."
    )
    dry_run: bool = Field(
        default=True, title="Dry run", description="Only say what would be removed; switch off to remove it."
    )


def retention_key(base_name: str) -> str:
    """Key of a knowledge base's retention artifact."""
    return f"{base_name}-retention"


def _run_name() -> str:
    options = RetentionOptions.model_validate(flow_run.parameters["options"], from_attributes=True)
    return f"{'look at' if options.dry_run else 'clean'} {options.base}"


@flow(name="clean-knowledge-base", flow_run_name=_run_name)
async def clean_knowledge_base(options: RetentionOptions) -> dict[str, Any]:
    """Remove old snapshots and what only they need; a dry run says what that would be.

    Args:
        options: What is cleaned up, and how much stays.
    """
    if not is_slug(options.base):
        raise UsageError(f"{options.base!r} is no name of a knowledge base.", remedy="Use a-z, 0-9 and hyphens.")
    async with opened_workspace(options.workspace) as workspace:
        report = await clean_up(workspace, BaseLayout(options.base), keep=options.keep, apply=not options.dry_run)
    get_run_logger().info("%s: %d files, %d bytes", options.base, report.freed_count, report.freed_bytes)
    await acreate_markdown_artifact(
        retention_markdown(report),
        key=retention_key(options.base),
        description=f"What was freed of {options.base}" if report.applied else f"What could be freed of {options.base}",
    )
    if report.applied:
        emit_cleaned(report)
    return report.model_dump(mode="json")


def retention_markdown(report: CleaningReport) -> str:
    """What was freed, or would be, as a table."""
    said = "Freed" if report.applied else "Would free (dry run)"
    lines = [
        f"## {report.name}",
        "",
        f"Keeps {len(report.kept_snapshots)} snapshot(s), removes {len(report.removed_snapshots)}.",
        f"{said}: {report.freed_count:,} files, {report.freed_bytes:,} bytes.",
        "",
        "| kind | files | bytes |",
        "|---|---|---|",
        *(f"| {freed.kind.replace('_', ' ')} | {freed.count:,} | {freed.size_bytes:,} |" for freed in report.freed),
    ]
    lines += [f"| index: {index.collection} | {index.entities:,} | |" for index in report.index]
    return "\n".join(lines) + "\n"
