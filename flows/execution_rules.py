"""What a step's rules mean to Prefect: name, tags, tries and time limit of its task runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun

from lorebase.recipes.model import RetrySpec, StepSpec
from lorebase.runs.executor import is_worth_another_try, step_timed_out
from lorebase.runs.groups import StepWork


@dataclass(frozen=True, slots=True)
class TaskRunRule:
    """Which failures of one task run are worth another try. It goes with the task run to whatever process runs it."""

    step_name: str
    label: str
    retry: RetrySpec
    timeout_seconds: float | None

    def __call__(self, _task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
        """Whether a failed try is followed by another, as Prefect asks it."""
        return isinstance(state.data, BaseException) and is_worth_another_try(self.translated(state.data), self.retry)

    def translated(self, error: BaseException) -> BaseException:
        """The error as ours, where it is Prefect's way to say that the time limit passed."""
        if isinstance(error, TimeoutError) and self.timeout_seconds is not None:
            return step_timed_out(self.step_name, self.label, self.timeout_seconds)
        return error


def task_run_options(work: StepWork, name: str, rule: TaskRunRule) -> dict[str, Any]:
    """Options of the task run that makes a group."""
    retries = rule.retry.attempts - 1
    return {
        "name": work.name,
        "task_run_name": literal(name),
        "tags": tags_of(work),
        "retries": retries,
        "retry_delay_seconds": list(rule.retry.delays_seconds[: max(retries, 1)]) or 0,
        "retry_condition_fn": rule,
        "timeout_seconds": rule.timeout_seconds,
        # Whoever is here is unfinished by the object store, whatever Prefect remembers.
        "refresh_cache": True,
    }


def rule_of(work: StepWork, label: str, spec: StepSpec) -> TaskRunRule:
    """The rule of one of a step's task runs."""
    return TaskRunRule(work.name, label, spec.retry, spec.timeout_seconds)


def literal(name: str) -> str:
    """A task run name that Prefect's formatting leaves as it is."""
    return name.replace("{", "{{").replace("}", "}}")


def tags_of(work: StepWork) -> set[str]:
    """Tags of a step's task runs."""
    return {f"lorebase:{work.step.type_name}"}
