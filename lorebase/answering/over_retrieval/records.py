"""The answer to a question as it leaves the program: text, numbered sources, status, issues, checks."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lorebase.answering.flow_model import AnswerStatus, SourceStatus
from lorebase.answering.over_retrieval.drafts import DraftKind
from lorebase.answering.ready_checks.claims import cited_numbers
from lorebase.operation.issues import CheckIssue
from lorebase.retrieval.model import Citation, ResultDocument


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnswerSource(_Frozen):
    """One numbered source of an answer."""

    number: int = Field(ge=1, description="The answer cites it as [number].")
    snapshot_id: str = Field(description="Identity of what was read: document, revision, language and text.")
    revision_id: str = Field(description="Version of the document; for a governed item its published revision.")
    chunk_id: str
    document: ResultDocument
    citation: Citation
    text: str = Field(description="What stands there.")


class CheckOutcome(_Frozen):
    """How a check came out."""

    status: Literal["passed", "failed"]
    issues: tuple[CheckIssue, ...] = ()


class AnswerCheckOutcomes(_Frozen):
    """Both checks of an answer: of the text that is delivered, and of the last one that was generated."""

    local: CheckOutcome
    review: CheckOutcome


class AnswerUsage(_Frozen):
    """What a chat model took for an answer."""

    calls: int = 0
    cached_calls: int = Field(0, description="Calls answered by kept replies; they took nothing.")
    input_tokens: int = 0
    output_tokens: int = 0


class Takeover(_Frozen):
    """That a person has to answer, and whether operators were told so."""

    recorded: bool = Field(description="Whether it is in the operators' queue of feedback.")
    reason: Literal["", "UNGOVERNED_BASE", "FORBIDDEN", "NOTHING_CITED"] = Field(
        "",
        description="Why it is not: a base without governance has no such queue, the caller may give no feedback, or "
        "there was no evidence to give it on.",
    )
    feedback_ids: tuple[str, ...] = Field((), description="What was recorded, on what the answer would have cited.")


class AnsweredQuestion(_Frozen):
    """A question with its answer. The numbers cited in the text are those of the sources, in order of first use."""

    schema_version: int = 1
    question: str
    status: AnswerStatus = Field(
        description="accepted: passed every check. fallback: evidence or a fixed text instead. blocked: no text at all."
    )
    kind: DraftKind | None = Field(
        description="written by a model, quoted from the evidence, a contradiction of it, a pointer to evidence in "
        "other_language; fixed texts: no_evidence, no_subject (nothing is named that can be looked up), hand_over, "
        "instead (the text asks for no answer). None if blocked."
    )
    text: str = Field(description="The answer with its citations; empty if blocked.")
    sources: tuple[AnswerSource, ...]
    source_status: SourceStatus = Field(description="Whether there was evidence: ready, unavailable, conflict.")
    issues: tuple[CheckIssue, ...] = Field(description="What led to a fallback or to nothing; empty when accepted.")
    checks: AnswerCheckOutcomes
    language: Literal["en", "zh"] = Field(description="Language of the program's own words; zh for Chinese questions.")
    predicate: str = Field(description="What the text asks for, by the intent router.")
    mode: str = Field(description="Query mode of the search; empty where there was none.")
    evidence_score: float = Field(ge=0, le=1, description="How sure it is that there is evidence.")
    generator: Literal["chat", "extractive"]
    model: str = Field("", description="Chat model; empty without one.")
    prompt_version: str = Field("", description="Digest of the prompts; empty without a model.")
    usage: AnswerUsage = AnswerUsage()
    takeover: Takeover | None = Field(None, description="Set where a person has to answer: blocked, or hand_over.")

    @property
    def needs_person(self) -> bool:
        """Whether nobody but a person can answer; a base that holds no evidence is no such case."""
        return self.status == "blocked" or self.kind == "hand_over"

    @model_validator(mode="after")
    def _numbers_agree(self) -> AnsweredQuestion:
        cited = tuple(dict.fromkeys(cited_numbers(self.text)))
        listed = tuple(source.number for source in self.sources)
        if cited != listed or listed != tuple(range(1, len(listed) + 1)):
            msg = f"the text cites {list(cited)}, the sources are numbered {list(listed)}"
            raise ValueError(msg)
        return self
