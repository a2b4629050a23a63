"""Card search: the cards that a person has accepted, checked against that decision at every query."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.cards.model import Card
from lorebase.cards.reading import snapshot_cards
from lorebase.cards.standing import StandingCard
from lorebase.index.ports import AnyOf, Candidate, Filter
from lorebase.retrieval.entries import EntrySearch, FoundEntry
from lorebase.retrieval.entry_results import CardResult, CardResultCitation
from lorebase.retrieval.model import Citation, QueryResult, ResultDocument, SearchResult
from lorebase.retrieval.request import DEFAULT_TOP_K, checked_request
from lorebase.runs.card_decisions import CardDecisionStore

MOST_IDS_ASKED_FOR = 2_000
"""Above it the index is not told which cards are accepted; the re-check tells."""


class ServedCards:
    """The accepted cards of a snapshot; read again whenever somebody has decided anything.

    Args:
        store: Where the base is.
        snapshot: The snapshot.
    """

    def __init__(self, store: ObjectStore, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        self._decisions = CardDecisionStore(store, BaseLayout(snapshot.base_name))
        self._read: tuple[tuple[str, ...], dict[str, StandingCard]] | None = None

    async def by_entry(self) -> dict[str, StandingCard]:
        """Every card that searches may show, by its key in the index."""
        return await asyncio.to_thread(self._by_entry)

    def _by_entry(self) -> dict[str, StandingCard]:
        decided = self._decisions.keys()
        if self._read is None or self._read[0] != decided:
            standing = snapshot_cards(self._store, self._snapshot)
            self._read = (decided, {one.entry_id: one for one in standing if one.is_served})
        return self._read[1]


class CardRetriever:
    """Answers queries with cards.

    Args:
        cards: The authority.
        entries: The card index.
    """

    def __init__(self, cards: ServedCards, entries: EntrySearch) -> None:
        self._cards = cards
        self._entries = entries

    async def card_search(self, query: str, *, top_k: int = DEFAULT_TOP_K, where: Filter = ()) -> QueryResult:
        """The accepted cards that fit best, each with the chunks that it cites.

        Raises:
            UsageError: Query or `top_k` out of range.
            DependencyError: Embedder, index or authority did not answer; never an empty result instead.
        """
        request = checked_request(query, top_k, where)
        served = await self._cards.by_entry()
        if not served:
            return QueryResult(mode="card_search", query=request.query, results=())
        if len(served) <= MOST_IDS_ASKED_FOR:
            request = replace(request, where=(*request.where, AnyOf("chunk_id", tuple(sorted(served)))))

        async def resolve(candidates: Sequence[Candidate]) -> Mapping[str, StandingCard]:
            return {one.chunk_id: served[one.chunk_id] for one in candidates if one.chunk_id in served}

        found = await self._entries.search(request, resolve)
        results = (_result(one, rank) for rank, one in enumerate(found[: request.top_k], start=1))
        return QueryResult(mode="card_search", query=request.query, results=tuple(results))


def _result(found: FoundEntry[StandingCard], rank: int) -> SearchResult:
    card = found.value.card
    cited = _cited(card)
    first = card.evidence[min(cited)] if cited else card.evidence[0]
    return SearchResult(
        rank=rank,
        score=found.score,
        chunk_id=first.chunk_id,
        text=card.text,
        scores=found.scores,
        document=ResultDocument(id=first.document_id, name=first.document_name, source=first.source),
        citation=Citation(heading_path=first.heading_path, page=first.page, start=first.start, end=first.end),
        card=CardResult(
            card_id=card.card_id,
            version_id=card.version_id,
            card_type=card.card_type,
            title=card.title,
            status="stale" if found.value.status == "stale" else "accepted",
            accepted_by=found.value.decision.decided_by if found.value.decision else "",
            citations=tuple(
                CardResultCitation(
                    chunk_id=card.evidence[place].chunk_id,
                    document_id=card.evidence[place].document_id,
                    document_name=card.evidence[place].document_name,
                    heading_path=card.evidence[place].heading_path,
                    quotes=tuple(quotes),
                )
                for place, quotes in cited.items()
            ),
        ),
    )


def _cited(card: Card) -> dict[int, list[str]]:
    """The quotes of each piece of evidence that is cited, by its place, in the order of the evidence."""
    cited: dict[int, list[str]] = {}
    for citation in card.citations():
        if 1 <= citation.evidence <= len(card.evidence):
            quotes = cited.setdefault(citation.evidence - 1, [])
            if citation.quote and citation.quote not in quotes:
                quotes.append(citation.quote)
    return dict(sorted(cited.items()))
