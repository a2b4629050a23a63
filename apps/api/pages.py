"""Lists on the wire: a page of records, and what callers say about the page they want."""

from __future__ import annotations

from typing import Annotated, Generic, Self, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from lorebase.governance.model import Page
from lorebase.governance.store import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE

RecordT = TypeVar("RecordT", bound=BaseModel)

PageNum = Annotated[int, Query(ge=1, le=1_000_000_000, description="Page, from 1.")]
PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="Most records on a page.")]

FIRST_PAGE = 1
PAGE_SIZE = DEFAULT_PAGE_SIZE


class PageOf(BaseModel, Generic[RecordT]):
    """A page of a list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page_num: int = Field(ge=1, description="From 1.")
    page_size: int = Field(ge=1)
    total: int = Field(ge=0, description="Records on all pages.")
    total_pages: int = Field(ge=0, description="0 for an empty list.")
    records: tuple[RecordT, ...]

    @classmethod
    def of(cls, page: Page[RecordT]) -> Self:
        """The page that a service gave."""
        return cls(
            page_num=page.page_number,
            page_size=page.page_size,
            total=page.total,
            total_pages=page.total_pages,
            records=page.records,
        )
