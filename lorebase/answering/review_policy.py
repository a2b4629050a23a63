"""What follows from a review, as a table: by policy, by how it came out, and by what an earlier one found."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from lorebase.answering.flow_model import ReviewPolicy

ReviewOutcome: TypeAlias = Literal["passed", "failed", "unavailable", "not_called"]
Verdict: TypeAlias = Literal["accept", "repair", "refuse"]


class ReviewRule(NamedTuple):
    """What happens to an item.

    `accept` delivers it, `repair` tries again while the run may, `refuse` goes to the fallback at once.
    """

    at_first: Verdict
    after_confirmed_error: Verdict


REVIEW_RULES: Final[dict[tuple[ReviewPolicy, ReviewOutcome], ReviewRule]] = {
    ("off", "not_called"): ReviewRule("accept", "accept"),
    ("optional", "passed"): ReviewRule("accept", "accept"),
    ("optional", "failed"): ReviewRule("repair", "repair"),
    ("optional", "unavailable"): ReviewRule("accept", "refuse"),
    ("required", "passed"): ReviewRule("accept", "accept"),
    ("required", "failed"): ReviewRule("repair", "repair"),
    ("required", "unavailable"): ReviewRule("refuse", "refuse"),
}
"""Under `off` no review is called, so no item of such a run ever has a confirmed error."""


def verdict_on(policy: ReviewPolicy, outcome: ReviewOutcome, *, confirmed_error: bool) -> Verdict:
    """What happens to an item whose review came out like this.

    Args:
        policy: The flow's policy.
        outcome: `not_called` belongs to the policy off, the others to the other policies.
        confirmed_error: Whether an earlier review of this run found an error in the item: one that cannot be repeated
            never lets it through.
    """
    rule = REVIEW_RULES[policy, outcome]
    return rule.after_confirmed_error if confirmed_error else rule.at_first
