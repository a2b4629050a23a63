"""What card search and FAQ search say beside the usual of a result."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CardResultCitation(_Frozen):
    """A chunk that a card cites."""

    chunk_id: str
    document_id: str
    document_name: str
    heading_path: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()


class CardResult(_Frozen):
    """The card behind a result of card search."""

    card_id: str
    version_id: str
    card_type: str
    title: str
    status: Literal["accepted", "stale"] = Field(
        description="`stale` where the evidence has changed since the card was accepted."
    )
    accepted_by: str
    citations: tuple[CardResultCitation, ...] = ()


class FaqResult(_Frozen):
    """The entry behind a result of FAQ search."""

    entry_id: str
    question: str
    answer: str
    variants: tuple[str, ...] = ()
    matched: str = Field(description="The wording that was found.")
    is_exact: bool = Field(description="Whether the query asks the very question, but for width, case, punctuation.")
    conflicts: bool = Field(default=False, description="Whether another result answers the same question otherwise.")
    line: int | None = Field(None, description="Line of the file, from 1; none where the file has no lines.")
