"""The face of this room: questions in, answered questions out, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lorebase.answering.flow_model import AnswerResult
from lorebase.answering.over_retrieval.asking import MOST_QUESTIONS, AskFlow, AskPorts, AskRun
from lorebase.answering.over_retrieval.drafts import Draft
from lorebase.answering.over_retrieval.evidence import Evidence
from lorebase.answering.over_retrieval.numbering import numbered_answer
from lorebase.answering.over_retrieval.options import AskOptions
from lorebase.answering.over_retrieval.prompts import ANSWER_PROMPT, REVIEW_PROMPT
from lorebase.answering.over_retrieval.records import (
    AnswerCheckOutcomes,
    AnsweredQuestion,
    AnswerUsage,
    CheckOutcome,
    Takeover,
)
from lorebase.answering.over_retrieval.runner import ChatRunner
from lorebase.answering.over_retrieval.wording import INSTEAD
from lorebase.errors import UsageError
from lorebase.extraction.languages import language_of
from lorebase.fingerprint import fingerprint
from lorebase.models.chat import ChatModel
from lorebase.operation.check_results import CheckResult, Unset
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue
from lorebase.registry.intents import Intent, Predicate, route_by_rules
from lorebase.retrieval.request import checked_request

_PASSED = AnswerCheckOutcomes(local=CheckOutcome(status="passed"), review=CheckOutcome(status="passed"))
_UNGOVERNED = Takeover(recorded=False, reason="UNGOVERNED_BASE")
_ANSWERED = (Predicate.QUERY_KNOWLEDGE, Predicate.UNKNOWN)


class Answerer:
    """Answers questions out of what a search finds. It keeps nothing of its runs, so that any number may go on at once.

    Args:
        ports: What answers are made with.
        options: How.

    Raises:
        UsageError: The options need a chat model, and there is none.
    """

    def __init__(self, ports: AskPorts, options: AskOptions | None = None) -> None:
        self._options = options or AskOptions()
        self._ports = ports
        self._chat = _chat_of(ports, self._options)
        self._flow = AskFlow(self._options, with_chat=self._chat is not None)

    async def answer(
        self, questions: Sequence[str], context: OperationContext[Any] | None = None
    ) -> tuple[AnsweredQuestion, ...]:
        """Answer questions.

        A text that asks for something else than an answer is told what to use instead, without any search.

        Args:
            questions: 1 to 1,000 texts of 1 to 2,000 characters.
            context: Its signal stops the run, its diagnostics hear how it went.

        Returns:
            One answer a question, in the order of the questions.

        Raises:
            UsageError: A question is blank or too long, or there are none or too many.
            DependencyError: A store or the embedding model did not answer; never "no evidence" instead. A chat model
                that does not answer is no error: the evidence is quoted.
            OperationCancelledError: The run is no longer wanted.
        """
        asked = _checked_questions(questions)
        intents = [route_by_rules(question) for question in asked]
        looked_up = [
            place for place, intent in enumerate(intents) if not self._options.routes or intent.predicate in _ANSWERED
        ]
        answers = {
            place: self._instead(asked[place], intent)
            for place, intent in enumerate(intents)
            if place not in set(looked_up)
        }
        if looked_up:
            answers |= await self._looked_up(asked, intents, looked_up, context)
        return tuple(answers[place] for place in range(len(asked)))

    async def _looked_up(
        self,
        asked: Sequence[str],
        intents: Sequence[Intent],
        places: Sequence[int],
        context: OperationContext[Any] | None,
    ) -> dict[int, AnsweredQuestion]:
        models = ChatRunner(self._chat, self._options.max_calls)
        run = AskRun(self._ports, models, self._options.max_passages)
        given = context or OperationContext(app=None)
        own = OperationContext(app=run, signal=given.signal, diagnostics=given.diagnostics.child("ask"))
        results = await self._flow.results([asked[place] for place in places], own)
        return {
            place: self._record(result, intents[place], models) for place, result in zip(places, results, strict=True)
        }

    def _record(self, result: AnswerResult[Evidence, Draft], intent: Intent, models: ChatRunner) -> AnsweredQuestion:
        evidence, draft = result.item.data, result.value
        text, sources = ("", ()) if isinstance(draft, Unset) else numbered_answer(draft.answer.text, evidence)
        taken = models.taken(result.item.id)
        answered = AnsweredQuestion(
            question=evidence.question,
            status=result.status,
            kind=None if isinstance(draft, Unset) else draft.kind,
            text=text,
            sources=sources,
            source_status=evidence.status,
            issues=result.issues,
            checks=AnswerCheckOutcomes(local=_outcome(result.checks.local), review=_outcome(result.checks.review)),
            language=evidence.language,
            predicate=intent.predicate,
            mode=evidence.mode,
            evidence_score=evidence.verdict.score,
            generator="chat" if self._chat else "extractive",
            model=self._chat.profile.model if self._chat else "",
            prompt_version=fingerprint("ask-prompts", ANSWER_PROMPT.version, REVIEW_PROMPT.version)
            if self._chat
            else "",
            usage=AnswerUsage(
                calls=taken.calls,
                cached_calls=taken.cached_calls,
                input_tokens=taken.input_tokens,
                output_tokens=taken.output_tokens,
            ),
        )
        # Whoever knows a queue of feedback puts what became of it in its place.
        return answered.model_copy(update={"takeover": _UNGOVERNED}) if answered.needs_person else answered

    def _instead(self, question: str, intent: Intent) -> AnsweredQuestion:
        language = language_of(question)
        message = f"The text asks for {intent.predicate} ({intent.reason}), not for an answer out of the documents."
        return AnsweredQuestion(
            question=question,
            status="fallback",
            kind="instead",
            text=INSTEAD[intent.predicate][language],
            sources=(),
            source_status="unavailable",
            issues=(CheckIssue(code="OTHER_INTENT", message=message, repairable=False),),
            checks=_PASSED,
            language=language,
            predicate=intent.predicate,
            mode="",
            evidence_score=0.0,
            generator="chat" if self._chat else "extractive",
        )


def _chat_of(ports: AskPorts, options: AskOptions) -> ChatModel | None:
    """The chat model that writes; None where the evidence is quoted."""
    chat = None if options.generator == "extractive" else ports.chat
    wanted = "an answer that a model writes" if options.generator == "chat" else ""
    if options.review in ("required", "optional"):
        wanted = wanted or f"the review policy {options.review}"
    if chat is None and wanted:
        raise UsageError(
            f"There is no chat model for {wanted}.",
            remedy="Name one under models.chat of the recipe and build again; quotes need no review.",
        )
    return chat


def _checked_questions(questions: Sequence[str]) -> list[str]:
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise UsageError(
            f"{len(questions)} questions were asked at once; it must be 1 to {MOST_QUESTIONS}.",
            remedy="Ask them in several runs.",
        )
    return [checked_request(question, 1, ()).query for question in questions]


def _outcome(result: CheckResult[Draft]) -> CheckOutcome:
    return CheckOutcome(status=result.status, issues=result.issues)
