"""What retrieval from governed knowledge gives back."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lorebase.retrieval.answerability import Answerability
from lorebase.retrieval.model import Citation, ComponentScores, SearchResult


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Evidence(_Frozen):
    """A chunk that supports an answer, with where it stands. Its ids resolve for ever (`resolve_citation`).

    Ids are text: numbers above 2^53 change on their way through a browser.
    """

    rank: int = Field(description="From 1.")
    score: float
    scores: ComponentScores | None = None
    chunk_id: str
    revision_id: str
    item_id: str
    document_name: str
    text: str
    citation: Citation


class RetrievalResult(_Frozen):
    """Evidence, or that there is none. A dependency that failed is an error and never one of the two.

    Nobody may make up an answer from `NO_EVIDENCE`.
    """

    answerable: bool
    reason: Literal["", "NO_EVIDENCE"] = Field("", description="Why it is not answerable.")
    evidence: tuple[Evidence, ...] = Field((), description="Best first; empty unless answerable.")
    mode: str
    verdict: Answerability

    @property
    def source_status(self) -> Literal["ready", "unavailable"]:
        """What an answer flow is told about its source; that sources contradict each other only a checker can tell."""
        return "ready" if self.answerable else "unavailable"


def evidence_of(result: SearchResult, rank: int) -> Evidence:
    """The evidence that a search result stands for."""
    return Evidence(
        rank=rank,
        score=result.score,
        scores=result.scores,
        chunk_id=result.chunk_id,
        revision_id=result.document.revision_id,
        item_id=result.document.id,
        document_name=result.document.name,
        text=result.text,
        citation=result.citation,
    )
