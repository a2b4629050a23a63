"""What an evaluation asks and what it finds out."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Expected(_Frozen):
    """What answers a question: one of the chunks; or a chunk with one of the texts, in one of the documents.

    Where there are chunks, they alone count; where there are no texts, any chunk of the documents does.

    `documents` and `chunks` have grades, 1 or more. `texts` are other wordings of one answer.
    """

    documents: dict[str, int] = Field(default_factory=dict, description="Names or ids of documents, with grades.")
    chunks: dict[str, int] = Field(default_factory=dict, description="Chunk ids, with grades.")
    texts: tuple[str, ...] = Field((), description="A chunk that contains one of them answers the question.")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is expected."""
        return not (self.documents or self.chunks or self.texts)


class EvaluationCase(_Frozen):
    """One question.

    `answerable` is None where that is to be found out: answerable if the base holds one of the expected texts.
    """

    case_id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    expected: Expected = Expected()
    answerable: bool | None = True
    place: str = Field("", description="Where the case stands in its file.")


class DataSet(_Frozen):
    """Questions of one data set, in its order."""

    name: str
    cases: tuple[EvaluationCase, ...] = Field(min_length=1)


class QueryError(_Frozen):
    """Why a query gave nothing."""

    code: str
    message: str


class Found(_Frozen):
    """One result of a query, as far as it is kept."""

    chunk_id: str
    document: str
    score: float
    is_relevant: bool
    citation_resolves: bool


class QueryOutcome(_Frozen):
    """What became of one question. A query that failed has an error, and zero in every measure."""

    case_id: str
    question: str
    answerable: bool
    judged_answerable: bool
    answerability_score: float
    found: tuple[Found, ...]
    values: dict[str, float] = Field(description="Every measure that is defined for this question.")
    seconds: float = Field(ge=0)
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    error: QueryError | None = None


class Latency(_Frozen):
    """Seconds of the queries, failed ones included."""

    mean_seconds: float
    p50_seconds: float
    p95_seconds: float
    max_seconds: float


class Cost(_Frozen):
    """What the models behind the queries took; `usd` needs prices in the recipe."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    usd: float


class EvaluationResult(_Frozen):
    """A whole evaluation: means over its questions, and every single one."""

    schema_version: int = 1
    base_name: str
    snapshot_id: str
    data_set: str
    mode: str
    top_k: int
    evaluated_at: datetime
    questions: int
    answerable_questions: int
    errors: int
    metrics: dict[str, float]
    latency: Latency
    cost: Cost
    outcomes: tuple[QueryOutcome, ...]
