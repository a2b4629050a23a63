"""What a build shows of itself in the Prefect UI: a progress artifact while it runs, a summary when it has ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from uuid import UUID

from prefect import get_run_logger
from prefect.artifacts import (
    Artifact,
    acreate_markdown_artifact,
    acreate_progress_artifact,
    aupdate_progress_artifact,
)

from lorebase.runs.records import Issue, RecipeRunRecord, StepRunRecord
from lorebase.runs.report import BuildReport

_LOGGER = logging.getLogger("lorebase.flows")
_UPDATE_SECONDS = 1.0
_LONGEST_CALL_SECONDS = 15.0
_EXAMPLES_A_CODE = 3
_CODES_SHOWN = 30
_CELL_CHARS = 300
_MARKDOWN_SIGNS = "\\`*_[]<>|#~"


def progress_key(base_name: str) -> str:
    """Key of a knowledge base's progress artifact; a slug is always a key."""
    return f"{base_name}-progress"


def summary_key(base_name: str) -> str:
    """Key of a knowledge base's summary artifact: of the base, so that its builds are versions of one artifact."""
    return f"{base_name}-summary"


def report_key(base_name: str) -> str:
    """Key of a knowledge base's report artifact: the same as the summary, for programs."""
    return f"{base_name}-report"


class PrefectProgress:
    """Shows a build in the flow run that it is made and told in. Trouble in showing never troubles the build.

    Args:
        base_name: The knowledge base.
        monotonic: Seconds that only grow.
    """

    def __init__(self, base_name: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._base_name = base_name
        self._monotonic = monotonic
        self._artifact_id: UUID | None = None
        self._share_of_step: dict[str, float] = {}
        self._items_of_step: dict[str, int] = {}
        self._last_update = float("-inf")
        self._last_shown = -1.0

    async def build_started(self, base_name: str, run_id: str, steps: tuple[str, ...]) -> None:
        """Create the progress artifact."""
        self._share_of_step = dict.fromkeys(steps, 0.0)
        description = f"Build {run_id} of {base_name}"

        async def create() -> None:
            self._artifact_id = await acreate_progress_artifact(
                0.0, key=progress_key(base_name), description=description
            )

        await _shown(create)

    async def scanned(self, documents: int, size_bytes: int) -> None:
        """Log what the sources hold."""
        get_run_logger().info("%s: %d documents, %d bytes", self._base_name, documents, size_bytes)

    async def step_started(self, record: StepRunRecord, items: int, task_runs: int) -> None:
        """Remember how much lies before a step."""
        self._items_of_step[record.step_name] = items
        get_run_logger().info("%s: %d items in %d task runs: %s", record.step_name, items, task_runs, record.reason)

    async def step_advanced(self, step_name: str, items: int) -> None:
        """Move the bar, at most once a second."""
        expected = self._items_of_step.get(step_name, 0)
        if expected:
            share = self._share_of_step.get(step_name, 0.0) + items / expected
            self._share_of_step[step_name] = min(share, 1.0)
        await self._update()

    async def step_ended(self, record: StepRunRecord) -> None:
        """Count the step as a whole, where it came to its result."""
        if record.status in {"succeeded", "skipped"}:
            self._share_of_step[record.step_name] = 1.0
        if record.error is not None:
            get_run_logger().error("%s: %s: %s", record.step_name, record.error.code, record.error.message)
        await self._update()

    async def build_ended(self, record: RecipeRunRecord) -> None:
        """Bring the bar to its end, and write the summary for people and the report for programs."""
        await self._update(last=True)

        async def create() -> None:
            await acreate_markdown_artifact(
                summary_markdown(record),
                key=summary_key(record.base_name),
                description=f"Build {record.run_id} of {record.base_name}: {record.status}",
            )
            await Artifact(
                type="json",
                key=report_key(record.base_name),
                description=f"Report of build {record.run_id} of {record.base_name}, for programs",
                data=BuildReport.of(record).model_dump(mode="json"),
            ).acreate()

        await _shown(create)

    async def _update(self, *, last: bool = False) -> None:
        artifact_id, now = self._artifact_id, self._monotonic()
        share = sum(self._share_of_step.values()) / max(len(self._share_of_step), 1)
        percent = round(100 * share, 1)
        if artifact_id is None or percent == self._last_shown:
            return
        if not last and now - self._last_update < _UPDATE_SECONDS:
            return
        self._last_update, self._last_shown = now, percent

        async def update() -> None:
            await aupdate_progress_artifact(artifact_id, percent)

        await _shown(update)


async def _shown(show: Callable[[], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(_LONGEST_CALL_SECONDS):
            await show()
    except Exception as error:  # noqa: BLE001 (whatever Prefect's server does, the build itself goes on)
        _LOGGER.warning("Prefect did not take an artifact: %s: %s", type(error).__name__, error)


def summary_markdown(record: RecipeRunRecord) -> str:
    """A build's record for people: what it can serve, each step, its issues, what to do next."""
    parts = [
        f"# {record.base_name}: {record.status}",
        _facts(record),
        "## Capabilities\n\n" + _capabilities(record),
        "## Steps\n\n" + _steps(record.step_records),
    ]
    if record.issues_by_code:
        parts.append("## Issues\n\n" + _issues(record))
    parts.append("## What to do next\n\n" + _next(record))
    return "\n\n".join(parts) + "\n"


def _facts(record: RecipeRunRecord) -> str:
    lines = [f"Run `{record.run_id}`, begun {record.started_at:%Y-%m-%d %H:%M:%S} UTC"]
    if record.finished_at is not None:
        lines[0] += f", took {(record.finished_at - record.started_at).total_seconds():.1f} s"
    if record.snapshot_id:
        lines.append(f"Live snapshot: `{record.snapshot_id}`")
    if record.error is not None:
        lines.append(f"**{record.error.code}**: {_escaped(record.error.message)}")
    return "  \n".join(lines)


def _capabilities(record: RecipeRunRecord) -> str:
    if record.status != "succeeded":
        return "This build has not changed what is live."
    if not record.capabilities.queries:
        return "This build serves no query mode: its recipe has no index step."
    assets = ", ".join(f"`{asset}`" for asset in record.capabilities.search_assets)
    return "\n".join([*(f"- `{mode}`" for mode in record.capabilities.queries), "", f"Search assets: {assets}"])


def _steps(records: Sequence[StepRunRecord]) -> str:
    rows = []
    for step in records:
        counts = step.counts
        rows.append(
            [
                step.step_name,
                step.status,
                step.error.message if step.error else step.reason,
                counts.documents,
                counts.items,
                counts.rows,
                counts.reused_items + counts.ledger_items,
                f"{step.seconds:.1f}",
                counts.model_calls,
                counts.input_tokens + counts.output_tokens,
                sum(step.issues_by_code.values()),
            ]
        )
    header = [
        "Step",
        "Status",
        "Why",
        "Documents",
        "Items",
        "Rows",
        "Reused",
        "Seconds",
        "Model calls",
        "Tokens",
        "Issues",
    ]
    return _table(header, rows)


def _issues(record: RecipeRunRecord) -> str:
    rows = []
    for code, count in list(record.issues_by_code.items())[:_CODES_SHOWN]:
        examples = [_example(issue) for issue in record.issues if issue.code == code][:_EXAMPLES_A_CODE]
        rows.append([code, count, " / ".join(examples)])
    return _table(["Code", "Count", "Examples"], rows)


def _example(issue: Issue) -> str:
    return f"{issue.subject.name or issue.subject.id}: {issue.message}"


def _next(record: RecipeRunRecord) -> str:
    if record.status == "cancelled":
        return "Build again: it goes on from what is finished."
    if record.status != "succeeded":
        remedy = f"{_escaped(record.error.remedy)} " if record.error and record.error.remedy else ""
        return f"{remedy}Then build again: what is finished stays finished. What was live before is still live."
    lines = []
    if record.issues_by_code:
        lines.append("- Look at the issues above: what they name is not in the knowledge base, or not whole.")
    if record.capabilities.queries:
        lines.append(f'- Ask it: `lorebase search {record.base_name} "..."`')
    lines.append(f"- Everything about this run: `lorebase report {record.base_name}`")
    return "\n".join(lines)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_escaped(str(cell)) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Text as one line that markdown shows as it is."""
    line = " ".join(text.split())
    if len(line) > _CELL_CHARS:
        line = f"{line[: _CELL_CHARS - 1]}…"
    return "".join(f"\\{sign}" if sign in _MARKDOWN_SIGNS else sign for sign in line)
