"""The records of governed knowledge as they leave the services: frozen, read from rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from lorebase.governance.kinds import FeedbackKind, FeedbackStatus, TaskKind, TaskStatus
from lorebase.governance.states import IndexStatus, RevisionState

if TYPE_CHECKING:
    from sqlalchemy import Row

RowId = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]
"""A 64-bit id; text in JSON, because numbers above 2^53 change on their way through a browser."""

Scalar = str | int | float | bool | None
_Tags = Annotated[tuple[str, ...], BeforeValidator(lambda value: () if value is None else tuple(value))]
_Metadata = Annotated[dict[str, Scalar], BeforeValidator(lambda value: value or {})]
_Facts = Annotated[dict[str, Any], BeforeValidator(lambda value: value or {})]


class Record(BaseModel):
    """What every record has."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    id: RowId
    organ_id: RowId
    version: int
    created_at: datetime = Field(validation_alias="create_time")
    updated_at: datetime = Field(validation_alias="update_time")

    @classmethod
    def from_row(cls, row: Row[Any]) -> Self:
        """The record of a whole row of its table."""
        return cls.model_validate(dict(row._mapping))  # noqa: SLF001 (SQLAlchemy's public name for it)


class Item(Record):
    """A governed topic. `knowledge_key` names it in its organisation for ever."""

    base_id: str
    knowledge_key: str
    title: str
    description: str
    created_by: str
    is_deleted: bool = Field(validation_alias="delete_flag")


class FaqEntry(BaseModel):
    """A question with its answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    question: str = Field(min_length=1, max_length=1000)
    answer: str = Field(min_length=1, max_length=20_000)
    similar_questions: tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...] = Field((), max_length=50)
    enabled: bool = Field(default=True, description="A disabled entry stays in the revision and is never retrieved.")


_FaqEntries = Annotated[tuple[FaqEntry, ...], BeforeValidator(lambda value: value or ())]


class Revision(Record):
    """One version of a topic's content. From submission on its content never changes."""

    item_id: RowId
    revision_number: int
    status: RevisionState
    index_status: IndexStatus
    embedding_profile: str
    source_kind: Literal["", "file", "faq"]
    source_type: str
    file_name: str
    file_type: str
    media_type: str
    size_bytes: int
    sha256: str
    object_key: str
    description: str
    faq: _FaqEntries = Field(validation_alias="faq_json")
    tags: _Tags = Field(validation_alias="tags_json")
    metadata: _Metadata = Field(validation_alias="metadata_json")
    copied_from_id: RowId | None
    created_by: str
    submitted_by: str
    reviewed_by: str
    published_at: datetime | None = Field(validation_alias="published_time")
    is_deleted: bool = Field(validation_alias="delete_flag")


class Release(Record):
    """What is live of an item; its version rises with every switch."""

    item_id: RowId
    active_revision_id: RowId | None


class Tag(Record):
    """An entry of the organisation's dictionary of tags; revisions carry copies of names."""

    name: str
    description: str


class Task(Record):
    """Work outside of transactions. It holds references only: never text, requests, headers or secrets."""

    kind: TaskKind
    item_id: RowId
    revision_id: RowId
    idempotency_key: str
    payload_fingerprint: str
    status: TaskStatus
    attempts: int
    max_attempts: int
    due_at: datetime = Field(validation_alias="due_time")
    lease_owner: str
    lease_until: datetime | None
    finished_at: datetime | None = Field(validation_alias="finish_time")
    error_code: str
    error_message: str
    trace_id: str
    created_by: str


class AuditEntry(Record):
    """One command as it was carried out: by whom, when, why, in which trace."""

    command: str
    operator: str
    reason: str
    trace_id: str
    request_id: str
    item_id: RowId | None
    revision_id: RowId | None
    state_before: str
    state_after: str
    facts: _Facts = Field(validation_alias="facts_json")


class Feedback(Record):
    """A remark about a cited revision; never the conversation."""

    item_id: RowId
    revision_id: RowId
    chunk_id: RowId | None
    kind: FeedbackKind
    status: FeedbackStatus
    note: str
    reported_by: str
    resolved_by: str
    answered_by_revision_id: RowId | None


R = TypeVar("R", bound=BaseModel)


class Page(BaseModel, Generic[R]):
    """A stretch of a list.

    Attributes:
        page_number: From 1.
        total: Records over all pages.
    """

    model_config = ConfigDict(frozen=True)

    records: tuple[R, ...]
    page_number: int
    page_size: int
    total: int

    @property
    def total_pages(self) -> int:
        """How many pages there are; 0 for an empty list."""
        return math.ceil(self.total / self.page_size)


def columns_of(names: Mapping[str, Any]) -> dict[str, Any]:
    """Column values of a mapping whose keys are fields: JSON fields and times under their columns' names."""
    return {_COLUMNS.get(name, name): value for name, value in names.items()}


_COLUMNS = {"faq": "faq_json", "tags": "tags_json", "metadata": "metadata_json", "facts": "facts_json"}
