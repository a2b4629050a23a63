"""Evidence: what a query found, as pinned readings of knowledge documents, with the verdict whether it is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from lorebase.answering.documents import KnowledgeDocument, KnowledgeSection
from lorebase.answering.flow_model import SourceStatus
from lorebase.answering.knowledge import KnowledgeRead, KnowledgeSnapshot, Selection, define_knowledge_catalog
from lorebase.answering.ready_checks.grounded import Passage
from lorebase.extraction.languages import Language, language_of
from lorebase.models.ports import EmbeddingProfile
from lorebase.retrieval.model import QueryResult, SearchResult


class Verdict(Protocol):
    """Whether results are enough evidence; `lorebase.retrieval.answerability.Answerability` is one."""

    @property
    def answerable(self) -> bool:
        """Whether they are."""
        ...

    @property
    def score(self) -> float:
        """How sure that is, 0 to 1."""
        ...

    @property
    def reason(self) -> str:
        """Why, as UPPER_SNAKE."""
        ...


Judge: TypeAlias = Callable[[str, Sequence[SearchResult], EmbeddingProfile | None], Verdict]
"""Decides whether the results of a question are enough evidence for an answer."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a base found for a question.

    Attributes:
        result: The results, best first.
        profile: Profile of the vectors behind them; None where there are none.
        verdict: Whether they are enough evidence, where the search has decided that already.
    """

    result: QueryResult
    profile: EmbeddingProfile | None = None
    verdict: Verdict | None = None


class Search(Protocol):
    """Searches a base for a question."""

    async def __call__(self, question: str, /) -> Found:
        """What it finds.

        Raises:
            DependencyError: A store or a model did not answer; never an empty result instead.
        """
        ...


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """One result as evidence.

    Attributes:
        snapshot: The reading of the document that it is; its id pins document, revision and text.
        result: Where it stands.
        language: What it is written in.
    """

    snapshot: KnowledgeSnapshot
    result: SearchResult
    language: Language

    @property
    def text(self) -> str:
        """What it says."""
        return self.snapshot.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A question with its evidence.

    Attributes:
        question: What was asked.
        passages: Numbered from 1, best first.
        status: Whether there is enough, none, or evidence against evidence.
        verdict: What that was told by.
        mode: Query mode that found it.
        conflicting: Numbers of the passages that contradict each other.
    """

    question: str
    passages: tuple[EvidencePassage, ...]
    status: SourceStatus
    verdict: Verdict
    mode: str
    conflicting: tuple[int, ...] = ()

    @property
    def language(self) -> Language:
        """What the question is written in."""
        return language_of(self.question)

    @property
    def checkable(self) -> tuple[Passage, ...]:
        """The passages as checks of citations take them."""
        return tuple(Passage(passage.snapshot.id, passage.text) for passage in self.passages)

    def with_conflict(self, numbers: tuple[int, ...]) -> Evidence:
        """The same evidence, of which these passages contradict each other."""
        return replace(self, status="conflict", conflicting=numbers)

    @property
    def in_own_language(self) -> tuple[int, ...]:
        """Numbers of the passages in the question's language."""
        return tuple(
            number for number, passage in enumerate(self.passages, start=1) if passage.language == self.language
        )


def evidence_passages(results: Sequence[SearchResult], most: int) -> tuple[EvidencePassage, ...]:
    """The first results as readings of knowledge documents; results that say nothing, or the same again, are left out.

    Each result is a section of a document of its own, so that the identity of its reading depends on nothing else that
    the query happened to find.

    Args:
        results: What a query found, best first.
        most: Most passages.
    """
    passages: dict[str, EvidencePassage] = {}
    for result in results:
        if result.text.strip() and len(passages) < most:
            passage = _passage_of(result)
            passages.setdefault(passage.text, passage)
    return tuple(passages.values())


def _passage_of(result: SearchResult) -> EvidencePassage:
    language = language_of(result.text)
    document = KnowledgeDocument(
        id=result.document.id,
        revision=result.document.pin or result.chunk_id,
        locale=language,
        parts=(KnowledgeSection(result.chunk_id, (result.text,)),),
    )
    read = KnowledgeRead(document_id=document.id, selection=Selection("self", (result.chunk_id,)))
    return EvidencePassage(define_knowledge_catalog([document]).read(read), result, language)
