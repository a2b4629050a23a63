"""The review by the chat model: whether what is cited really says each sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lorebase.answering.flow_model import ItemValue, ReviewRequest
from lorebase.answering.over_retrieval.drafts import Draft
from lorebase.answering.over_retrieval.evidence import Evidence
from lorebase.answering.over_retrieval.generation import HasChatRunner
from lorebase.answering.over_retrieval.prompts import REVIEW_PROMPT, review_request_text
from lorebase.answering.over_retrieval.runner import StructuredCall
from lorebase.answering.ready_checks.grounded import excerpt
from lorebase.errors import ModelUnavailableError
from lorebase.models.chat import ChatRequest
from lorebase.operation.check_results import CheckResult, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

REVIEW_SOURCE = "review"

Reviewed: TypeAlias = ItemValue[Evidence, Draft]


class SentenceVerdict(BaseModel):
    """What the reviewer says of one sentence."""

    model_config = ConfigDict(frozen=True)

    sentence: int = Field(ge=1)
    supported: bool
    reason: str = Field("", max_length=2_000)


class ReviewVerdicts(BaseModel):
    """What the reviewer says of an answer."""

    model_config = ConfigDict(frozen=True)

    verdicts: tuple[SentenceVerdict, ...]


async def review_with_chat(
    request: ReviewRequest[Evidence, Draft], context: OperationContext[HasChatRunner]
) -> Mapping[str, CheckResult[Draft]]:
    """Review each answer, one call an answer; those of which a sentence got no verdict are left out."""
    verdicts = await asyncio.gather(*(_verdicts_of(reviewed, context) for reviewed in request.items))
    results: dict[str, CheckResult[Draft]] = {}
    for reviewed, found in zip(request.items, verdicts, strict=True):
        if found is not None and (result := _result(reviewed.value, found)) is not None:
            results[reviewed.item.id] = result
    return results


async def _verdicts_of(reviewed: Reviewed, context: OperationContext[HasChatRunner]) -> ReviewVerdicts | None:
    evidence = reviewed.item.data
    sentences = [(claim.text, claim.citations) for claim in reviewed.value.answer.claims()]
    request = ChatRequest(
        prompt=review_request_text(evidence, sentences),
        system=REVIEW_PROMPT.instructions(evidence.language),
        temperature=0.0,
        session_id=context.app.session_id,
    )
    try:
        return await context.app.models.run(StructuredCall(reviewed.item.id, request, ReviewVerdicts))
    except ModelUnavailableError as error:
        context.diagnostics.record("REVIEW_FAILED", error.message, severity="warning", item_id=reviewed.item.id)
        return None


def _result(draft: Draft, found: ReviewVerdicts) -> CheckResult[Draft] | None:
    claims = draft.answer.claims()
    by_sentence = {verdict.sentence: verdict for verdict in found.verdicts}
    if any(number not in by_sentence for number in range(1, len(claims) + 1)):
        return None
    issues = tuple(
        CheckIssue(
            code="NOT_SUPPORTED",
            message=f"The review finds no support for this ({by_sentence[number].reason or 'no reason given'}): "
            f"{excerpt(claim.text)}",
            path=("claims", number - 1),
            source=REVIEW_SOURCE,
        )
        for number, claim in enumerate(claims, start=1)
        if not by_sentence[number].supported
    )
    return result_of(issues)
