"""Wiki cards from the command line: what is proposed, and the decisions about it."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from apps.cli.cards import CardStatusName
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.cards.deciding import accept_card, reject_card
from lorebase.cards.model import Card, CardFault, CardSentence, FilledField
from lorebase.cards.reading import snapshot_cards
from lorebase.cards.standing import StandingCard
from lorebase.errors import UsageError
from lorebase.ids import is_slug

if TYPE_CHECKING:
    from lorebase.artifacts.snapshots import Snapshot
    from lorebase.runs.card_decisions import CardDecision
    from lorebase.workspace import Workspace


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CitationView(_Frozen):
    """Where a sentence or a value stands; without a document where the card cites what is no evidence of it."""

    evidence: int
    quote: str
    chunk_id: str = ""
    document_id: str = ""
    document_name: str = ""


class SentenceView(_Frozen):
    """A sentence with its citations."""

    text: str
    citations: tuple[CitationView, ...]


class SectionView(_Frozen):
    """A section of a card."""

    title: str
    sentences: tuple[SentenceView, ...]


class FieldView(_Frozen):
    """A value of a card."""

    key: str
    value: str | float | bool
    citations: tuple[CitationView, ...]


class CardView(_Frozen):
    """One version of a card, and how it stands."""

    id: str
    card_id: str
    status: str
    card_type: str
    title: str
    method: str
    sections: tuple[SectionView, ...]
    fields: tuple[FieldView, ...]
    issues: tuple[CardFault, ...]
    decided_by: str = ""
    decided_at: datetime | None = None
    reason: str = ""

    @classmethod
    def of(cls, standing: StandingCard) -> CardView:
        """What is shown of a card."""
        card, decision = standing.card, standing.decision
        return cls(
            id=card.version_id,
            card_id=card.card_id,
            status=standing.status,
            card_type=card.card_type,
            title=card.title,
            method=card.method,
            sections=tuple(
                SectionView(title=section.title, sentences=tuple(_sentence(card, one) for one in section.sentences))
                for section in card.sections
            ),
            fields=tuple(_field(card, field) for field in card.fields),
            issues=card.faults,
            decided_by=decision.decided_by if decision else "",
            decided_at=decision.decided_at if decision else None,
            reason=decision.reason if decision else "",
        )


class CardList(_Frozen):
    """The cards of the live snapshot."""

    name: str
    snapshot_id: str
    cards: tuple[CardView, ...]
    counts: dict[str, int]


class DecisionView(_Frozen):
    """A decision that was written down."""

    id: str
    card_id: str
    verdict: str
    decided_by: str
    decided_at: datetime
    reason: str
    confirmed: bool


class DecisionList(_Frozen):
    """Decisions that were written down."""

    name: str
    decisions: tuple[DecisionView, ...]


def card_list(name: str, workspace: Workspace, status: CardStatusName | None) -> CardList:
    """The cards of the live snapshot; `accepted` includes those that are stale.

    Raises:
        NotFoundError: Nothing was built yet.
        UnsupportedModeError: The snapshot has no cards.
    """
    snapshot = _live(name, workspace)
    standing = snapshot_cards(workspace.object_store, snapshot)
    wanted = {"accepted", "stale"} if status is CardStatusName.accepted else {status.value if status else ""}
    return CardList(
        name=name,
        snapshot_id=snapshot.snapshot_id,
        cards=tuple(CardView.of(one) for one in standing if status is None or one.status in wanted),
        counts={one.value: sum(card.status == one.value for card in standing) for one in CardStatusName},
    )


def decided(
    name: str,
    workspace: Workspace,
    *,
    accept: Sequence[str],
    reject: Sequence[str],
    reason: str,
    decided_by: str,
    confirmed: bool,
) -> DecisionList:
    """Accept some versions and reject others, one after the other; what is decided stays so if a later one fails.

    Raises:
        UsageError: A rejection has no reason, or nobody says who decides.
        CardNotConfirmedError: A version has faults, and nobody has confirmed it.
        NotFoundError: There is no such version.
        ConflictError: Somebody else has decided about the card meanwhile.
    """
    snapshot, store = _live(name, workspace), workspace.object_store
    who = decided_by.strip() or _user()
    made = [
        accept_card(store, snapshot, one, decided_by=who, now=workspace.clock.now(), reason=reason, confirmed=confirmed)
        for one in accept
    ]
    made += [
        reject_card(store, snapshot, one, decided_by=who, now=workspace.clock.now(), reason=reason) for one in reject
    ]
    return DecisionList(name=name, decisions=tuple(_decision(one) for one in made))


def card_lines(found: CardList) -> Iterator[str]:
    """Cards as lines of text."""
    for card in found.cards:
        by = f", {card.decided_by}" if card.decided_by else ""
        yield f"{card.id}  [{card.status}{by}]  {card.card_type}: {card.title}  ({card.method})"
        for section in card.sections:
            yield f"    {section.title}"
            for sentence in section.sentences:
                yield f"      {sentence.text}  {_places(sentence.citations)}".rstrip()
        for field in card.fields:
            yield f"    {field.key}: {field.value}  {_places(field.citations)}".rstrip()
        for issue in card.issues:
            yield f"    ! {issue.code} {issue.place}: {issue.message}"
    counts = ", ".join(f"{count} {status}" for status, count in found.counts.items())
    yield f"{found.name}: {counts}."


def decision_lines(found: DecisionList) -> Iterator[str]:
    """Decisions as lines of text."""
    for one in found.decisions:
        yield f"{found.name}: {one.id} is {one.verdict} by {one.decided_by}."


def _places(citations: Sequence[CitationView]) -> str:
    names = dict.fromkeys(one.document_name or f"evidence {one.evidence}?" for one in citations)
    return f"[{', '.join(names)}]" if names else ""


def _sentence(card: Card, sentence: CardSentence) -> SentenceView:
    return SentenceView(text=sentence.text, citations=_citations(card, sentence))


def _field(card: Card, field: FilledField) -> FieldView:
    return FieldView(key=field.key, value=field.value, citations=_citations(card, field))


def _citations(card: Card, cited: CardSentence | FilledField) -> tuple[CitationView, ...]:
    views = []
    for one in cited.citations:
        view = CitationView(evidence=one.evidence, quote=one.quote)
        if 1 <= one.evidence <= len(card.evidence):
            place = card.evidence[one.evidence - 1]
            names = {name: getattr(place, name) for name in ("chunk_id", "document_id", "document_name")}
            view = view.model_copy(update=names)
        views.append(view)
    return tuple(views)


def _decision(decision: CardDecision) -> DecisionView:
    return DecisionView(
        id=decision.version_id,
        card_id=decision.card_id,
        verdict=decision.verdict,
        decided_by=decision.decided_by,
        decided_at=decision.decided_at,
        reason=decision.reason,
        confirmed=decision.confirmed,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise UsageError("Nobody says who decides.", remedy="Add --by NAME.") from error


def _live(name: str, workspace: Workspace) -> Snapshot:
    if not is_slug(name):
        raise UsageError(f"{name!r} is no name of a knowledge base.", remedy="Use a-z, 0-9 and hyphens.")
    return SnapshotStore(workspace.object_store, BaseLayout(name)).require_live()
