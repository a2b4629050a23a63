"""The step that stages wiki cards in an index of their own."""

from __future__ import annotations

from typing import Any, ClassVar

from lorebase.artifacts.kinds import CARD_INDEX, SOURCE_DOCUMENTS, ArtifactKind
from lorebase.cards.kinds import WIKI_CARDS
from lorebase.cards.standing import StandingCard, standing_cards
from lorebase.fingerprint import fingerprint
from lorebase.index.ports import EntityKind
from lorebase.runs.capabilities import CARDS
from lorebase.runs.entry_step import EntryDraft, EntryIndexStep
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, StepExecutionContext


class IndexCards(EntryIndexStep):
    """Write accepted cards and proposals into the card index, not yet searchable. Unlocks `card_search`.

    A search shows what a person has accepted, from that moment on; proposals are there so that it takes no build.
    """

    type_name: ClassVar[str] = "index_cards"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (WIKI_CARDS, SOURCE_DOCUMENTS)
    produces: ClassVar[ArtifactKind[Any]] = CARD_INDEX
    search_asset: ClassVar[str] = CARDS
    item_name: ClassVar[str] = "cards"
    entity_kind: ClassVar[EntityKind] = "cards"

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The collection it fills, and what people have accepted."""
        accepted = sorted((one.card_id, one.sequence, one.verdict, one.version_id) for one in context.card_decisions)
        decided = fingerprint("card-decisions", [list(one) for one in accepted]) if accepted else "none"
        return {**super().identity(context), "decisions": decided}

    def _drafts(self, partition: Partition, context: StepExecutionContext) -> tuple[list[EntryDraft], list[Issue]]:
        documents = frozenset(document.document_id for document in partition.rows(SOURCE_DOCUMENTS))
        proposals = [row.card for row in partition.rows(WIKI_CARDS)]
        standing = standing_cards(proposals, context.card_decisions, documents)
        drafts = [
            EntryDraft(
                entry_id=one.entry_id,
                document_id=next((cited for cited in one.card.document_ids if cited in documents), ""),
                revision_id=one.card.version_id,
                document_ids=tuple(cited for cited in one.card.document_ids if cited in documents),
                text=one.card.text,
            )
            for one in standing
            if one.status != "rejected"
        ]
        return drafts, self._waiting(standing, context)

    def _waiting(self, standing: list[StandingCard], context: StepExecutionContext) -> list[Issue]:
        issues = []
        step = Subject(kind="step", id=self.type_name)
        if waiting := sum(one.status == "proposed" for one in standing):
            message = (
                f"{waiting} cards wait for somebody to accept or reject them: `lorebase cards {context.base_name}`."
            )
            issues.append(self.issue("CARDS_AWAIT_REVIEW", message, step, severity="info", cards=waiting))
        if stale := sum(one.status == "stale" for one in standing):
            message = f"{stale} accepted cards rest on evidence that has changed since; the new proposals stand beside."
            issues.append(self.issue("CARDS_STALE", message, step, cards=stale))
        return issues
