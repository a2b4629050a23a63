"""The two generators: one has a chat model write sentences with citations, one quotes the evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol, TypeAlias

import regex
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lorebase.answering.flow_model import AnswerItem, GenerateRequest
from lorebase.answering.over_retrieval.drafts import Draft
from lorebase.answering.over_retrieval.evidence import Evidence
from lorebase.answering.over_retrieval.extractive import extractive_answer
from lorebase.answering.over_retrieval.pieces import single_line
from lorebase.answering.over_retrieval.prompts import ANSWER_PROMPT, answer_request_text
from lorebase.answering.over_retrieval.runner import ChatRunner, StructuredCall
from lorebase.answering.ready_checks import GroundedAnswer
from lorebase.answering.ready_checks.claims import cited_numbers, claims_of
from lorebase.errors import ModelUnavailableError
from lorebase.extraction.languages import Language
from lorebase.models.chat import ChatRequest
from lorebase.operation.context import OperationContext

MOST_SENTENCES = 8
_END = regex.compile(r"[.!?。！？…][\"'”’»」』）)】\]]*$")
ANSWER_TEMPERATURE = 0.0


class HasChatRunner(Protocol):
    """An application with a chat model for its run."""

    @property
    def models(self) -> ChatRunner:
        """The model."""
        ...

    @property
    def session_id(self) -> str:
        """Keeps requests on one route; see `ChatRequest`."""
        ...


Items: TypeAlias = GenerateRequest[Evidence, Draft]


class WrittenSentence(BaseModel):
    """One sentence of a model's answer."""

    model_config = ConfigDict(frozen=True)

    text: str = Field(min_length=1, max_length=2_000)
    citations: tuple[int, ...] = Field((), max_length=20, description="Numbers of passages.")


class WrittenAnswer(BaseModel):
    """What a model answers."""

    model_config = ConfigDict(frozen=True)

    found: bool = Field(description="Whether the passages answer the question.")
    sentences: tuple[WrittenSentence, ...] = Field((), max_length=MOST_SENTENCES)

    @model_validator(mode="after")
    def _has_sentences(self) -> WrittenAnswer:
        if self.found != bool(self.sentences):
            msg = "found must be true exactly where there are sentences"
            raise ValueError(msg)
        return self


async def generate_extracts(request: Items, context: OperationContext[object]) -> Mapping[str, Draft]:
    """Quote the evidence of each item; items without a fitting sentence are left out."""
    drafts: dict[str, Draft] = {}
    for item in request.items:
        context.signal.raise_if_cancelled()
        answer = await asyncio.to_thread(extractive_answer, item.data)
        if answer is not None:
            drafts[item.id] = Draft(answer, "quoted")
    return drafts


async def generate_with_chat(request: Items, context: OperationContext[HasChatRunner]) -> Mapping[str, Draft]:
    """Have the chat model answer each item, one call an item; those without a usable answer are left out.

    Raises:
        ModelUnavailableError: No item got an answer, and the model cannot be called.
    """
    asked = [_answer_of(item, request, context) for item in request.items]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    drafts: dict[str, Draft] = {}
    unavailable: ModelUnavailableError | None = None
    for item, answer in zip(request.items, answers, strict=True):
        if isinstance(answer, ModelUnavailableError):
            unavailable = answer
        elif isinstance(answer, BaseException):
            raise answer
        elif answer is not None:
            evidence = item.data
            text = _written_text(answer, evidence.language)
            if text or not answer.found:
                grounded = GroundedAnswer(question=evidence.question, text=text, passages=evidence.checkable)
                drafts[item.id] = Draft(grounded, "written")
    if unavailable is not None and not drafts:
        raise unavailable
    return drafts


async def _answer_of(
    item: AnswerItem[Evidence], request: Items, context: OperationContext[HasChatRunner]
) -> WrittenAnswer | None:
    evidence = item.data
    former = (request.previous or {}).get(item.id)
    text = answer_request_text(
        evidence, (request.repairs or {}).get(item.id, ()), former.answer.text if former is not None else ""
    )
    chat_request = ChatRequest(
        prompt=text,
        system=ANSWER_PROMPT.instructions(evidence.language, most=MOST_SENTENCES),
        temperature=ANSWER_TEMPERATURE,
        session_id=context.app.session_id,
    )
    return await context.app.models.run(StructuredCall(item.id, chat_request, WrittenAnswer))


def _written_text(answer: WrittenAnswer, language: Language) -> str:
    """The sentences as one text, each with its citations behind it, wherever the model put them.

    Where prose would run two of them together, so that one hides behind the citation of another, they become a list.
    """
    sentences = [line for sentence in answer.sentences for line in _cited(sentence, language)]
    prose = ("" if language == "zh" else " ").join(sentences)
    return prose if len(claims_of(prose)) == len(sentences) else "\n".join(f"- {line}" for line in sentences)


def _cited(sentence: WrittenSentence, language: Language) -> list[str]:
    """What the model gave as a sentence, with its citations behind each sentence that it really is."""
    numbers = dict.fromkeys((*cited_numbers(sentence.text), *sentence.citations))
    marks = "".join(f"[{number}]" for number in numbers)
    mark = f" {marks}" if marks and language != "zh" else marks
    texts = [single_line(claim.text) for claim in claims_of(sentence.text)]
    return [f"{_ended(text, language)}{mark}" for text in texts]


def _ended(text: str, language: Language) -> str:
    return text if _END.search(text) else f"{text}{'。' if language == 'zh' else '.'}"
