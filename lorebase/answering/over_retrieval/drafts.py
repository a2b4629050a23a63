"""A draft of an answer with what kind it is, and which checks each kind has to pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from lorebase.answering.checks import AnswerCheckCatalog, CheckRequest, define_answer_check_catalog
from lorebase.answering.ready_checks import (
    CitationsExist,
    CitationsSupport,
    EveryClaimCited,
    GroundedAnswer,
    OnlyEvidenceLinks,
    OnlyEvidenceText,
    SameLanguage,
    WithinChars,
)
from lorebase.answering.ready_checks.claims import cited_numbers
from lorebase.extraction.languages import language_of
from lorebase.operation.check_results import CheckResult, Failed, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

DraftKind: TypeAlias = Literal[
    "written", "quoted", "contradiction", "other_language", "no_evidence", "no_subject", "hand_over", "instead"
]

NOT_IN_EVIDENCE: Final = "NOT_IN_EVIDENCE"
"""The model read the passages and says that they do not answer the question."""

WORDS_AND_FIGURES: Final = CitationsSupport().id
FIGURES_ALONE: Final = "citations-hold-figures"

_OF_CLAIMS: Final = (
    "every-claim-cited", "citations-exist", WORDS_AND_FIGURES, "only-evidence-links", "same-language", "within-chars",
)  # fmt: skip
_OF_FIXED_TEXTS: Final = ("citations-exist", "only-evidence-links", "within-chars")

CHECKS_OF_KIND: Final[dict[DraftKind, tuple[str, ...]]] = {
    "written": _OF_CLAIMS,
    "quoted": (*_OF_CLAIMS, "only-evidence-text"),
    "contradiction": _OF_CLAIMS,
    "other_language": _OF_FIXED_TEXTS,
    "no_evidence": _OF_FIXED_TEXTS,
    "no_subject": _OF_FIXED_TEXTS,
    "hand_over": _OF_FIXED_TEXTS,
    "instead": _OF_FIXED_TEXTS,
}
"""Fixed texts of the program claim nothing about the world, and their language was chosen by the question."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before its citations get their final numbers.

    Attributes:
        answer: The answer with its evidence. Blank text of the kind `written`: the model finds no answer in it.
        kind: `written` by a model, `quoted` from the evidence, a `contradiction` of it; the rest are fixed texts.
    """

    answer: GroundedAnswer
    kind: DraftKind


def local_checks(max_chars: int) -> AnswerCheckCatalog[GroundedAnswer, object]:
    """All checks that drafts may have to pass.

    Args:
        max_chars: Longest answer in code points.
    """
    return define_answer_check_catalog(
        [
            EveryClaimCited(),
            CitationsExist(),
            CitationsSupport(),
            CitationsSupport(id=FIGURES_ALONE, min_share=0.0),
            OnlyEvidenceText(),
            OnlyEvidenceLinks(),
            SameLanguage(),
            WithinChars(max_chars),
        ]
    )


def check_draft(
    checks: AnswerCheckCatalog[GroundedAnswer, object], draft: Draft, context: OperationContext[object]
) -> CheckResult[Draft]:
    """Run the checks of the draft's kind."""
    if draft.kind == "written" and not draft.answer.text:
        message = "The model finds no answer in the passages."
        return Failed(issues=(CheckIssue(code=NOT_IN_EVIDENCE, message=message, repairable=False),))
    check_ids = CHECKS_OF_KIND[draft.kind]
    if _crosses_languages(draft.answer):
        check_ids = tuple(FIGURES_ALONE if check_id == WORDS_AND_FIGURES else check_id for check_id in check_ids)
    return result_of(checks.check(CheckRequest(check_ids=check_ids, value=draft.answer), context).issues)


def _crosses_languages(answer: GroundedAnswer) -> bool:
    """Whether it cites a passage in another language: then words cannot be compared, and only figures are."""
    cited = (answer.passage(number) for number in cited_numbers(answer.text))
    own = language_of(answer.question)
    return any(passage is not None and language_of(passage.text) != own for passage in cited)
