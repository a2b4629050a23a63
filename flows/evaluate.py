"""The deployable flow that evaluates a knowledge base and holds it against a gate."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import acreate_markdown_artifact
from prefect.runtime import flow_run
from pydantic import BaseModel, Field

from flows.events import emit_failed_gate
from flows.workspaces import opened_workspace
from lorebase.clock import SystemClock
from lorebase.evaluation.data_sets import load_data_set
from lorebase.evaluation.gates import DEFAULT_TOLERANCE, GateCheck, checks_of, read_gate, require_met
from lorebase.evaluation.model import EvaluationResult
from lorebase.evaluation.running import EvaluationSettings, evaluate
from lorebase.knowledge_base import KnowledgeBase
from lorebase.workspace import Workspace


class EvaluationOptions(BaseModel):
    """What is evaluated, how, and what it must reach."""

    base: str = Field(title="Knowledge base", description="Its name.", min_length=1)
    data_set: str = Field(
        title="Data set",
        description="A .jsonl file of questions, a SQuAD .json file or a BEIR folder, as the process sees it.",
        min_length=1,
    )
    workspace: str = Field(
        ".lorebase", title="Workspace", description="Its folder, or block:NAME of a saved LorebaseWorkspace block."
    )
    mode: str = Field("hybrid_search", title="Query mode")
    top_k: int = Field(10, ge=1, le=100, title="Results of each query")
    gate: str = Field("", title="Gate", description="File of floors or saved evaluation; empty for none.")
    tolerance: float = Field(
        DEFAULT_TOLERANCE, ge=0, le=1, title="Tolerance", description="How far below a saved evaluation is enough."
    )
    save: str = Field("", title="Save", description="File to write the evaluation to; empty for none.")


def evaluation_key(base_name: str) -> str:
    """Key of a knowledge base's evaluation artifact; its evaluations are versions of one artifact."""
    return f"{base_name}-evaluation"


def _run_name() -> str:
    options = EvaluationOptions.model_validate(flow_run.parameters["options"], from_attributes=True)
    return f"evaluate {options.base}"


@flow(name="evaluate-knowledge-base", flow_run_name=_run_name)
async def evaluate_knowledge_base(options: EvaluationOptions) -> dict[str, Any]:
    """Ask every question of a data set, show the metrics, and fail where the gate is not met.

    Args:
        options: What is evaluated, how, and what it must reach.
    """
    async with opened_workspace(options.workspace) as workspace:
        result = await _result(workspace, options)
    checks = await asyncio.to_thread(_checks, result, options)
    await acreate_markdown_artifact(
        evaluation_markdown(result, checks),
        key=evaluation_key(result.base_name),
        description=f"Evaluation of {result.base_name} with {result.data_set}",
    )
    emit_failed_gate(result.base_name, result.data_set, checks)
    require_met(checks)
    return result.model_dump(mode="json", exclude={"outcomes"})


async def _result(workspace: Workspace, options: EvaluationOptions) -> EvaluationResult:
    data_set = await asyncio.to_thread(load_data_set, Path(options.data_set))
    settings = EvaluationSettings(mode=options.mode, top_k=options.top_k)
    async with KnowledgeBase.load(options.base, workspace) as base:
        return await evaluate(base, workspace.object_store, data_set, settings, clock=SystemClock())


def _checks(result: EvaluationResult, options: EvaluationOptions) -> tuple[GateCheck, ...]:
    """The gate's floors; the evaluation is saved whether or not they are reached."""
    if options.save:
        Path(options.save).write_text(result.model_dump_json(indent=1), encoding="utf-8")
    if not options.gate:
        return ()
    return checks_of(read_gate(Path(options.gate), result, tolerance=options.tolerance), result)


def evaluation_markdown(result: EvaluationResult, checks: tuple[GateCheck, ...]) -> str:
    """The metrics as a table, with the floors of the gate."""
    floors, latency = {check.metric: check for check in checks}, result.latency
    lines = [
        f"## {result.base_name}: {result.data_set}, {result.mode}, {result.top_k} results a query",
        "",
        (
            f"{result.questions} questions, {result.answerable_questions} answerable, {result.errors} failed; "
            f"{latency.p50_seconds:.3f} s a query (p95 {latency.p95_seconds:.3f} s), {result.cost.usd:.4f} USD."
        ),
        "",
        "| metric | value | floor | |",
        "|---|---|---|---|",
    ]
    for metric in dict.fromkeys((*result.metrics, *floors)):
        check, value = floors.get(metric), result.metrics.get(metric)
        shown = "" if value is None else f"{value:.4f}"
        met = ("met" if check.is_met else "**not met**") if check else ""
        lines.append(f"| {metric} | {shown} | {f'{check.floor:.4f}' if check else ''} | {met} |")
    return "\n".join(lines) + "\n"
