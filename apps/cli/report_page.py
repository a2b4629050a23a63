"""The report of a run as one HTML page: figures, a timeline of the steps, what was computed and reused, issues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape

from apps.cli.html_page import html_page, html_table
from lorebase.runs.budget import in_usd
from lorebase.runs.records import StepRunRecord
from lorebase.runs.report import BuildReport, StepReport

_WIDTH = 1000
_NAMES = 200
_FIGURES = 130
_ROW = 26
_LEAST_BAR = 2.0
_STATUS_COLOURS = {
    "succeeded": "#3d8b4f", "skipped": "#2f97a0", "failed": "#b3492f", "cancelled": "#a8862a", "running": "#2f6db3",
}  # fmt: skip
_OTHER_COLOUR = "#8a94a3"
_COMPUTED, _REUSED, _FAILED = "#2f6db3", "#2f97a0", "#b3492f"
_STYLE = """
.figures { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0; padding: 0; list-style: none; }
.figures li { border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem; }
.figures b { display: block; font-size: 1.3rem; }
svg .axis { stroke: var(--line); }
svg .small { font-size: 10px; fill: var(--quiet); }
td { overflow-wrap: anywhere; }
"""

_Segment = tuple[str, int, str]
"""Name, count and colour of a part of a bar."""


def report_page(report: BuildReport) -> str:
    """The page. Every text of the report is escaped, and the page allows itself neither scripts nor requests."""
    body = [
        *_head(report),
        *_figures(report),
        *_section("Timeline", _timeline(report)),
        *_section("Items", _items(report.steps)),
        *_section("Steps", _step_table(report.steps)),
        *_section("Model calls", _model_table(report)),
        *_section("Issues", _issue_tables(report)),
    ]
    return html_page(f"{report.base_name}: {report.status}", body, style=_STYLE)


def _section(title: str, content: str) -> Iterator[str]:
    if content:
        yield f"<h2>{escape(title)}</h2>"
        yield content


def _head(report: BuildReport) -> Iterator[str]:
    begun = f"Run {report.run_id}, begun {report.started_at:%Y-%m-%d %H:%M:%S} UTC, {_seconds(report.seconds)}"
    yield f'<p class="quiet">{escape(begun)}</p>'
    error = report.record.error
    if error is not None:
        yield f"<p><b>{escape(error.code)}</b> {escape(f'{error.message} {error.remedy}'.rstrip())}</p>"
    if report.queries:
        yield f"<p>Query modes: {escape(', '.join(report.queries))}</p>"


def _figures(report: BuildReport) -> Iterator[str]:
    counts = report.counts
    figures = (
        ("documents", f"{counts.documents:,}"),
        ("chunks", f"{counts.chunks:,}"),
        ("items computed", f"{counts.computed_items:,}"),
        ("items reused", f"{counts.reused_items:,}"),
        ("model calls", f"{counts.model_calls:,}"),
        ("calls from the ledger", f"{counts.cached_calls:,}"),
        ("tokens", f"{counts.input_tokens + counts.output_tokens:,}"),
        ("cost", in_usd(counts.usd) if counts.usd else "none"),
        ("issues", f"{sum(counts.issues_by_code.values()):,}"),
    )
    cells = "".join(f"<li><b>{escape(value)}</b>{escape(name)}</li>" for name, value in figures)
    yield f'<ul class="figures">{cells}</ul>'


def _timeline(report: BuildReport) -> str:
    """A bar a step, from its begin to its end; steps that never began have none."""
    records = report.record.step_records
    span = max([report.seconds, *(_after(report.started_at, record.finished_at) for record in records)], default=0.0)
    if not records or span <= 0:
        return ""
    scale = (_WIDTH - _NAMES - _FIGURES) / span
    height = _ROW * (len(records) + 1)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Timeline of the steps">',
            *(_ticks(span, scale, height)),
            *(_step_bar(record, row, report.started_at, scale) for row, record in enumerate(records)),
            "</svg>",
        ]
    )


def _ticks(span: float, scale: float, height: int) -> Iterator[str]:
    for quarter in range(5):
        seconds = span * quarter / 4
        x = _NAMES + seconds * scale
        yield f'<line class="axis" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height - _ROW + 6}"/>'
        yield f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{height - 6}">{_seconds(seconds)}</text>'


def _step_bar(record: StepRunRecord, row: int, started_at: datetime, scale: float) -> str:
    y = row * _ROW + 4
    name = f'<text x="0" y="{y + 13}">{escape(record.step_name)}</text>'
    if record.started_at is None:
        return f'{name}<text class="small" x="{_NAMES + 4}" y="{y + 13}">{escape(record.status)}</text>'
    x = _NAMES + _after(started_at, record.started_at) * scale
    width = max(record.seconds * scale, _LEAST_BAR)
    colour = _STATUS_COLOURS.get(record.status, _OTHER_COLOUR)
    said = f"{record.status}, {_seconds(record.seconds)}"
    return (
        f"<g><title>{escape(f'{record.step_name}: {said}')}</title>{name}"
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="16" rx="2" fill="{colour}"/>'
        f'<text class="small" x="{x + width + 5:.1f}" y="{y + 12}">{escape(said)}</text></g>'
    )


def _items(steps: Sequence[StepReport]) -> str:
    """A bar a step: items computed, taken from earlier work, failed."""
    rows = [(step.step, _segments(step)) for step in steps]
    most = max((sum(count for _, count, _ in segments) for _, segments in rows), default=0)
    if not most:
        return ""
    scale = (_WIDTH - _NAMES - _FIGURES) / most
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {_ROW * len(rows)}" role="img" aria-label="Items of the steps">',
            *(_item_bar(name, segments, row, scale) for row, (name, segments) in enumerate(rows)),
            "</svg>",
            f'<p class="quiet">{_key("computed", _COMPUTED)} {_key("reused", _REUSED)} {_key("failed", _FAILED)}</p>',
        ]
    )


def _segments(step: StepReport) -> tuple[_Segment, ...]:
    return (
        ("computed", step.computed, _COMPUTED),
        ("reused", step.reused + step.from_ledger, _REUSED),
        ("failed", step.failed, _FAILED),
    )


def _item_bar(name: str, segments: Sequence[_Segment], row: int, scale: float) -> str:
    y, x = row * _ROW + 4, float(_NAMES)
    parts = [f'<text x="0" y="{y + 13}">{escape(name)}</text>']
    for what, count, colour in segments:
        if count:
            width = count * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="16" fill="{colour}">'
                f"<title>{escape(f'{name}: {count:,} {what}')}</title></rect>"
            )
            x += width
    total = sum(count for _, count, _ in segments)
    parts.append(f'<text class="small" x="{x + 5:.1f}" y="{y + 12}">{total:,}</text>')
    return "".join(parts)


def _key(name: str, colour: str) -> str:
    return f'<span style="color:{colour}">&#9632;</span> {escape(name)}'


def _step_table(steps: Sequence[StepReport]) -> str:
    header = ("Step", "Status", "Documents", "Rows", "Computed", "From ledger", "Reused", "Failed", "Seconds", "Why")
    return html_table(
        header,
        (
            (
                step.step,
                step.status,
                *_counted(step.documents, step.rows, step.computed, step.from_ledger, step.reused, step.failed),
                f"{step.seconds:.2f}",
                step.reason,
            )
            for step in steps
        ),
    )


def _model_table(report: BuildReport) -> str:
    calling = [step for step in report.steps if step.model_calls or step.cached_calls]
    if not calling:
        return ""
    return html_table(
        ("Step", "Calls", "From the ledger", "Input tokens", "Output tokens", "Cost"),
        (
            (
                step.step,
                *_counted(step.model_calls, step.cached_calls, step.input_tokens, step.output_tokens),
                in_usd(step.usd) if step.usd else "",
            )
            for step in calling
        ),
    )


def _issue_tables(report: BuildReport) -> str:
    by_code = report.counts.issues_by_code
    if not by_code:
        return '<p class="quiet">None.</p>'
    total, shown = sum(by_code.values()), len(report.issues)
    rest = f'<p class="quiet">{shown:,} of {total:,} are listed.</p>' if shown < total else ""
    return "\n".join(
        [
            html_table(("Code", "Count"), ((code, f"{count:,}") for code, count in by_code.items())),
            html_table(
                ("Severity", "Code", "Step", "Subject", "Message"),
                (
                    (issue.severity, issue.code, issue.step, issue.subject.name or issue.subject.id, issue.message)
                    for issue in report.issues
                ),
            ),
            rest,
        ]
    )


def _counted(*counts: int) -> Iterator[str]:
    return (f"{count:,}" if count else "" for count in counts)


def _after(begin: datetime, moment: datetime | None) -> float:
    return max((moment - begin).total_seconds(), 0.0) if moment else 0.0


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"  # noqa: PLR2004 (two minutes read better so)
