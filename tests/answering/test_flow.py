"""The answer flow: what is delivered, what is repaired, what falls back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.flow_model import Handled, ItemValue
from lorebase.answering.sources import source_status_of
from lorebase.errors import AnswerContractError, InvalidDefinitionError, ModelUnavailableError, UnavailableError
from lorebase.operation.check_results import UNSET, CheckResult, Failed, Passed
from lorebase.operation.context import OperationContext
from tests.answering.flow_scene import BAD, FALSE, Scene, codes, item, request


async def test_a_value_that_passes_check_and_review_is_delivered() -> None:
    """A-050, A-064."""
    (result,) = await Scene({"a": ["good"]}).run(item("a"))

    assert (result.status, result.value, result.issues) == ("accepted", "good", ())
    assert (result.checks.local, result.checks.review) == (Passed(), Passed())


async def test_only_failed_items_are_repaired_with_their_issues_and_last_values() -> None:
    """A-065, A-070."""
    scene = Scene({"a": ["good"], "b": ["bad", "better"], "c": ["false", "true"], "d": [None, "late"]})

    results = await scene.run(item("a"), item("b"), item("c"), item("d"))

    first, second = scene.generated
    assert [one.id for one in first.items] == ["a", "b", "c", "d"]
    assert (first.repairs, first.previous) == (None, None)
    assert [one.id for one in second.items] == ["b", "c", "d"]
    assert second.repairs is not None
    assert [(name, [issue.code for issue in issues]) for name, issues in second.repairs.items()] == [
        ("b", ["BAD"]),
        ("c", ["FALSE"]),
        ("d", ["ANSWER_MISSING"]),
    ]
    assert second.previous == {"b": "bad", "c": "false"}
    assert [(result.status, result.value) for result in results] == [
        ("accepted", "good"),
        ("accepted", "better"),
        ("accepted", "true"),
        ("accepted", "late"),
    ]


async def test_only_values_that_passed_the_check_are_reviewed() -> None:
    scene = Scene({"a": ["bad"], "b": ["good"]})

    await scene.run(item("a"), item("b"), max_repairs=0)

    assert scene.reviewed == [["b"]]


async def test_a_repair_that_answers_for_an_item_that_was_fine_is_refused() -> None:
    """A-067, A-070."""

    async def generate(_wanted: object, _context: object) -> dict[str, str]:
        return {"a": "good", "b": "bad"}

    with pytest.raises(AnswerContractError, match=r"handler for repair answered for items .* 'a'"):
        await Scene().run(item("a"), item("b"), generate=generate)


@pytest.mark.parametrize(("max_repairs", "calls"), [(0, 1), (1, 2), (3, 4)])
async def test_rounds_of_repair_are_limited(max_repairs: int, calls: int) -> None:
    scene = Scene({"a": ["bad"], "b": ["false"]})

    results = await scene.run(item("a"), item("b"), max_repairs=max_repairs)

    assert len(scene.generated) == calls
    assert [(result.status, codes(result)) for result in results] == [("fallback", ["BAD"]), ("fallback", ["FALSE"])]


async def test_a_correction_by_the_check_is_what_is_reviewed_and_delivered() -> None:
    """A-042."""
    scene = Scene({"a": ["fix:good"]})

    (result,) = await scene.run(item("a"))

    assert (result.value, result.status) == ("good", "accepted")


async def test_a_value_that_a_failing_check_put_in_place_is_what_the_repair_starts_from() -> None:
    """A-042."""
    scene = Scene({"a": ["bad  text", "good"]})

    def check(given: ItemValue[str, str], _context: object) -> CheckResult[str]:
        return Failed(issues=(BAD,), value="bad text") if given.value == "bad  text" else Passed()

    (result,) = await scene.run(item("a"), check=check)

    assert scene.generated[1].previous == {"a": "bad text"}
    assert result.value == "good"


async def test_a_correction_by_the_review_is_checked_again() -> None:
    scene = Scene({"a": ["revise:good"], "b": ["revise:bad"]})

    results = await scene.run(item("a"), item("b"), max_repairs=0)

    assert scene.checked[:4] == [("a", "revise:good"), ("b", "revise:bad"), ("a", "good"), ("b", "bad")]
    assert [(result.status, result.value) for result in results] == [
        ("accepted", "good"),
        ("fallback", "From evidence of b."),
    ]


async def test_none_is_an_answer_and_a_missing_one_is_not() -> None:
    """A-049: a value that is None is not the absence of a value."""

    async def generate(_wanted: object, _context: object) -> dict[str, None]:
        return {"a": None}

    def check(_given: ItemValue[str, None], _context: object) -> CheckResult[None]:
        return Passed(value=None)

    flow = Scene(handles=False).flow(generate=generate, check=check, review_policy="off", max_repairs=0)

    present, missing = await flow.run(request(item("a"), item("b")), OperationContext(app=None))

    assert (present.status, present.value) == ("accepted", None)
    assert (missing.status, missing.value, codes(missing)) == ("blocked", UNSET, ["ANSWER_MISSING"])


@pytest.mark.parametrize(
    ("answerable", "conflicting", "code"), [(False, False, "SOURCE_UNAVAILABLE"), (True, True, "SOURCE_CONFLICT")]
)
async def test_without_usable_sources_no_model_is_called(*, answerable: bool, conflicting: bool, code: str) -> None:
    """A-063: nothing is invented where retrieval found no evidence, or evidence against evidence."""
    scene = Scene()
    status = source_status_of(answerable=answerable, conflicting=conflicting)

    (result,) = await scene.run(item("a", status))

    assert (scene.generated, scene.asked, scene.reviewed) == ([], 0, [])
    assert (result.status, codes(result), result.value) == ("fallback", [code], "From evidence of a.")


async def test_a_fallback_gets_the_item_and_what_led_to_it() -> None:
    """A-057, A-071."""
    scene = Scene({"a": ["bad"]})

    (result,) = await scene.run(item("a"), max_repairs=0)

    (asked,) = scene.fallen_back
    assert (asked.item, asked.issues) == (result.item, (BAD,))
    assert result.item.data in str(result.value)
    assert result.checks.local == Passed()


async def test_a_fallback_that_fails_the_check_is_blocked_and_not_reviewed() -> None:
    scene = Scene({"a": ["false"]})

    def fallback(_asked: object, _context: object) -> Handled[str]:
        return Handled("bad fallback")

    (result,) = await scene.run(item("a"), max_repairs=0, fallback=fallback)

    assert (result.status, result.value, codes(result)) == ("blocked", UNSET, ["FALSE", "BAD"])
    assert (result.checks.local, result.checks.review) == (Failed(issues=(BAD,)), Failed(issues=(FALSE,)))
    assert scene.reviewed == [["a"]]


async def test_without_a_fallback_an_item_is_blocked() -> None:
    (result,) = await Scene({"a": ["bad"]}, handles=False).run(item("a"))

    assert (result.status, result.value, codes(result)) == ("blocked", UNSET, ["BAD"])


async def test_the_budget_is_asked_right_before_each_call_of_a_model() -> None:
    """A-053."""
    scene = Scene({"a": ["false", "true"]})

    await scene.run(item("a"))

    assert scene.asked == 4
    assert (len(scene.generated), len(scene.reviewed)) == (2, 2)


async def test_without_budget_no_model_is_called_and_the_fallback_answers() -> None:
    scene = Scene(allowed=[False])

    (result,) = await scene.run(item("a"))

    assert (scene.generated, scene.reviewed) == ([], [])
    assert (result.status, codes(result)) == ("fallback", ["MODEL_BUDGET_EXHAUSTED"])


async def test_a_budget_that_ends_before_a_repair_keeps_what_was_wrong() -> None:
    scene = Scene({"a": ["bad"], "b": ["good"]}, allowed=[True, True, False])

    failed, passed = await scene.run(item("a"), item("b"), max_repairs=3)

    assert len(scene.generated) == 1
    assert (failed.status, codes(failed)) == ("fallback", ["BAD", "MODEL_BUDGET_EXHAUSTED"])
    assert passed.status == "accepted"


async def test_an_unavailable_model_sends_items_to_the_fallback() -> None:
    async def generate(_wanted: object, _context: object) -> dict[str, str]:
        raise ModelUnavailableError("The endpoint did not answer.")

    context = OperationContext(app=None)
    (result,) = await Scene().flow(generate=generate).run(request(item("a")), context)

    assert (result.status, codes(result)) == ("fallback", ["MODEL_UNAVAILABLE"])
    assert "MODEL_UNAVAILABLE" in [entry.code for entry in context.diagnostics.entries]


@pytest.mark.parametrize("handler", ["generate", "check", "fallback"])
@pytest.mark.parametrize("error", [ZeroDivisionError, TimeoutError, UnavailableError])
async def test_a_fault_of_the_program_passes_and_so_does_an_outage_that_was_not_translated(
    handler: str, error: type[Exception]
) -> None:
    """A-044."""

    def fail(name: str, _context: object) -> None:
        if name == handler:
            raise error("It broke.")

    with pytest.raises(error):
        await Scene(during=fail).run(item("a"), item("b", "unavailable"))


async def test_every_visit_is_recorded_in_the_diagnostics_of_the_run() -> None:
    """A-062."""
    context = OperationContext(app=None)
    scene = Scene({"a": ["bad", "false"]})

    await scene.flow().run(request(item("a")), context)

    visits = [entry.facts for entry in context.diagnostics.entries if entry.code == "NODE_VISITED"]
    assert [(visit["node"], visit["attempt"], visit["outcome"]) for visit in visits] == [
        ("generate", 1, "completed"),
        ("check", 1, "completed"),
        ("repair", 1, "completed"),
        ("check", 2, "completed"),
        ("review", 1, "completed"),
        ("fallback", 1, "completed"),
        ("check", 3, "completed"),
    ]


async def test_handlers_get_the_run_s_app_and_signal_and_the_scope_of_their_node() -> None:
    """A-052, A-058, A-059, A-062."""
    seen: list[tuple[str, object, object, tuple[str, ...]]] = []
    context = OperationContext(app="shop")

    def note(name: str, given: OperationContext[str]) -> None:
        seen.append((name, given.app, given.signal, given.diagnostics.scope))

    await Scene({"a": ["false"]}, during=note).flow(max_repairs=0).run(request(item("a")), context)

    assert seen == [
        ("generate", "shop", context.signal, ("generate#1",)),
        ("check", "shop", context.signal, ("check#1",)),
        ("review", "shop", context.signal, ("review#1",)),
        ("fallback", "shop", context.signal, ("fallback#1",)),
        ("check", "shop", context.signal, ("check#2",)),
    ]


VALUES = st.sampled_from(["good", "bad", "false", "fix:good", "fix:false", "revise:good", "revise:bad", None])


@settings(deadline=None)
@given(
    scripts=st.lists(st.lists(VALUES, min_size=1, max_size=3), min_size=1, max_size=5),
    statuses=st.lists(st.sampled_from(["ready", "unavailable", "conflict"]), min_size=5, max_size=5),
    policy=st.sampled_from(["required", "optional", "off"]),
    allowed=st.lists(st.booleans(), max_size=6),
    max_repairs=st.integers(0, 2),
)
async def test_every_item_has_one_honest_result_in_its_place(
    scripts: list[list[str | None]], statuses: list[Any], policy: str, allowed: list[bool], max_repairs: int
) -> None:
    """A-065, A-066, A-069: whatever handlers and budget do."""
    items = [item(str(number), statuses[number]) for number in range(len(scripts))]
    scene = Scene({str(number): script for number, script in enumerate(scripts)}, allowed=allowed)

    results = await scene.run(*items, review_policy=policy, max_repairs=max_repairs)

    assert [result.item for result in results] == items
    assert len(scene.generated) <= 1 + max_repairs
    for result in results:
        accepted = result.status == "accepted"
        assert accepted == (result.issues == ())
        assert (result.value is UNSET) == (result.status == "blocked")
        assert not (accepted and str(result.value).startswith("bad"))
        assert not (accepted and policy == "required" and str(result.value).startswith("false"))
        assert not (accepted and result.item.source_status != "ready")


@dataclass
class SharedBudget:
    """Calls that all runs share."""

    left: int

    def remaining(self) -> int:
        return self.left


async def test_concurrent_runs_of_one_flow_share_a_budget_and_nothing_else() -> None:
    """A-061, A-072: fifty runs at once, each with its own state and repairs, under one upper bound."""
    budget = SharedBudget(left=120)
    scene = Scene()

    async def generate(wanted: Any, context: OperationContext[SharedBudget]) -> dict[str, str]:
        context.app.left -= 1
        await asyncio.sleep(0)
        return {one.id: "bad" if wanted.repairs is None else f"good {one.id}" for one in wanted.items}

    def can_invoke(context: OperationContext[SharedBudget]) -> bool:
        return context.app.remaining() > 0

    flow = scene.flow(generate=generate, can_invoke=can_invoke, review_policy="off", max_repairs=2)
    context = OperationContext(app=budget)

    runs = await asyncio.gather(*(flow.run(request(item(f"run-{n}")), context.derive(f"run-{n}")) for n in range(50)))

    assert [(result.status, result.value) for (result,) in runs] == [("accepted", f"good run-{n}") for n in range(50)]
    assert budget.left == 20


async def test_a_shared_budget_is_never_overdrawn() -> None:
    """A-072: 50 runs that want 100 calls get the 70 that there are."""
    budget = SharedBudget(left=70)

    async def generate(wanted: Any, context: OperationContext[SharedBudget]) -> dict[str, str]:
        context.app.left -= 1
        await asyncio.sleep(0)
        return {one.id: "bad" if wanted.repairs is None else "good" for one in wanted.items}

    flow = Scene().flow(generate=generate, can_invoke=lambda context: context.app.remaining() > 0, review_policy="off")
    runs = await asyncio.gather(*(flow.run(request(item(f"run-{n}")), OperationContext(app=budget)) for n in range(50)))

    statuses = [result.status for (result,) in runs]
    assert budget.left == 0
    assert (statuses.count("accepted"), statuses.count("fallback")) == (20, 30)


async def test_an_observer_can_change_neither_values_nor_sources() -> None:
    """A-027."""
    kinds: list[str] = []

    def spoil(event: dict[str, Any]) -> None:
        kinds.append(event["kind"])
        event["item"]["data"] = "forged"
        event["value"] = "forged"

    (result,) = await Scene({"a": ["good"]}).run(item("a"), observe=spoil)

    assert kinds == ["checked", "result"]
    assert (result.value, result.item.data) == ("good", "evidence of a")


async def test_a_failing_observer_changes_no_result() -> None:
    """A-025."""

    def fail(_event: object) -> None:
        raise ZeroDivisionError

    (result,) = await Scene({"a": ["good"]}).run(item("a"), observe=fail)

    assert result.status == "accepted"


@pytest.mark.parametrize(
    "settings",
    [{"max_items": 0}, {"max_repairs": -1}, {"review_policy": "sometimes"}, {"review": None}],
)
def test_definitions_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinitionError):
        Scene().flow(**settings)


def test_the_nodes_of_a_flow_are_fixed_when_it_is_defined() -> None:
    """A-060."""
    assert Scene().flow().workflow.nodes == ("generate", "check", "review", "repair", "fallback")
    assert Scene().flow(review_policy="off", review=None).workflow == Scene().flow().workflow
