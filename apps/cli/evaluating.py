"""`lorebase eval`: asks the questions of a data set and says how well they were answered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel

from apps.cli import exit_codes
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, BaseName, WorkspaceFolder

if TYPE_CHECKING:
    from rich.console import Console

    from lorebase.evaluation.comparison import MetricChange
    from lorebase.evaluation.gates import GateCheck
    from lorebase.evaluation.model import EvaluationResult
    from lorebase.workspace import Workspace

_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """What is evaluated, and against what.

    Attributes:
        name: The base.
        data_set: File or folder of the questions.
        mode: Query mode.
        top_k: Results of each query.
        split: Which qrels of a BEIR folder.
        gate: File with floors, or a saved evaluation.
        tolerance: How far below a saved evaluation is still enough.
        compared: A saved evaluation to compare with.
    """

    name: str
    data_set: Path
    mode: str
    top_k: int
    split: str = "test"
    gate: Path | None = None
    tolerance: float = 0.01
    compared: Path | None = None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation with what it was held against."""

    result: EvaluationResult
    checks: tuple[GateCheck, ...]
    changes: tuple[MetricChange, ...]

    @property
    def is_met(self) -> bool:
        """Whether every floor was reached."""
        return all(check.is_met for check in self.checks)


def evaluate(  # noqa: PLR0917 (Typer: one parameter an option)
    name: BaseName,
    data_set: Annotated[Path, typer.Argument(help="A .jsonl file of questions, a SQuAD .json file, or a BEIR folder.")],
    mode: Annotated[str, typer.Option(help="Query mode.")] = "hybrid_search",
    top_k: Annotated[int, typer.Option("--top-k", help="Results of each query, 1 to 100.")] = 10,
    split: Annotated[str, typer.Option(help="Which qrels of a BEIR folder.")] = "test",
    gate: Annotated[
        Path | None, typer.Option(help="File of floors, or a saved evaluation; exit code 5 where one is not reached.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, max=1, help="How far below a saved evaluation --gate lets a metric fall.")
    ] = 0.01,
    save: Annotated[Path | None, typer.Option(help="Write the evaluation, every question included, as JSON.")] = None,
    compare: Annotated[Path | None, typer.Option(help="A saved evaluation to compare with.")] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Ask every question of a data set and measure what is found: rankings, verdicts, citations, time and cost."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (as in `main`: --help answers at once)
    from lorebase.workspace import Workspace  # noqa: PLC0415 (as above)

    request = EvalRequest(name, data_set, mode, top_k, split, gate, tolerance, compare)
    done = asyncio.run(evaluated(request, Workspace.load(workspace, os.environ)))
    if save is not None:
        save.write_text(done.result.model_dump_json(indent=1), encoding="utf-8")
    if as_json:
        print_json(as_document(done))
    show_evaluation(done, console(stderr=as_json))
    if not done.is_met:
        raise typer.Exit(exit_codes.GATE)


async def evaluated(request: EvalRequest, workspace: Workspace) -> Evaluated:
    """Evaluate, check the gate and compare.

    Raises:
        InvalidDataSetError: The data set has faults or does not fit the base.
        UsageError: The gate or the saved evaluation is none, or of other questions.
        NotFoundError: The base or one of the files does not exist.
    """
    from lorebase.clock import SystemClock  # noqa: PLC0415 (as in `main`: --help answers at once)
    from lorebase.evaluation.comparison import compare  # noqa: PLC0415 (as above)
    from lorebase.evaluation.data_sets import load_data_set  # noqa: PLC0415 (as above)
    from lorebase.evaluation.gates import checks_of, read_gate, read_result  # noqa: PLC0415 (as above)
    from lorebase.evaluation.running import EvaluationSettings  # noqa: PLC0415 (as above)
    from lorebase.evaluation.running import evaluate as run  # noqa: PLC0415 (as above)
    from lorebase.knowledge_base import KnowledgeBase  # noqa: PLC0415 (as above)

    data_set = load_data_set(request.data_set, split=request.split)
    before = read_result(request.compared) if request.compared else None
    async with KnowledgeBase.load(request.name, workspace) as base:
        settings = EvaluationSettings(mode=request.mode, top_k=request.top_k)
        result = await run(base, workspace.object_store, data_set, settings, clock=SystemClock())
    gate = read_gate(request.gate, result, tolerance=request.tolerance) if request.gate else None
    return Evaluated(result, checks_of(gate, result) if gate else (), compare(before, result) if before else ())


def as_document(done: Evaluated) -> dict[str, object]:
    """The JSON of an evaluation: the result, and gate and comparison where there are any."""
    document: dict[str, object] = done.result.model_dump(mode="json")
    if done.checks:
        document["gate"] = {"met": done.is_met, "checks": _dumped(done.checks)}
    if done.changes:
        document["comparison"] = _dumped(done.changes)
    return document


def show_evaluation(done: Evaluated, screen: Console) -> None:
    """A table of the metrics, then time, cost, failed queries and the gate."""
    from rich.table import Table  # noqa: PLC0415 (as in `main`: --help answers at once)
    from rich.text import Text  # noqa: PLC0415 (as above)

    result, changes = done.result, {change.metric: change for change in done.changes}
    floors = {check.metric: check for check in done.checks}
    table = Table(title=f"{result.base_name}, {result.data_set}, {result.mode}", title_justify="left")
    for column in ("metric", "value", "before", "difference (95 %)", "floor"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for metric in dict.fromkeys((*result.metrics, *floors)):
        change, check = changes.get(metric), floors.get(metric)
        value = result.metrics.get(metric)
        table.add_row(
            metric,
            "" if value is None else f"{value:.4f}",
            f"{change.before:.4f}" if change else "",
            f"{change.difference:+.4f} ({change.low:+.4f} to {change.high:+.4f})" if change else "",
            Text(f"{check.floor:.4f}", style="green" if check.is_met else "bold red") if check else "",
        )
    screen.print(table)
    latency, cost = result.latency, result.cost
    screen.print(
        f"{result.questions} questions, {result.answerable_questions} of them answerable, {result.errors} failed. "
        f"Seconds a query: {latency.p50_seconds:.3f} median, {latency.p95_seconds:.3f} p95. "
        f"{cost.model_calls} model calls, {cost.input_tokens + cost.output_tokens} tokens, {cost.usd:.4f} USD.",
        markup=False,
    )
    failed = [outcome for outcome in result.outcomes if outcome.error]
    for outcome in failed[:_ERRORS_SHOWN]:
        screen.print(f"  failed: {outcome.question}: {outcome.error.message if outcome.error else ''}", markup=False)
    if done.checks:
        missed = [str(check) for check in done.checks if not check.is_met]
        screen.print(f"Gate not met: {'; '.join(missed)}." if missed else "Gate met.", markup=False)


def _dumped(values: Sequence[BaseModel]) -> list[dict[str, object]]:
    return [value.model_dump(mode="json") for value in values]
