"""From questions to checked answers: search, judge, generate, check, review, repair, fall back, number the sources."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field

from lorebase.answering.flow import AnswerFlow, define_answer_flow
from lorebase.answering.flow_model import (
    AnswerFlowDefinition,
    AnswerItem,
    AnswerRequest,
    AnswerResult,
    FallbackRequest,
    Handled,
    ItemValue,
    ReviewPolicy,
)
from lorebase.answering.model_runner import calls_remain
from lorebase.answering.over_retrieval.conflicts import Conflicts, diverging_figures
from lorebase.answering.over_retrieval.drafts import CHECKS_OF_KIND, Draft, check_draft, local_checks
from lorebase.answering.over_retrieval.evidence import Evidence, Judge, Search, evidence_passages
from lorebase.answering.over_retrieval.fallbacks import fallback_draft
from lorebase.answering.over_retrieval.generation import generate_extracts, generate_with_chat
from lorebase.answering.over_retrieval.options import AskOptions
from lorebase.answering.over_retrieval.review import review_with_chat
from lorebase.answering.over_retrieval.runner import ChatRunner
from lorebase.answering.sources import source_status_of
from lorebase.answering.tasks import (
    AnswerReader,
    AnswerReaderContext,
    AnswerTaskCatalog,
    AnswerTaskDefinition,
    AnswerTaskPorts,
    ReadRequest,
    define_answer_reader_catalog,
    define_answer_task_catalog,
)
from lorebase.models.chat import ChatModel
from lorebase.operation.catalogs import ReadonlyCatalog
from lorebase.operation.check_results import CheckResult
from lorebase.operation.context import OperationContext
from lorebase.operation.schemas import PydanticSchema
from lorebase.retrieval.answerability import answerability

MOST_QUESTIONS: Final = 1_000
SEARCHES_AT_ONCE: Final = 8
QUESTION_TASK: Final = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPorts:
    """What answers are made with.

    Attributes:
        search: Finds evidence.
        judge: Decides whether it is enough, where the search does not.
        conflicts: Tells which of it contradicts itself.
        chat: Writes and reviews; None to quote the evidence.
        session_id: Of the requests to the chat model.
    """

    search: Search
    judge: Judge = answerability
    conflicts: Conflicts = diverging_figures
    chat: ChatModel | None = None
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class AskRun:
    """The application of one run, as the handlers of the flow see it."""

    ports: AskPorts
    models: ChatRunner
    max_passages: int

    @property
    def session_id(self) -> str:
        """Of the requests to the chat model."""
        return self.ports.session_id


class Question(BaseModel):
    """Input of the task."""

    question: str = Field(min_length=1, max_length=2_000)


@dataclass(frozen=True, slots=True)
class _ReplyText:
    """The output of the task: a text with citations."""

    id: str = "reply-text"


@dataclass(frozen=True, slots=True)
class RetrievalReader:
    """Reads the evidence for a question out of a knowledge base."""

    id: str = "retrieval"

    async def read(self, task_input: Question, context: AnswerReaderContext[AskRun]) -> Evidence:
        """Search, judge, and look for contradictions.

        Raises:
            DependencyError: A store or a model did not answer: that is no question without evidence.
        """
        ports = context.app.ports
        found = await ports.search(task_input.question)
        passages = evidence_passages(found.result.results, context.app.max_passages)
        verdict = found.verdict or ports.judge(task_input.question, found.result.results, found.profile)
        answerable = verdict.answerable and bool(passages)
        evidence = Evidence(
            question=task_input.question,
            passages=passages,
            status=source_status_of(answerable=answerable),
            verdict=verdict,
            mode=found.result.mode,
        )
        conflicting = await asyncio.to_thread(ports.conflicts, evidence) if answerable else ()
        return evidence.with_conflict(conflicting) if conflicting else evidence


class AskFlow:
    """The task and the flow for questions over a base. It keeps nothing of its runs.

    Args:
        options: How questions are answered.
        with_chat: Whether a chat model writes; otherwise the evidence is quoted.
    """

    def __init__(self, options: AskOptions, *, with_chat: bool) -> None:
        self._options = options
        self._checks = local_checks(options.max_answer_chars)
        self._tasks = self._task_catalog(with_chat=with_chat)
        self._flow = self._answer_flow(with_chat=with_chat)

    async def results(
        self, questions: Sequence[str], context: OperationContext[AskRun]
    ) -> tuple[AnswerResult[Evidence, Draft], ...]:
        """The results of at least one question, in the order of the questions.

        Raises:
            DependencyError: The evidence of a question could not be read.
            OperationCancelledError: The run is no longer wanted.
        """
        evidence = await self._evidence(questions, context)
        items = [
            AnswerItem(id=f"answer-{number}", input_ids=(f"question-{number}",), source_status=found.status, data=found)
            for number, found in enumerate(evidence, start=1)
        ]
        request = AnswerRequest(input_ids=[item.input_ids[0] for item in items], items=items)
        return await self._flow.run(request, context)

    async def _evidence(self, questions: Sequence[str], context: OperationContext[AskRun]) -> list[Evidence]:
        """The evidence of each question; the first failure ends all searches."""
        turns = asyncio.Semaphore(SEARCHES_AT_ONCE)

        async def read(question: str) -> Evidence:
            async with turns:
                return await self._tasks.read_async(
                    ReadRequest(task_id=QUESTION_TASK, input={"question": question}), context
                )

        reading = [asyncio.create_task(read(question)) for question in questions]
        try:
            return list(await asyncio.gather(*reading))
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)

    def _task_catalog(self, *, with_chat: bool) -> AnswerTaskCatalog[Evidence, AskRun]:
        task: AnswerTaskDefinition[Question, None] = AnswerTaskDefinition(
            id=QUESTION_TASK,
            description="A question that is answered out of the documents of a knowledge base.",
            input_schema=PydanticSchema(Question),
            reader_id=RetrievalReader().id,
            output_id=_ReplyText().id,
            check_ids=CHECKS_OF_KIND["written" if with_chat else "quoted"],
            metadata=None,
        )
        reader: AnswerReader[Any, Evidence, AskRun] = RetrievalReader()
        readers = define_answer_reader_catalog([reader])
        outputs = ReadonlyCatalog("output", [_ReplyText()])
        return define_answer_task_catalog(
            [task], AnswerTaskPorts(readers=readers, outputs=outputs, checks=self._checks)
        )

    def _answer_flow(self, *, with_chat: bool) -> AnswerFlow[Evidence, Draft, AskRun]:
        options = self._options
        default_policy: ReviewPolicy = "optional" if with_chat else "off"
        return define_answer_flow(
            AnswerFlowDefinition(
                max_items=MOST_QUESTIONS,
                max_repairs=options.max_repairs if with_chat else 0,
                review_policy=options.review or default_policy,
                can_invoke=calls_remain if with_chat else _needs_no_model,
                generate=generate_with_chat if with_chat else generate_extracts,
                check=self._check,
                fallback=_fallback,
                review=review_with_chat,
            )
        )

    def _check(self, given: ItemValue[Evidence, Draft], context: OperationContext[AskRun]) -> CheckResult[Draft]:
        return check_draft(self._checks, given.value, context)


def _needs_no_model(context: OperationContext[Any]) -> bool:
    del context
    return True


def _fallback(request: FallbackRequest[Evidence], context: OperationContext[AskRun]) -> Handled[Draft]:
    del context
    return Handled(fallback_draft(request.item.data, request.issues))
