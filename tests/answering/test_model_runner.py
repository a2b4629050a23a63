"""The application's model runner in an answer flow."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from lorebase.answering.model_runner import ModelRunner, calls_remain, model_errors_as_unavailable
from lorebase.errors import (
    BudgetExceededError,
    DependencyError,
    LorebaseError,
    ModelUnavailableError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
)
from lorebase.operation.context import OperationContext
from tests.answering.flow_scene import Scene, codes, item, request


class CountingRunner:
    """Answers with its request, as often as it may."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def remaining(self) -> int:
        return self.left

    async def run(self, request: str, /) -> str:
        self.left -= 1
        await asyncio.sleep(0)
        return request


@dataclass
class App:
    models: CountingRunner


async def test_generate_and_review_share_the_runner_of_the_application() -> None:
    """A-059, A-072: the kit makes no runner and adds no quota."""
    app = App(CountingRunner(calls=2))
    runner: ModelRunner[str, str] = app.models

    async def generate(wanted: Any, _context: object) -> dict[str, str]:
        return {one.id: await runner.run("false") for one in wanted.items}

    async def review(given: Any, context: OperationContext[App]) -> Any:
        await context.app.models.run("review")
        return await Scene().review(given, context)

    flow = Scene().flow(generate=generate, review=review, can_invoke=calls_remain, max_repairs=5)
    (result,) = await flow.run(request(item("a")), OperationContext(app=app))

    assert app.models.left == 0
    assert (result.status, codes(result)) == ("fallback", ["FALSE", "MODEL_BUDGET_EXHAUSTED"])


@pytest.mark.parametrize(
    "error", [UnavailableError, RateLimitedError, RefusedError, DependencyError, BudgetExceededError]
)
def test_errors_of_a_model_become_the_one_that_leads_to_the_fallback(error: type[LorebaseError]) -> None:
    """A-053, and errors of collecting a model's text."""
    with pytest.raises(ModelUnavailableError, match=r"It broke\. Mend it\.") as caught, model_errors_as_unavailable():
        raise error("It broke.", remedy="Mend it.")

    assert caught.value.facts == {"cause": error.code}
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("error", [KeyError("x"), asyncio.CancelledError(), ModelUnavailableError("Down.")])
def test_faults_and_cancellation_pass_as_they_are(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, model_errors_as_unavailable():
        raise error

    assert caught.value is error
