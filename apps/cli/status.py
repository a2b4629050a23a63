"""What is known of a knowledge base: its live snapshot, its runs, and who builds it now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.lease import lease_in_force
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import NotFoundError
from lorebase.governance.base_recipes import governed_elsewhere
from lorebase.runs.journal import RunJournal
from lorebase.runs.report import BuildReport

if TYPE_CHECKING:
    from lorebase.runs.records import RecipeRunRecord
    from lorebase.workspace import Workspace


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunLine(_Frozen):
    """One run in a list."""

    run_id: str
    status: str
    started_at: datetime
    seconds: float
    documents: int
    chunks: int
    issues: int
    snapshot_id: str

    @classmethod
    def of(cls, record: RecipeRunRecord, *, is_building: bool) -> Self:
        """The line of a run; one that runs no more but never ended was interrupted."""
        report = BuildReport.of(record)
        status = "interrupted" if record.status == "running" and not is_building else record.status
        return cls(
            run_id=record.run_id,
            status=status,
            started_at=record.started_at,
            seconds=report.seconds,
            documents=report.counts.documents,
            chunks=report.counts.chunks,
            issues=sum(record.issues_by_code.values()),
            snapshot_id=record.snapshot_id,
        )

    def line(self) -> str:
        """The run as one line of text."""
        return (
            f"{self.run_id}  {self.status:<11} {self.started_at:%Y-%m-%d %H:%M:%S} UTC  {self.seconds:8.1f} s  "
            f"{self.documents:>6} documents  {self.chunks:>7} chunks  {self.issues:>4} issues"
        )


class BaseStatus(_Frozen):
    """What is live and what goes on."""

    name: str
    snapshot_id: str | None
    built_at: datetime | None
    documents: int
    chunks: int
    queries: tuple[str, ...]
    building: bool
    built_by_run: str | None
    building_since: datetime | None
    latest_run: RunLine | None

    def lines(self) -> Iterator[str]:
        """The status as lines of text."""
        if self.snapshot_id is None:
            yield f"{self.name}: nothing is live yet."
        else:
            yield f"{self.name}: snapshot {self.snapshot_id}, built {self.built_at:%Y-%m-%d %H:%M:%S} UTC"
            yield f"  {self.documents} documents, {self.chunks} chunks; query modes: {', '.join(self.queries)}"
        if self.building:
            yield f"  being built by run {self.built_by_run} since {self.building_since:%Y-%m-%d %H:%M:%S} UTC"
        if self.latest_run is not None:
            yield f"  latest run: {self.latest_run.line()}"


def base_status(name: str, workspace: Workspace) -> BaseStatus:
    """The status of a base.

    Raises:
        NotFoundError: The workspace knows neither a snapshot nor a run of it.
    """
    layout, store = BaseLayout(name), workspace.object_store
    snapshot = SnapshotStore(store, layout).live()
    journal = RunJournal(store, layout)
    latest = journal.latest_run_id()
    if snapshot is None and latest is None:
        raise _unknown(name, workspace)
    lease = lease_in_force(store, layout.lease)
    return BaseStatus(
        name=name,
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        built_at=snapshot.created_at if snapshot else None,
        documents=snapshot.documents if snapshot else 0,
        chunks=snapshot.chunks if snapshot else 0,
        queries=snapshot.queries if snapshot else (),
        building=lease is not None,
        built_by_run=lease.holder if lease else None,
        building_since=lease.acquired_at if lease else None,
        latest_run=_line(journal, latest, lease.holder if lease else "") if latest else None,
    )


def run_lines(name: str, workspace: Workspace) -> list[RunLine]:
    """All runs of a base, oldest first.

    Raises:
        NotFoundError: There is none.
    """
    layout = BaseLayout(name)
    journal = RunJournal(workspace.object_store, layout)
    lease = lease_in_force(workspace.object_store, layout.lease)
    lines = [_line(journal, run_id, lease.holder if lease else "") for run_id in journal.run_ids()]
    if not lines:
        raise _unknown(name, workspace)
    return lines


def report_of(name: str, run_id: str, workspace: Workspace) -> BuildReport:
    """The report of a run, or of the latest.

    Raises:
        NotFoundError: There is no such run.
    """
    journal = RunJournal(workspace.object_store, BaseLayout(name))
    wanted = run_id or journal.latest_run_id()
    if wanted is None:
        raise _unknown(name, workspace)
    return BuildReport.of(journal.read(wanted))


def _line(journal: RunJournal, run_id: str, building_run: str) -> RunLine:
    return RunLine.of(journal.read(run_id), is_building=run_id == building_run)


def _unknown(name: str, workspace: Workspace) -> NotFoundError:
    return governed_elsewhere(workspace.object_store, name) or NotFoundError(
        f"The workspace {workspace.folder} knows no knowledge base {name!r}.",
        remedy="Build it with `lorebase build RECIPE`, or name the right --workspace.",
    )


def write_report(report: BuildReport, file: Path) -> None:
    """Write a report as a page that needs nothing but itself.

    Raises:
        UsageError: The file cannot be written.
    """
    from apps.cli.html_page import write_html  # noqa: PLC0415 (only for pages)
    from apps.cli.report_page import report_page  # noqa: PLC0415 (as above)

    write_html(file, report_page(report))
