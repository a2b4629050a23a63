"""What is counted of a build's steps for whoever watches: items, issues, calls, tokens, cost."""

from __future__ import annotations

from lorebase.runs.records import StepRunRecord
from lorebase.tracing import count


def count_step(base_name: str, record: StepRunRecord) -> None:
    """Count what a step has done, once it has ended."""
    counts = record.counts
    facts = {"base": base_name, "step": record.step_name}
    count("lorebase.steps", 1, status=record.status, **facts)
    if record.status == "skipped":
        count("lorebase.items", counts.reused_items, outcome="reused", **facts)
        return
    count("lorebase.items", counts.computed_items, outcome="computed", **facts)
    count("lorebase.items", counts.reused_items + counts.ledger_items, outcome="reused", **facts)
    count("lorebase.items", counts.failed_items + counts.unreadable_items, outcome="failed", **facts)
    count("lorebase.model.calls", counts.model_calls, **facts)
    count("lorebase.model.tokens", counts.input_tokens, direction="input", **facts)
    count("lorebase.model.tokens", counts.output_tokens, direction="output", **facts)
    count("lorebase.model.usd", counts.usd, **facts)
    for code, issues in record.issues_by_code.items():
        count("lorebase.issues", issues, code=code, **facts)
