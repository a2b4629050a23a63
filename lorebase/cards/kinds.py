"""The artifact of proposed cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.cards.model import Card


@dataclass(frozen=True, slots=True)
class ProposedCard:
    """A proposal with the key of the work that made it."""

    key: str
    card: Card


_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("card_id", pa.string()),
        ("version_id", pa.string()),
        ("document_id", pa.string()),
        ("document_ids", pa.list_(pa.string())),
        ("body", pa.large_string()),
    ]
)


def _columns(rows: Sequence[ProposedCard]) -> list[Any]:
    cards = [row.card for row in rows]
    return [
        [row.key for row in rows],
        [card.card_id for card in cards],
        [card.version_id for card in cards],
        [_first_document(card) for card in cards],
        [card.document_ids for card in cards],
        [card.model_dump_json(exclude_defaults=True) for card in cards],
    ]


def _rows(table: pa.Table) -> list[ProposedCard]:
    return [ProposedCard(row["key"], Card.model_validate_json(row["body"])) for row in table.to_pylist()]


def _first_document(card: Card) -> str:
    return card.evidence[0].document_id if card.evidence else ""


WIKI_CARDS: ArtifactKind[ProposedCard] = ArtifactKind(
    name="wiki_cards",
    schema=_SCHEMA,
    to_columns=_columns,
    to_rows=_rows,
    document_id=lambda row: _first_document(row.card),
    item_key=lambda row: row.key,
    document_ids=lambda row: row.card.document_ids,
)
