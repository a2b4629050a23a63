"""Gates: floors that the metrics of an evaluation must reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lorebase.errors import GateNotMetError, NotFoundError, UsageError
from lorebase.evaluation.model import EvaluationResult

DEFAULT_TOLERANCE = 0.01
_ROUNDING = 1e-9


class Gate(BaseModel):
    """Floors by metric."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    minima: dict[str, float] = Field(min_length=1, description="Least value of each metric, such as recall@5: 0.9.")


class GateCheck(BaseModel):
    """One floor and what was measured; `value` is None where the evaluation has no such metric."""

    model_config = ConfigDict(frozen=True)

    metric: str
    value: float | None
    floor: float

    @property
    def is_met(self) -> bool:
        """Whether the floor was reached."""
        return self.value is not None and self.value >= self.floor - _ROUNDING

    def __str__(self) -> str:
        value = "not measured" if self.value is None else f"{self.value:.4f}"
        return f"{self.metric} is {value}, floor {self.floor:.4f}"


def read_gate(file: Path, result: EvaluationResult, *, tolerance: float = DEFAULT_TOLERANCE) -> Gate:
    """The gate in a file.

    Args:
        file: YAML or JSON with `minima`, or a saved evaluation, whose metrics less `tolerance` are the floors.
        result: What is to be gated; a saved evaluation must be of the same data set, mode and number of results.
        tolerance: At least 0; without meaning for `minima`.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It is neither, or a saved evaluation of something else.
    """
    try:
        content = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no gate {file}.") from error
    if '"outcomes"' in content:
        saved = parse_result(content, file)
        _require_same(saved, result, file)
        return Gate(minima={name: value - tolerance for name, value in saved.metrics.items()})
    try:
        data: Any = yaml.safe_load(content)
        return Gate.model_validate(data)
    except (yaml.YAMLError, ValidationError) as error:
        raise UsageError(
            f"{file} is no gate: {' '.join(str(error).split())}",
            remedy="Write `minima: {recall@5: 0.9}`, or name a file of --save.",
        ) from error


def read_result(file: Path) -> EvaluationResult:
    """A saved evaluation.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It is none.
    """
    try:
        return parse_result(file.read_text(encoding="utf-8"), file)
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no saved evaluation {file}.") from error


def parse_result(content: str, file: Path) -> EvaluationResult:
    """A saved evaluation from its text; `file` names it in errors."""
    try:
        return EvaluationResult.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{file} is no saved evaluation: {place}: {first['msg']}.", remedy="Save one with --save."
        ) from error


def checks_of(gate: Gate, result: EvaluationResult) -> tuple[GateCheck, ...]:
    """Every floor of a gate against an evaluation, in the gate's order."""
    return tuple(
        GateCheck(metric=metric, value=result.metrics.get(metric), floor=floor) for metric, floor in gate.minima.items()
    )


def require_met(checks: tuple[GateCheck, ...]) -> None:
    """End when a floor was not reached.

    Raises:
        GateNotMetError: Names each metric that stayed below, its value and its floor.
    """
    missed = [check for check in checks if not check.is_met]
    if missed:
        raise GateNotMetError(
            f"The gate was not met: {'; '.join(map(str, missed))}.",
            remedy="Look at the outcomes of the questions, or move the floor.",
            missed=[check.model_dump() for check in missed],
        )


def _require_same(saved: EvaluationResult, result: EvaluationResult, file: Path) -> None:
    for what in ("data_set", "mode", "top_k"):
        before, now = getattr(saved, what), getattr(result, what)
        if before != now:
            raise UsageError(
                f"{file} was measured with {what} {before}, this evaluation with {now}.",
                remedy="Save a baseline that was measured the same way.",
            )
