"""The re-check of retrieval: which candidates of an index are chunks of a revision that is live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, select

from lorebase.documents.model import Chunk
from lorebase.governance.chunk_manifest import CHUNK_COLUMNS, chunk_of
from lorebase.governance.store import Store
from lorebase.governance.tables import chunks, items, releases, revisions
from lorebase.index.ports import Candidate


class LiveChunks:
    """Resolves candidates against the release rows, all of them by one statement: what it returns is of one moment.

    Args:
        store: The relational truth.
        organ_id: The caller's organisation, from its trusted context.
        base_id: The knowledge base that is searched.
    """

    def __init__(self, store: Store, organ_id: int, base_id: str) -> None:
        self._store = store
        self._organ_id = organ_id
        self._base_id = base_id

    async def resolve(self, candidates: Sequence[Candidate]) -> dict[str, Chunk]:
        """The chunks of those candidates that are live now, by chunk id.

        Raises:
            UnavailableError: The database does not answer; never an empty answer instead.
        """
        return await self.live([candidate.chunk_id for candidate in candidates])

    async def live(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """As `resolve`, for ids; those that are no ids of governed chunks are left out."""
        # isdecimal alone takes digits of every script; what an index gives back must be what was written to it.
        row_ids = [int(chunk_id) for chunk_id in chunk_ids if chunk_id.isascii() and chunk_id.isdecimal()]
        return await asyncio.to_thread(self._read, row_ids) if row_ids else {}

    async def are_any(self) -> bool:
        """Whether anything of the organisation is live in the base.

        Raises:
            UnavailableError: The database does not answer.
        """
        return await asyncio.to_thread(self._are_any)

    async def are_elsewhere(self, profile_id: str) -> bool:
        """Whether a live revision of the organisation in the base has its vectors in another space, or none.

        Args:
            profile_id: The vector space that is searched.

        Raises:
            UnavailableError: The database does not answer.
        """
        return await asyncio.to_thread(self._are_elsewhere, profile_id)

    def _are_elsewhere(self, profile_id: str) -> bool:
        query = (
            select(revisions.c.id)
            .join(releases, releases.c.active_revision_id == revisions.c.id)
            .join(items, items.c.id == revisions.c.item_id)
            .where(
                releases.c.organ_id == self._organ_id,
                releases.c.delete_flag == 0,
                items.c.base_id == self._base_id,
                revisions.c.embedding_profile != profile_id,
            )
        )
        with self._store.database.reading() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def _are_any(self) -> bool:
        with self._store.database.reading() as connection:
            return connection.execute(self._live(chunks.c.id).limit(1)).first() is not None

    def _read(self, row_ids: Sequence[int]) -> dict[str, Chunk]:
        query = self._live(*CHUNK_COLUMNS).where(chunks.c.id.in_(row_ids))
        with self._store.database.reading() as connection:
            return {str(row.id): chunk_of(row) for row in connection.execute(query)}

    def _live(self, *columns: ColumnElement[Any]) -> Select[Any]:
        return (
            select(*columns)
            .join(releases, releases.c.active_revision_id == chunks.c.revision_id)
            .where(
                chunks.c.organ_id == self._organ_id,
                chunks.c.base_id == self._base_id,
                chunks.c.delete_flag == 0,
                releases.c.item_id == chunks.c.item_id,
                releases.c.organ_id == self._organ_id,
                releases.c.delete_flag == 0,
            )
        )
