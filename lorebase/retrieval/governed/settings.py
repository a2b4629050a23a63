"""The bounds of retrieval that an operator may set."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class RetrievalSettings(BaseModel):
    """Bounds, budget and thresholds of retrieval from governed knowledge."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget_seconds: float = Field(5.0, gt=0, description="Longest time of a retrieval, in seconds.")
    max_rerank_texts: int = Field(50, ge=1, le=50, description="Most candidates that a reranker is given.")
    min_evidence: int = Field(1, ge=1, le=20, description="How many pieces of evidence make a question answerable.")
    min_rerank_score: float = Field(0.2, ge=0, le=1, description="Rerank score below which nothing is evidence.")
    min_scores: dict[str, float] = Field(
        default_factory=dict,
        description="Cosine below which a passage is no evidence, by embedding model; others use their own.",
    )
