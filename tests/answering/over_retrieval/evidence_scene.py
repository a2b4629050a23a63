"""Evidence made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from lorebase.answering.flow_model import SourceStatus
from lorebase.answering.over_retrieval.evidence import Evidence, evidence_passages
from lorebase.documents.model import Chunk
from lorebase.retrieval.answerability import Answerability
from lorebase.retrieval.model import SearchResult, result_of

ENOUGH = Answerability(answerable=True, score=0.9, threshold=0.5, reason="ENOUGH_EVIDENCE")


def result(text: str, *, document: str = "doc", headings: tuple[str, ...] = (), rank: int = 1) -> SearchResult:
    """A result of a document with one chunk."""
    chunk = Chunk(
        f"chunk of {document}", document, f"{document}#1", f"{document}.md", "files", 0, text, 0, len(text), headings
    )
    return result_of(chunk, rank=rank, score=1.0)


def evidence(question: str, texts: Sequence[str], *, status: SourceStatus = "ready") -> Evidence:
    """Evidence of one document a text, named doc-1, doc-2, ..."""
    results = [result(text, document=f"doc-{rank}", rank=rank) for rank, text in enumerate(texts, start=1)]
    return Evidence(
        question=question,
        passages=evidence_passages(results, 20),
        status=status,
        verdict=ENOUGH,
        mode="hybrid_search",
        conflicting=(1, 2) if status == "conflict" else (),
    )
