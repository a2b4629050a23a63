"""The build report: what a run did, in figures that people and programs can use."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict

from lorebase.runs.records import Issue, RecipeRunRecord, StepRunRecord


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StepReport(_Frozen):
    """One step's line of the report. `computed`, `from_ledger` and `reused` count its items."""

    step: str
    status: str
    reason: str
    documents: int
    rows: int
    computed: int
    from_ledger: int
    reused: int
    failed: int
    seconds: float
    task_runs: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    cached_calls: int
    usd: float
    issues: int

    @classmethod
    def of(cls, record: StepRunRecord) -> Self:
        """The line of a step."""
        counts = record.counts
        return cls(
            step=record.step_name,
            status=record.status,
            reason=record.error.message if record.error else record.reason,
            documents=counts.documents,
            rows=counts.rows,
            computed=counts.computed_items,
            from_ledger=counts.ledger_items,
            reused=counts.reused_items,
            failed=counts.failed_items + counts.unreadable_items,
            seconds=round(record.seconds, 3),
            task_runs=counts.task_runs,
            model_calls=counts.model_calls,
            input_tokens=counts.input_tokens,
            output_tokens=counts.output_tokens,
            cached_calls=counts.cached_calls,
            usd=round(counts.usd, 9),
            issues=sum(record.issues_by_code.values()),
        )


class ReportCounts(_Frozen):
    """The figures of a whole run."""

    documents: int
    chunks: int
    issues_by_code: dict[str, int]
    model_calls: int
    input_tokens: int
    output_tokens: int
    cached_calls: int
    usd: float
    computed_items: int
    ledger_items: int
    reused_items: int


class BuildReport(_Frozen):
    """A run record with its figures."""

    base_name: str
    run_id: str
    status: str
    started_at: datetime
    seconds: float
    queries: tuple[str, ...]
    search_assets: tuple[str, ...]
    counts: ReportCounts
    steps: tuple[StepReport, ...]
    issues: tuple[Issue, ...]
    record: RecipeRunRecord

    @classmethod
    def of(cls, record: RecipeRunRecord) -> Self:
        """The report of a run, finished or not."""
        steps = tuple(StepReport.of(step) for step in record.step_records)
        ended = record.finished_at or max(
            (step.finished_at for step in record.step_records if step.finished_at), default=record.started_at
        )
        sources = record.artifacts.get("source_documents")
        chunks = record.artifacts.get("chunks")
        return cls(
            base_name=record.base_name,
            run_id=record.run_id,
            status=record.status,
            started_at=record.started_at,
            seconds=round((ended - record.started_at).total_seconds(), 3),
            queries=record.capabilities.queries,
            search_assets=record.capabilities.search_assets,
            counts=ReportCounts(
                documents=sources.rows if sources else 0,
                chunks=chunks.rows if chunks else 0,
                issues_by_code=record.issues_by_code,
                model_calls=sum(step.model_calls for step in steps),
                input_tokens=sum(step.input_tokens for step in steps),
                output_tokens=sum(step.output_tokens for step in steps),
                cached_calls=sum(step.cached_calls for step in steps),
                usd=round(sum(step.usd for step in steps), 9),
                computed_items=sum(step.computed for step in steps),
                ledger_items=sum(step.from_ledger for step in steps),
                reused_items=sum(step.reused + step.from_ledger for step in steps),
            ),
            steps=steps,
            issues=record.issues,
            record=record,
        )
