"""FAQ search: the entries whose question, or a variant of it, is nearest to what is asked."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lorebase.artifacts.kinds import partition_of
from lorebase.artifacts.manifest import Manifest, PartitionEntry, read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.faq.model import FAQ_ENTRIES, FaqEntry, phrasing_id_of
from lorebase.faq.questions import normal_answer, normal_question
from lorebase.index.ports import Candidate, Filter
from lorebase.retrieval.entries import EntrySearch, FoundEntry
from lorebase.retrieval.entry_results import FaqResult
from lorebase.retrieval.model import Citation, QueryResult, ResultDocument, SearchResult
from lorebase.retrieval.request import DEFAULT_TOP_K, checked_request

CACHED_PARTITIONS = 64


@dataclass(frozen=True, slots=True)
class FoundPhrasing:
    """A wording of an entry's question."""

    entry: FaqEntry
    phrasing: str


class SnapshotFaq:
    """Resolves candidates against the entries of one snapshot: what is disabled or gone is left out.

    Args:
        store: Where the base is.
        snapshot: The snapshot.
    """

    def __init__(self, store: ObjectStore, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        self._manifest: Manifest | None = None
        self._partitions: OrderedDict[str, dict[str, FoundPhrasing]] = OrderedDict()
        self._lock = threading.Lock()

    async def resolve(self, candidates: Sequence[Candidate]) -> Mapping[str, FoundPhrasing]:
        """The wordings of those candidates that the snapshot holds and that are enabled, by key."""
        return await asyncio.to_thread(self._resolve, candidates)

    def _resolve(self, candidates: Sequence[Candidate]) -> dict[str, FoundPhrasing]:
        reference = self._snapshot.artifacts.get(FAQ_ENTRIES.name)
        if reference is None:
            return {}
        if self._manifest is None:
            self._manifest = read_manifest(self._store, reference)
        found = {}
        for candidate in candidates:
            entry = self._manifest.entry(partition_of(candidate.document_id, self._manifest.partition_count))
            phrasing = self._read(entry).get(candidate.chunk_id) if entry else None
            if phrasing is not None:
                found[candidate.chunk_id] = phrasing
        return found

    def _read(self, entry: PartitionEntry) -> dict[str, FoundPhrasing]:
        with self._lock:
            if entry.sha256 in self._partitions:
                self._partitions.move_to_end(entry.sha256)
                return self._partitions[entry.sha256]
        rows = read_partition(self._store, BaseLayout(self._snapshot.base_name), FAQ_ENTRIES, entry)
        phrasings = {
            phrasing_id_of(row.entry_id, phrasing): FoundPhrasing(row, phrasing)
            for row in rows
            if row.enabled
            for phrasing in row.phrasings
        }
        with self._lock:
            self._partitions[entry.sha256] = phrasings
            while len(self._partitions) > CACHED_PARTITIONS:
                self._partitions.popitem(last=False)
        return phrasings


class FaqRetriever:
    """Answers queries with entries of a FAQ.

    Args:
        faq: The authority.
        entries: The FAQ index.
    """

    def __init__(self, faq: SnapshotFaq, entries: EntrySearch) -> None:
        self._faq = faq
        self._entries = entries

    async def faq_search(self, query: str, *, top_k: int = DEFAULT_TOP_K, where: Filter = ()) -> QueryResult:
        """The entries that fit best, each once: those that ask the very question first, then by how near they are.

        Raises:
            UsageError: Query or `top_k` out of range.
            DependencyError: Embedder, index or authority did not answer; never an empty result instead.
        """
        request = checked_request(query, top_k, where)
        asked = normal_question(request.query)
        best: dict[str, FoundEntry[FoundPhrasing]] = {}
        for one in await self._entries.search(request, self._faq.resolve):
            known = best.get(one.value.entry.entry_id)
            if known is None or (_is_exact(one, asked) and not _is_exact(known, asked)):
                best[one.value.entry.entry_id] = one
        ranked = sorted(best.values(), key=lambda one: (not _is_exact(one, asked), -one.score, one.entry_id))
        results = ranked[: request.top_k]
        return QueryResult(
            mode="faq_search",
            query=request.query,
            results=tuple(_result(one, rank, asked, results) for rank, one in enumerate(results, start=1)),
        )


def _is_exact(found: FoundEntry[FoundPhrasing], asked: str) -> bool:
    return bool(asked) and normal_question(found.value.phrasing) == asked


def _conflicts(entry: FaqEntry, others: Sequence[FoundEntry[FoundPhrasing]]) -> bool:
    questions = {normal_question(phrasing) for phrasing in entry.phrasings}
    return any(
        normal_answer(other.value.entry.answer) != normal_answer(entry.answer)
        and not questions.isdisjoint(normal_question(phrasing) for phrasing in other.value.entry.phrasings)
        for other in others
    )


def _result(
    found: FoundEntry[FoundPhrasing], rank: int, asked: str, results: Sequence[FoundEntry[FoundPhrasing]]
) -> SearchResult:
    entry = found.value.entry
    return SearchResult(
        rank=rank,
        score=found.score,
        chunk_id=entry.entry_id,
        text=f"{entry.question}\n{entry.answer}",
        scores=found.scores,
        document=ResultDocument(
            id=entry.document_id, name=entry.document_name, source=entry.source, revision_id=entry.revision_id
        ),
        citation=Citation(
            heading_path=entry.heading_path,
            page=entry.page,
            page_label=entry.sheet,
            start=entry.start,
            end=entry.end,
            first_row=entry.row,
            last_row=entry.row,
        ),
        faq=FaqResult(
            entry_id=entry.entry_id,
            question=entry.question,
            answer=entry.answer,
            variants=entry.variants,
            matched=found.value.phrasing,
            is_exact=_is_exact(found, asked),
            conflicts=_conflicts(entry, results),
            line=entry.line,
        ),
    )
