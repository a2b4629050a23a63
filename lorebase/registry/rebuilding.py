"""What a rebuild of a base has left, layer by layer, with every warning word for word."""

from __future__ import annotations

from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field

from lorebase.registry.base_recipe import LAYERS, layer_of
from lorebase.runs.records import Issue, RecipeRunRecord, RunStatus, StepRunRecord

_UNAVAILABLE: Final = {
    "EXTRACTION_": "model extraction unavailable",
    "CLASSIFICATION_": "model classification unavailable",
}
"""What begins the sentence about a model that did not answer, by the beginning of an issue's code."""
_LAYERS_OF_MODELS: Final = {
    "extraction": "model extraction unavailable",
    "classification": "model classification unavailable",
    "cards": "model extraction unavailable",
}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LayerResult(_Frozen):
    """What a rebuild has written in one layer, and nowhere else."""

    layer: str
    steps: dict[str, str] = Field(description="How each of its steps ended.")
    artifacts: dict[str, int] = Field(description="Rows of each artifact that it left.")


class RebuildReport(_Frozen):
    """How a rebuild went."""

    base_id: str
    run_id: str
    status: RunStatus
    published: bool = Field(description="Whether readers see it; never where people publish.")
    snapshot_id: str = ""
    layers: tuple[LayerResult, ...]
    warnings: tuple[str, ...] = Field(description="Every warning and error, word for word, each once.")
    error: str = Field("", description="Why it failed; empty where it did not.")

    @classmethod
    def of(cls, record: RecipeRunRecord) -> Self:
        """The report of a run."""
        return cls(
            base_id=record.base_name,
            run_id=record.run_id,
            status=record.status,
            published=bool(record.snapshot_id),
            snapshot_id=record.snapshot_id,
            layers=tuple(_layer(layer, record) for layer in LAYERS if _steps_of(layer, record)),
            warnings=warnings_of(record),
            error=record.error.message if record.error else "",
        )


def warnings_of(record: RecipeRunRecord) -> tuple[str, ...]:
    """What a run warns of. A model that did not answer is told in its own words, after what is lacking for that."""
    told = [_sentence(issue) for issue in record.issues if issue.severity != "info"]
    told += [
        f"{_LAYERS_OF_MODELS[layer]}: {step.error.message}"
        for step in record.step_records
        if step.error is not None and (layer := layer_of(step.step_type)) in _LAYERS_OF_MODELS
    ]
    return tuple(dict.fromkeys(told))


def _sentence(issue: Issue) -> str:
    prefix = next((words for code, words in _UNAVAILABLE.items() if issue.code.startswith(code)), "")
    return f"{prefix}: {issue.details.get('reason', issue.message)}" if prefix else issue.message


def _layer(layer: str, record: RecipeRunRecord) -> LayerResult:
    steps = _steps_of(layer, record)
    references = [reference for step in steps for reference in step.output_artifacts]
    return LayerResult(
        layer=layer,
        steps={step.step_name: step.status for step in steps},
        artifacts={reference.artifact: reference.rows for reference in references},
    )


def _steps_of(layer: str, record: RecipeRunRecord) -> list[StepRunRecord]:
    return [step for step in record.step_records if layer_of(step.step_type) == layer]
