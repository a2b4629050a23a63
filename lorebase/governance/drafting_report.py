"""What a build of a governed recipe did with each document of its sources."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from lorebase.governance.model import RowId
from lorebase.runs.records import Issue


class DraftAction(StrEnum):
    """What became of a document."""

    NEW_ITEM = "NEW_ITEM"
    NEW_DRAFT = "NEW_DRAFT"
    UPDATED_DRAFT = "UPDATED_DRAFT"
    UNCHANGED = "UNCHANGED"
    UNDER_REVIEW = "UNDER_REVIEW"
    DELETED_ITEM = "DELETED_ITEM"
    REJECTED = "REJECTED"


class DraftedDocument(BaseModel):
    """One document of a source; `message` says what was refused of it, or of what is said about it."""

    model_config = ConfigDict(frozen=True)

    name: str
    source: str
    action: DraftAction
    item_id: RowId | None = None
    revision_id: RowId | None = None
    error_code: str = ""
    message: str = ""


class DraftingReport(BaseModel):
    """What a build of a governed recipe did.

    Attributes:
        documents: In the order of the scan.
        missing_item_ids: Items of these sources whose document is gone. What is live of them stays live.
        issues: Entries of the sources that were left out, and what could not be used of what is said about documents.
    """

    model_config = ConfigDict(frozen=True)

    base_id: str
    documents: tuple[DraftedDocument, ...]
    missing_item_ids: tuple[RowId, ...] = ()
    issues: tuple[Issue, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many documents of each action."""
        return {str(action): number for action, number in Counter(one.action for one in self.documents).items()}
