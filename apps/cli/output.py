"""What the command line prints: JSON alone on stdout where asked for, otherwise text for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lorebase.runs.budget import in_usd

if TYPE_CHECKING:
    from apps.cli.triggering import TriggeredRun
    from lorebase.answering.over_retrieval import AnswerSource
    from lorebase.retrieval.model import QueryResult, SearchResult
    from lorebase.retrieval.provenance import QueryUsage
    from lorebase.runs.report import BuildReport

_ISSUES_SHOWN = 10
_REPORT_COLUMNS = (
    "documents", "rows", "computed", "from ledger", "reused", "failed", "seconds", "calls", "tokens", "usd", "issues",
)  # fmt: skip
_STATUS_STYLE = {"succeeded": "green", "skipped": "cyan", "failed": "bold red", "cancelled": "yellow"}


def print_json(value: BaseModel | dict[str, Any] | Sequence[Any]) -> None:
    """One JSON document on stdout, Chinese as it is."""
    text = TypeAdapter(Any).dump_json(value, indent=2).decode()
    sys.stdout.write(f"{text}\n")


def console(*, stderr: bool = False) -> Console:
    """Where text for people goes. Without a terminal lines are not wrapped, so that CI logs can be searched."""
    screen = Console(stderr=stderr, highlight=False)
    if not screen.is_terminal:
        screen = Console(stderr=stderr, highlight=False, width=200, soft_wrap=True)
    return screen


def show_report(report: BuildReport, screen: Console) -> None:
    """The build report: a line a step, what was unlocked, issues with examples."""
    style = _STATUS_STYLE.get(report.status, "yellow")
    table = Table(title=f"{report.base_name}, run {report.run_id}", title_justify="left", title_style="bold")
    table.add_column("step")
    table.add_column("status")
    for name in _REPORT_COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold")
    for step in report.steps:
        table.add_row(
            step.step,
            Text(step.status, style=_STATUS_STYLE.get(step.status, "")),
            *_figures(
                step.documents,
                step.rows,
                step.computed,
                step.from_ledger,
                step.reused,
                step.failed,
                f"{step.seconds:.2f}",
                step.model_calls,
                step.input_tokens + step.output_tokens,
                f"{step.usd:.4f}" if step.usd else "",
                step.issues,
            ),
            escape(step.reason),
        )
    screen.print(table)
    counts = report.counts
    screen.print(
        f"[{style}]{report.status}[/] in {report.seconds:.1f} s: {counts.documents} documents, {counts.chunks} chunks; "
        f"{counts.computed_items} items computed, {counts.reused_items} reused; "
        f"{counts.model_calls} model calls, {counts.input_tokens + counts.output_tokens} tokens"
        f"{f', {in_usd(counts.usd)}' if counts.usd else ''}."
    )
    if report.queries:
        screen.print(f"Query modes unlocked: {', '.join(report.queries)}.")
    _show_issues(report, screen)
    error = report.record.error
    if error is not None:
        screen.print(Text.assemble(("Error ", "bold red"), f"{error.code}: {error.message} {error.remedy}".rstrip()))


def _figures(*values: float | str) -> Iterable[str]:
    return (str(value) if value else "" for value in values)


def _show_issues(report: BuildReport, screen: Console) -> None:
    if not report.counts.issues_by_code:
        screen.print("No issues.")
        return
    listed = ", ".join(f"{code} {count}" for code, count in report.counts.issues_by_code.items())
    screen.print(Text(f"Issues: {listed}"))
    for issue in report.issues[:_ISSUES_SHOWN]:
        screen.print(Text(f"  {issue.severity} {issue.code} in {issue.step}: {issue.message}"))
    more = sum(report.counts.issues_by_code.values()) - min(len(report.issues), _ISSUES_SHOWN)
    if more > 0:
        screen.print(f"  and {more} more: `lorebase report {report.base_name} {report.run_id} --json` lists them.")


def show_triggered(run: TriggeredRun, screen: Console) -> None:
    """What became of a run that was started over the API."""
    if run.report is not None:
        show_report(run.report, screen)
    screen.print(Text(f"{run.flow_run_name}: {run.outcome} {run.message}".rstrip()))
    screen.print(Text(run.url))


def show_results(found: QueryResult, screen: Console) -> None:
    """Results with where each of them stands."""
    from apps.cli.excerpts import excerpt  # noqa: PLC0415 (its word lists take a moment that --help has not)

    screen.print(Text.assemble(("? ", "bold"), (found.query, "bold"), (f"  ({found.mode})", "dim")))
    if not found.results:
        screen.print("  Nothing found.")
    for result in found.results:
        screen.print(
            Text.assemble(
                (f"  [{result.rank}] ", "bold cyan"), (place_of(result), "cyan"), (f"  {result.score:.3f}", "dim")
            )
        )
        for line in excerpt(result.text, found.query, keep_lines=_lines_above_rows(result)).splitlines():
            screen.print(Text(f"      {line}"))
        for path in result.graph_paths[:1]:
            screen.print(Text(f"      by {path}", style="dim"))
        for search in result.provenance[:1]:
            if search.query != found.query:
                screen.print(Text(f"      by {search.query}", style="dim"))
    if found.usage is not None:
        screen.print(Text(f"  {_models_asked(found.usage)}", style="dim"))


def _models_asked(usage: QueryUsage) -> str:
    """What the models took for a query, in one line."""
    return "; ".join(
        f"{role}: {taken.calls} calls, {taken.cached_calls} kept replies, "
        f"{taken.input_tokens + taken.output_tokens} tokens"
        for role, taken in (("chat", usage.chat), ("rerank", usage.rerank))
        if taken.calls or taken.cached_calls
    )


def place_of(result: SearchResult | AnswerSource) -> str:
    """Where a result stands: file, heading path, page, slide, sheet or rows; then the type of its document."""
    citation = result.citation
    parts = [result.document.name]
    if citation.heading_path:
        parts.append(" > ".join(citation.heading_path))
    if citation.page_label:
        parts.append(f"sheet {citation.page_label}")
    elif citation.page is not None:
        parts.append(f"page {citation.page}")
    if citation.first_row is not None:
        last = citation.last_row
        parts.append(f"row {citation.first_row}" if last == citation.first_row else f"rows {citation.first_row}-{last}")
    if result.document.source_type:
        parts.append(f"a {result.document.source_type}")
    return ", ".join(parts)


def _lines_above_rows(result: SearchResult) -> int:
    """Lines of a table's result that stand above its rows: heading and header."""
    first, last = result.citation.first_row, result.citation.last_row
    if first is None or last is None:
        return 0
    return max(0, len([line for line in result.text.splitlines() if line.strip()]) - (last - first + 1))
