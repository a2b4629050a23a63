"""What an old citation stands for now: the chunk that it named, or that this was withdrawn. Never another text."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from lorebase.governance.chunk_manifest import chunk_of
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.store import Store, not_found
from lorebase.governance.tables import chunks, releases
from lorebase.retrieval.model import Citation, result_of


class CitedChunk(BaseModel):
    """A citation, resolved."""

    model_config = ConfigDict(frozen=True)

    status: Literal["live", "withdrawn"] = Field(description="Whether its revision is live and the chunk part of it.")
    chunk_id: str
    revision_id: str
    item_id: str
    document_name: str
    citation: Citation
    text: str = Field("", description="The text as it was cited; empty where it was withdrawn.")


class Citations:
    """Resolves citations. Blocking."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def resolve(self, context: PrincipalContext, revision_id: int, chunk_id: int) -> CitedChunk:
        """The chunk that evidence named.

        Raises:
            ForbiddenError: The caller may not read.
            NotFoundError: The organisation never had such a chunk of such a revision.
        """
        context.require(Capability.READ)
        query = (
            select(chunks, releases.c.active_revision_id)
            .outerjoin(releases, releases.c.item_id == chunks.c.item_id)
            .where(
                chunks.c.id == chunk_id,
                chunks.c.organ_id == context.organ_id,
                chunks.c.revision_id == revision_id,
            )
        )
        with self._store.database.reading() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise not_found("chunk", chunk_id)
        cited = result_of(chunk_of(row), rank=1, score=0.0)
        is_live = row.active_revision_id == row.revision_id and not row.delete_flag
        return CitedChunk(
            status="live" if is_live else "withdrawn",
            chunk_id=cited.chunk_id,
            revision_id=cited.document.revision_id,
            item_id=cited.document.id,
            document_name=cited.document.name,
            citation=cited.citation,
            text=cited.text if is_live else "",
        )
