"""What follows from a review, for every policy and every way a review can come out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from lorebase.answering.review_policy import REVIEW_RULES, verdict_on
from lorebase.errors import ModelUnavailableError
from lorebase.operation.check_results import Passed
from lorebase.operation.context import OperationContext
from tests.answering.flow_scene import Scene, codes, item, request

CASES = [
    # policy, review, status, codes of the issues, rounds of generation (one repair is allowed)
    ("off", "passes", "accepted", [], 1),
    ("off", "fails", "accepted", [], 1),
    ("off", "raises", "accepted", [], 1),
    ("off", "leaves out", "accepted", [], 1),
    ("off", "no budget", "accepted", [], 1),
    ("optional", "passes", "accepted", [], 1),
    ("optional", "fails", "fallback", ["FALSE"], 2),
    ("optional", "raises", "accepted", [], 1),
    ("optional", "leaves out", "accepted", [], 1),
    ("optional", "no budget", "accepted", [], 1),
    ("required", "passes", "accepted", [], 1),
    ("required", "fails", "fallback", ["FALSE"], 2),
    ("required", "raises", "fallback", ["REVIEW_UNAVAILABLE"], 1),
    ("required", "leaves out", "fallback", ["REVIEW_UNAVAILABLE"], 1),
    ("required", "no budget", "fallback", ["REVIEW_UNAVAILABLE"], 1),
]


def scene_of(review: str) -> Scene:
    return Scene(
        {"a": ["false" if review == "fails" else "good"]},
        review_errors=[ModelUnavailableError("Down.")] if review == "raises" else [],
        unreviewed=("a",) if review == "leaves out" else (),
        allowed=[True, False] if review == "no budget" else [],
    )


@pytest.mark.parametrize(("policy", "review", "status", "issues", "rounds"), CASES)
async def test_policy_and_review_decide(policy: str, review: str, status: str, issues: list[str], rounds: int) -> None:
    """A-068."""
    scene = scene_of(review)

    (result,) = await scene.run(item("a"), review_policy=policy)

    assert (result.status, codes(result), len(scene.generated)) == (status, issues, rounds)
    assert (len(scene.reviewed) == 0) == (policy == "off" or review == "no budget")
    assert result.checks.review.status == ("passed" if status == "accepted" else "failed")


@pytest.mark.parametrize("policy", ["off", "optional", "required"])
@pytest.mark.parametrize("review", ["passes", "raises", "leaves out", "no budget"])
async def test_an_error_of_the_local_check_never_passes(policy: str, review: str) -> None:
    scene = scene_of(review)
    scene.answers = {"a": ["bad"]}

    (result,) = await scene.run(item("a"), review_policy=policy)

    assert result.status == "fallback"
    assert "BAD" in codes(result)
    assert scene.reviewed == []


@pytest.mark.parametrize("policy", ["optional", "required"])
@pytest.mark.parametrize("second_review", ["raises", "leaves out", "no budget"])
async def test_a_confirmed_error_never_passes_because_the_next_review_is_down(policy: str, second_review: str) -> None:
    """A-069."""
    scene = Scene({"a": ["false", "other"], "b": ["good"]})
    if second_review == "raises":
        scene.review_errors = [None, ConnectionError()]
    if second_review == "no budget":
        scene.allowed = [True, True, True, False]
    if second_review == "leaves out":
        scene.during = lambda name, _context: setattr(
            scene, "unreviewed", ("a",) if len(scene.reviewed) == 1 and name == "review" else ()
        )

    confirmed, passed = await scene.run(item("a"), item("b"), review_policy=policy, max_repairs=3)

    assert (confirmed.status, codes(confirmed)) == ("fallback", ["REVIEW_UNAVAILABLE"])
    assert passed.status == "accepted"
    assert len(scene.generated) == 2


async def test_a_confirmed_error_that_a_later_review_finds_mended_passes() -> None:
    (result,) = await Scene({"a": ["false", "true"]}).run(item("a"), review_policy="optional")

    assert (result.status, result.value) == ("accepted", "true")


async def test_a_review_that_is_done_without_is_recorded() -> None:
    context = OperationContext(app=None)
    scene = Scene(review_errors=[ValueError("secret")])

    await scene.flow(review_policy="optional").run(request(item("a")), context)

    recorded = {entry.code: entry for entry in context.diagnostics.entries}
    assert recorded["REVIEW_FAILED"].facts == {"error": "ValueError"}
    assert recorded["REVIEW_UNAVAILABLE"].facts == {"item_id": "a"}
    assert "secret" not in str(recorded)


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionError(), ModelUnavailableError("Down."), KeyError("x")])
@pytest.mark.parametrize(("policy", "status"), [("optional", "accepted"), ("required", "fallback")])
async def test_whatever_a_review_raises_makes_it_unavailable(policy: str, status: str, error: Exception) -> None:
    (result,) = await Scene(review_errors=[error]).run(item("a"), review_policy=policy)

    assert result.status == status


async def test_one_missing_review_concerns_its_item_alone() -> None:
    scene = Scene(unreviewed=("b",))

    results = await scene.run(item("a"), item("b"), item("c"))

    assert [result.status for result in results] == ["accepted", "fallback", "accepted"]


async def test_an_issue_that_cannot_be_repaired_goes_to_the_fallback_at_once() -> None:
    scene = Scene(unreviewed=("a",))

    await scene.run(item("a"), max_repairs=5)

    assert len(scene.generated) == 1


def test_the_table_has_a_rule_for_every_policy_and_outcome() -> None:
    called: list[Any] = list(itertools.product(["optional", "required"], ["passed", "failed", "unavailable"]))

    assert set(REVIEW_RULES) == {*called, ("off", "not_called")}
    for policy, outcome in called:
        assert (
            verdict_on(policy, outcome, confirmed_error=True)
            == {
                "passed": "accept",
                "failed": "repair",
                "unavailable": "refuse",
            }[outcome]
        )


async def test_a_review_that_was_not_called_counts_as_passed() -> None:
    (result,) = await Scene().run(item("a"), review_policy="off", review=None)

    assert result.checks.review == Passed()
