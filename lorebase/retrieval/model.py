"""What a query gives back."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from lorebase.documents.model import Chunk
from lorebase.retrieval.entry_results import CardResult, FaqResult
from lorebase.retrieval.provenance import FoundBy, QueryTrace, QueryUsage


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ResultDocument(_Frozen):
    """The document that a result stands in."""

    id: str
    name: str
    source: str
    source_type: str = Field("", description="What kind of document it is; empty where nothing classifies.")
    revision_id: str = Field("", description="Version of the document that the result was cut from.")
    revision_number: int | None = Field(None, description="Governed items: which of its revisions that is, from 1.")

    @property
    def pin(self) -> str:
        """What names this version of the document; of a governed item its revision's id and number."""
        return self.revision_id if self.revision_number is None else f"{self.revision_id}/{self.revision_number}"


class Citation(_Frozen):
    """Where a result stands in its document.

    `page` counts from 1: page of a PDF, slide or sheet, none elsewhere. `first_row` and `last_row` count the rows of a
    table from 1, without its header, none elsewhere.
    """

    heading_path: tuple[str, ...]
    page: int | None
    page_label: str = ""
    start: int
    end: int
    first_row: int | None = None
    last_row: int | None = None


class ComponentScores(_Frozen):
    """What each search gave a chunk: its cosine and its BM25; none where that search did not find it.

    `rerank` is what the reranker gave it, 0 to 1; none where it was not reranked, or the reranker left it out.
    """

    vector: float | None = None
    full_text: float | None = None
    rerank: float | None = None


class SearchResult(_Frozen):
    """One chunk that a query found."""

    rank: int
    score: float
    chunk_id: str
    text: str
    document: ResultDocument
    citation: Citation
    graph_paths: tuple[str, ...] = Field((), description="Graph search: entities and relations that led to it.")
    scores: ComponentScores | None = Field(None, description="What the searches behind `score` gave it.")
    provenance: tuple[FoundBy, ...] = Field((), description="Modes that ask a model: the searches that found it.")
    card: CardResult | None = Field(None, description="Card search: the card, whose first cited chunk this result is.")
    faq: FaqResult | None = Field(None, description="FAQ search: the entry; its id stands for that of a chunk.")


class QueryResult(_Frozen):
    """The results of a query, best first."""

    mode: str
    query: str
    results: tuple[SearchResult, ...]
    trace: QueryTrace | None = Field(None, description="Modes that ask a model: what was done.")
    usage: QueryUsage | None = Field(None, description="Modes that ask a model: what the models took.")


def result_of(chunk: Chunk, *, rank: int, score: float, scores: ComponentScores | None = None) -> SearchResult:
    """The result that stands for a chunk; `rank` counts from 1."""
    text = f"{chunk.table_header.rstrip()}\n{chunk.text}" if chunk.table_header else chunk.text
    return SearchResult(
        rank=rank,
        score=score,
        chunk_id=chunk.chunk_id,
        text=text,
        scores=scores,
        document=ResultDocument(
            id=chunk.document_id, name=chunk.document_name, source=chunk.source, revision_id=chunk.revision_id
        ),
        citation=Citation(
            heading_path=chunk.heading_path,
            page=chunk.page,
            page_label=chunk.page_label,
            start=chunk.start,
            end=chunk.end,
            first_row=chunk.first_row,
            last_row=chunk.last_row,
        ),
    )
