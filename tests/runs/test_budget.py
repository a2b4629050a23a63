"""A budget stops a build before the call that would pass it, keeps what was paid for, and counts what is spent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.cli.exit_codes import FAILED, exit_code_of_error_code
from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.errors import BudgetExceededError, InvalidRecipeError, RefusedError, UnavailableError
from lorebase.models.ports import ModelUsage
from lorebase.recipes.model import Budget, ModelPrice, Prices
from lorebase.runs.budget import RunBudget
from lorebase.runs.plan import plan_build
from lorebase.runs.records import RecipeRunRecord, StepRunRecord
from lorebase.runs.report import BuildReport
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents

PRICED = RECIPE.replace("embed_chunks: {}", "embed_chunks: {batch_texts: 4}") + (
    "prices: {embedding: {usd_per_million_input_tokens: 1000}}\n"
)
TEXTS = {f"{number:02}.md": f"Text number {number} says what it says.\n" for number in range(20)}  # 5 calls of 4 texts


def with_budget(**limits: float) -> str:
    return f"{PRICED}budget: {limits}\n"


async def build(folder: Path, workspace: FakeWorkspace, text: str, **config: Any) -> RecipeRunRecord:
    result = await KnowledgeBase("demo", workspace).rebuild(
        recipe_in(folder, text), config=KnowledgeBaseBuilderConfig(**config)
    )
    return result.record


def embed_of(record: RecipeRunRecord) -> StepRunRecord:
    return next(step for step in record.step_records if step.step_name == "embed_chunks")


@pytest.fixture
def workspace(tmp_path: Path) -> FakeWorkspace:
    write_documents(tmp_path, TEXTS)
    return FakeWorkspace(tmp_path / "ws")


# 20 texts of 7 tokens, 4 a call: 28 tokens a call, 0.028 USD.
@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        ({"max_model_calls": 2}, 2),
        ({"max_model_calls": 0}, 0),
        ({"max_tokens": 83}, 2),
        ({"max_tokens": 84}, 3),
        ({"max_usd": 0.056}, 2),
        ({"max_model_calls": 4, "max_usd": 0.03}, 1),
    ],
)
async def test_a_build_stops_before_the_call_that_would_pass_its_budget_and_goes_on_when_it_is_raised(
    tmp_path: Path, workspace: FakeWorkspace, limits: dict[str, float], calls: int
) -> None:
    """BQ-12."""
    stopped = await build(tmp_path, workspace, with_budget(**limits))
    sent = workspace.seen.total()
    finished = await build(tmp_path, workspace, PRICED)

    assert stopped.status == "failed"
    assert stopped.error is not None
    assert stopped.error.code == "BUDGET_EXCEEDED"
    assert exit_code_of_error_code(stopped.error.code) == FAILED
    assert sent == calls * 4
    assert embed_of(stopped).counts.model_calls == calls
    assert embed_of(stopped).counts.input_tokens == calls * 28
    assert finished.status == "succeeded"
    assert workspace.seen.total() == 20
    assert embed_of(finished).counts.model_calls == 5 - calls
    assert embed_of(finished).counts.ledger_items == calls * 4


async def test_the_error_says_what_was_spent_what_is_allowed_and_what_remains(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    record = await build(tmp_path, workspace, with_budget(max_tokens=60))

    assert record.error is not None
    assert record.error.message == (
        "The next call of embed_chunks would pass the budget's max_tokens of 60: "
        "2 model calls, 56 tokens, 0.056 USD are spent, the call takes 1 model call, 28 tokens, 0.028 USD. "
        "embed_chunks still has 12 chunks to do: 3 model calls, 84 tokens, 0.084 USD."
    )
    assert "Raise the budget and build again" in record.error.remedy


async def test_a_budget_of_exactly_what_the_plan_says_is_enough(tmp_path: Path, workspace: FakeWorkspace) -> None:
    plan = await plan_build(recipe_in(tmp_path, PRICED), workspace)
    totals = plan.totals
    exact = with_budget(
        max_model_calls=totals.model_calls, max_tokens=totals.input_tokens + totals.output_tokens, max_usd=totals.usd
    )

    record = await build(tmp_path, workspace, exact)

    assert record.status == "succeeded"
    assert embed_of(record).counts.usd == pytest.approx(totals.usd) == pytest.approx(0.14)


async def test_a_plan_says_that_the_budget_would_not_do(tmp_path: Path, workspace: FakeWorkspace) -> None:
    small = await plan_build(recipe_in(tmp_path, with_budget(max_model_calls=4)), workspace)
    enough = await plan_build(recipe_in(tmp_path, with_budget(max_model_calls=5)), workspace)

    assert (small.passes_limit, enough.passes_limit) == ("max_model_calls", None)


async def test_raising_the_budget_and_changing_prices_runs_nothing_again(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build(tmp_path, workspace, with_budget(max_model_calls=5))

    record = await build(tmp_path, workspace, with_budget(max_usd=3).replace("tokens: 1000", "tokens: 7"))

    assert {step.status for step in record.step_records} == {"skipped"}
    assert sum(step.counts.usd for step in record.step_records) == 0


async def test_what_a_rebuild_paid_for_before_its_budget_ended_is_kept(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    stopped = await build(tmp_path, workspace, with_budget(max_model_calls=2), rebuild=True)
    await build(tmp_path, workspace, PRICED)

    assert stopped.status == "failed"
    assert workspace.seen.total() == 20


async def test_answers_on_their_way_are_kept_when_the_budget_ends(tmp_path: Path, workspace: FakeWorkspace) -> None:
    """A refusal that broke off the calls beside it would lose what they were paid for."""
    workspace.embedder_options["latency_seconds"] = 0.2
    await build(tmp_path, workspace, with_budget(max_model_calls=3))
    workspace.embedder_options.clear()

    await build(tmp_path, workspace, PRICED)

    assert workspace.seen.total() == 20


async def test_every_run_records_calls_tokens_ledger_hits_and_cost_of_each_step(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """BQ-12."""
    await build(tmp_path, workspace, with_budget(max_model_calls=2))

    report = BuildReport.of(await build(tmp_path, workspace, PRICED))

    embed = next(step for step in report.steps if step.step == "embed_chunks")
    assert (embed.model_calls, embed.input_tokens, embed.output_tokens, embed.from_ledger) == (3, 84, 0, 8)
    assert embed.usd == pytest.approx(0.084)
    assert (report.counts.model_calls, report.counts.input_tokens) == (3, 84)
    assert report.counts.usd == pytest.approx(0.084)


async def test_a_failed_step_records_what_it_spent(tmp_path: Path, workspace: FakeWorkspace) -> None:
    workspace.failures.append(RefusedError("No.", dependency="endpoint", calls=1))

    record = await build(tmp_path, workspace, PRICED)

    assert embed_of(record).status == "failed"
    assert embed_of(record).counts.model_calls >= 1


async def test_a_task_run_that_is_tried_again_records_all_of_its_calls(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    workspace.failures.append(UnavailableError("Busy.", dependency="endpoint", calls=1))
    text = PRICED.replace("batch_texts: 4", "batch_texts: 256, retry: {attempts: 2, delays_seconds: [0]}")

    record = await build(tmp_path, workspace, text)

    assert record.status == "succeeded"
    assert embed_of(record).counts.model_calls == 2


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        (
            "budget: {max_usd: 5}\n",
            r"recipe, line 14, column 10: max_usd cannot be kept without the price .*'embedding'",
        ),
        ("budget: {max_usd: -1}\n", r"line 14, column 10: budget.max_usd"),
        ("budget: {max_usd: .nan}\n", r"line 14, column 10: budget.max_usd"),
        ("budget: {max_dollars: 5}\n", r"There is no key 'max_dollars' here"),
        (
            "prices: {chat: {usd_per_million_input_tokens: 1}}\n",
            r"a price for the model 'chat', but the recipe names no",
        ),
        (
            "prices: {ocr: {usd_per_million_input_tokens: 1}}\n",
            r"There is no key 'ocr' here.* Allowed: embedding, chat, rerank",
        ),
        ("prices: {embedding: {usd_per_million_input_tokens: -1}}\n", r"line 14, column 22"),
    ],
)
def test_a_budget_or_price_that_cannot_be_kept_is_a_fault_with_its_place(
    tmp_path: Path, addition: str, message: str
) -> None:
    with pytest.raises(InvalidRecipeError, match=message):
        recipe_in(tmp_path, RECIPE + addition).validate()


def test_a_price_for_a_model_that_the_recipe_has_not_is_a_fault(tmp_path: Path) -> None:
    text = "name: demo\nsources: [{folder: documents}]\nprocedures: [{use: full_text_index}]\n"
    prices = "prices: {embedding: {usd_per_million_input_tokens: 1}}\n"

    with pytest.raises(InvalidRecipeError, match="There is a price for the model 'embedding'"):
        recipe_in(tmp_path, text + prices).validate()


def test_budget_and_prices_survive_the_way_to_yaml_and_back(tmp_path: Path) -> None:
    recipe = recipe_in(tmp_path, with_budget(max_usd=2.5, max_tokens=10))

    again = recipe_in(tmp_path, recipe.to_yaml())

    assert (again.budget, again.prices) == (recipe.budget, recipe.prices)


usages = st.builds(ModelUsage, st.integers(1, 3), st.integers(0, 50), st.integers(0, 50))


@given(
    calls=st.lists(usages, min_size=1, max_size=30),
    limits=st.builds(Budget, max_model_calls=st.integers(0, 40), max_tokens=st.integers(0, 900)),
)
def test_for_every_order_of_calls_no_limit_is_ever_passed_and_all_spending_is_counted(
    calls: list[ModelUsage], limits: Budget
) -> None:
    budget = RunBudget(limits, Prices(embedding=ModelPrice(usd_per_million_input_tokens=1.0)))
    made: list[ModelUsage] = []

    async def call(usage: ModelUsage) -> None:
        async with budget.reserve("embed", "embedding", usage) as reservation:
            await asyncio.sleep(0)
            reservation.settle(usage)
            made.append(usage)

    async def run() -> list[BaseException | None]:
        return await asyncio.gather(*(call(usage) for usage in calls), return_exceptions=True)

    ended = asyncio.run(run())

    spent = budget.spent_by("embed")
    assert spent.usage == sum(made, ModelUsage())
    assert limits.max_model_calls is not None
    assert spent.usage.calls <= limits.max_model_calls
    assert limits.max_tokens is not None
    assert spent.tokens <= limits.max_tokens
    assert all(error is None or isinstance(error, BudgetExceededError) for error in ended)
    total = sum(calls, ModelUsage())
    fits = total.calls <= limits.max_model_calls and total.input_tokens + total.output_tokens <= limits.max_tokens
    assert fits == (not any(ended))


async def test_a_call_waits_for_calls_under_way_that_may_take_less_than_was_held_for_them() -> None:
    budget = RunBudget(Budget(max_tokens=100))
    order: list[str] = []

    async def first() -> None:
        async with budget.reserve("embed", "embedding", ModelUsage(1, 90)) as reservation:
            await asyncio.sleep(0.05)
            reservation.settle(ModelUsage(1, 10))
            order.append("first")

    async def second() -> None:
        await asyncio.sleep(0)
        async with budget.reserve("embed", "embedding", ModelUsage(1, 80)) as reservation:
            order.append("second")
            reservation.settle(ModelUsage(1, 80))

    await asyncio.gather(first(), second())

    assert order == ["first", "second"]
    assert budget.spent_by("embed").tokens == 90


async def test_a_call_that_is_broken_off_counts_as_paid() -> None:
    budget = RunBudget()

    async def call() -> None:
        async with budget.reserve("embed", "embedding", ModelUsage(1, 90)):
            await asyncio.sleep(60)

    task = asyncio.create_task(call())
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert budget.spent_by("embed").usage == ModelUsage(1, 90)


async def test_a_refusal_waits_until_every_answer_under_way_is_written_down() -> None:
    """A refusal breaks off the calls beside it; one that came at once would lose what they were paid for."""
    budget = RunBudget(Budget(max_model_calls=3))
    order: list[str] = []

    async def call(name: str, calls: int, seconds: float) -> None:
        async with budget.reserve("embed", "embedding", ModelUsage(calls)) as reservation:
            reservation.settle(ModelUsage(calls))
            await asyncio.sleep(seconds)
            order.append(name)

    async def refused() -> None:
        with pytest.raises(BudgetExceededError, match="3 model calls, 0 tokens are spent"):
            await call("never", 3, 0)
        order.append("refused")

    await asyncio.gather(call("short", 1, 0.01), call("long", 2, 0.2), refused())

    assert order == ["short", "long", "refused"]
