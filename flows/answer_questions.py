"""The deployable flow that answers questions from a knowledge base and shows the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from prefect import flow
from prefect.artifacts import acreate_markdown_artifact
from prefect.runtime import flow_run
from pydantic import BaseModel, Field

from flows.workspaces import opened_workspace
from lorebase.answering.over_retrieval import AnsweredQuestion, AnswerSource, AskOptions
from lorebase.asked_bases import answers_from
from lorebase.governance.context import Capability, PrincipalContext

_MARKDOWN_SIGNS = "\\`*_[]<>|#~!&"


class AnswerOptions(BaseModel):
    """What is asked, of which base, and what it may take."""

    base: str = Field(title="Knowledge base", description="Its name.", min_length=1)
    questions: list[str] = Field(
        title="Questions",
        description="Each is answered; the answers come in this order.",
        min_length=1,
        max_length=1_000,
    )
    workspace: str = Field(
        ".lorebase", title="Workspace", description="Its folder, or block:NAME of a saved LorebaseWorkspace block."
    )
    generator: Literal["auto", "chat", "extractive"] = Field(
        "auto",
        title="Generator",
        description="chat: the recipe's chat model; extractive: quotes; auto: a model if any.",
    )
    review: Literal["required", "optional", "off"] | None = Field(
        None, title="Review", description="By the chat model; empty is optional where there is one."
    )
    max_calls: int = Field(
        200, ge=0, title="Model budget", description="Most calls to the chat model for all questions together."
    )
    organ_id: int = Field(
        1, ge=1, lt=1 << 63, title="Organisation", description="Whose governed knowledge answers, where it has any."
    )

    def as_ask_options(self) -> AskOptions:
        """The options of the answers themselves."""
        return AskOptions(generator=self.generator, review=self.review, max_calls=self.max_calls)


def answers_key(base_name: str) -> str:
    """Key of a knowledge base's answers artifact; its runs are versions of one artifact."""
    return f"{base_name}-answers"


def _run_name() -> str:
    options = AnswerOptions.model_validate(flow_run.parameters["options"], from_attributes=True)
    return f"answer from {options.base}"


@flow(name="answer-questions", flow_run_name=_run_name)
async def answer_questions(options: AnswerOptions) -> dict[str, Any]:
    """Answer questions, show the answers with their sources, and return them.

    Args:
        options: What is asked, of which base, and what it may take.
    """
    caller, how = _caller(options), options.as_ask_options()
    async with opened_workspace(options.workspace) as workspace:
        answers = await answers_from(workspace, caller, options.base, options.questions, how)
    await acreate_markdown_artifact(
        answers_markdown(options.base, answers),
        key=answers_key(options.base),
        description=f"Answers from {options.base}",
    )
    without_texts = {"sources": {"__all__": {"text"}}}
    return {
        "statuses": _statuses(answers),
        "model_calls": sum(answer.usage.calls for answer in answers),
        "answers": [answer.model_dump(mode="json", exclude=without_texts) for answer in answers],
    }


def _caller(options: AnswerOptions) -> PrincipalContext:
    """The flow run as a caller, who may ask and say where a person has to answer."""
    run_id = str(flow_run.id or "")
    return PrincipalContext(
        organ_id=options.organ_id,
        user_id="flow",
        capabilities=frozenset({Capability.READ, Capability.FEEDBACK}),
        trace_id=run_id,
        request_id=run_id,
    )


def answers_markdown(base_name: str, answers: Sequence[AnsweredQuestion]) -> str:
    """The answers for people; nothing in a question or a document is markup."""
    counts = ", ".join(f"{count} {status}" for status, count in _statuses(answers).items())
    calls = sum(answer.usage.calls for answer in answers)
    parts = [f"# {_escaped(base_name)}: {counts}", f"{calls} calls to a chat model."]
    for answer in answers:
        kind = f"{answer.status}, {answer.kind}" if answer.kind else answer.status
        parts.append(f"## {_escaped(answer.question)}\n\n*{_escaped(kind)}*")
        parts.append("  \n".join(_escaped(line) for line in answer.text.splitlines()))
        parts.append("\n".join(_source_line(source) for source in answer.sources))
        parts.append("\n".join(f"- `{issue.code}` {_escaped(issue.message)}" for issue in answer.issues))
    return "\n\n".join(part for part in parts if part) + "\n"


def _source_line(source: AnswerSource) -> str:
    place = " > ".join((source.document.name, *source.citation.heading_path))
    page = f", page {source.citation.page}" if source.citation.page is not None else ""
    rows = f", rows {source.citation.first_row}-{source.citation.last_row}" if source.citation.first_row else ""
    return f"{source.number}. {_escaped(place)}{page}{rows}"


def _statuses(answers: Sequence[AnsweredQuestion]) -> dict[str, int]:
    return dict(Counter(answer.status for answer in answers))


def _escaped(text: str) -> str:
    line = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in _MARKDOWN_SIGNS else sign for sign in line)
