"""Two evaluations against each other, and one against its floors."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lorebase.errors import GateNotMetError, NotFoundError, UsageError
from lorebase.evaluation.comparison import compare
from lorebase.evaluation.gates import checks_of, read_gate, require_met
from lorebase.evaluation.model import Cost, EvaluationResult, Latency, QueryOutcome


def result(*recalls: float, mode: str = "hybrid_search") -> EvaluationResult:
    outcomes = tuple(
        QueryOutcome(
            case_id=str(number),
            question=f"question {number}",
            answerable=True,
            judged_answerable=True,
            answerability_score=1.0,
            found=(),
            values={"recall@5": recall},
            seconds=0.1,
        )
        for number, recall in enumerate(recalls)
    )
    return EvaluationResult(
        base_name="demo",
        snapshot_id="s",
        data_set="set",
        mode=mode,
        top_k=5,
        evaluated_at=datetime(2026, 1, 1, tzinfo=UTC),
        questions=len(outcomes),
        answerable_questions=len(outcomes),
        errors=0,
        metrics={"recall@5": sum(recalls) / len(recalls)},
        latency=Latency(mean_seconds=0.1, p50_seconds=0.1, p95_seconds=0.1, max_seconds=0.1),
        cost=Cost(model_calls=0, input_tokens=0, output_tokens=0, usd=0.0),
        outcomes=outcomes,
    )


def test_a_change_of_every_question_is_clear_and_one_of_a_few_is_not() -> None:
    (all_better,) = compare(result(*[0.0, 0.5] * 20), result(*[1.0, 1.0] * 20))
    (one_better,) = compare(result(*[0.0] * 40), result(1.0, *[0.0] * 39))

    assert (all_better.before, all_better.now, all_better.difference) == (0.25, 1.0, 0.75)
    assert all_better.is_clear
    assert 0.5 < all_better.low < 0.75 < all_better.high < 1.0
    assert not one_better.is_clear
    assert one_better.low == 0.0


def test_the_same_seed_gives_the_same_interval() -> None:
    before, now = result(0.0, 1.0, 0.0, 1.0, 0.0), result(1.0, 1.0, 0.0, 0.0, 1.0)

    assert compare(before, now, seed=3) == compare(before, now, seed=3)


def test_evaluations_of_other_questions_are_not_compared() -> None:
    with pytest.raises(UsageError, match="did not ask the same questions: 2 differ"):
        compare(result(1.0, 0.0), result(1.0, 0.0, 1.0))


def test_a_metric_below_its_floor_is_named_with_value_and_floor(tmp_path: Path) -> None:
    file = tmp_path / "gate.yaml"
    file.write_text("minima: {recall@5: 0.8, mrr@5: 0.1}\n")
    measured = result(1.0, 0.0)

    checks = checks_of(read_gate(file, measured), measured)

    with pytest.raises(
        GateNotMetError, match=r"recall@5 is 0\.5000, floor 0\.8000; mrr@5 is not measured, floor 0\.1000"
    ):
        require_met(checks)


def test_a_saved_evaluation_gates_with_its_tolerance(tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(result(1.0, 1.0, 1.0, 0.0).model_dump_json())
    worse = result(1.0, 1.0, 0.0, 0.0)

    strict = checks_of(read_gate(file, worse, tolerance=0.1), worse)
    lenient = checks_of(read_gate(file, worse, tolerance=0.25), worse)

    assert [(check.metric, check.floor, check.is_met) for check in strict] == [("recall@5", 0.65, False)]
    assert all(check.is_met for check in lenient)


def test_a_baseline_of_another_mode_is_no_gate(tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(result(1.0, mode="vector_search").model_dump_json())

    with pytest.raises(UsageError, match="measured with mode vector_search, this evaluation with hybrid_search"):
        read_gate(file, result(1.0))


def test_a_file_that_is_no_gate_is_told(tmp_path: Path) -> None:
    file = tmp_path / "gate.yaml"
    file.write_text("maxima: {recall@5: 0.8}\n")

    with pytest.raises(UsageError, match="is no gate"):
        read_gate(file, result(1.0))
    with pytest.raises(NotFoundError, match="There is no gate"):
        read_gate(tmp_path / "none.yaml", result(1.0))
