"""Reading revisions, their originals and their history; and deleting them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from lorebase.errors import RevisionInUseError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import AuditEntry, Page, Revision
from lorebase.governance.originals import Originals
from lorebase.governance.states import Command, RevisionState
from lorebase.governance.store import (
    DEFAULT_PAGE_SIZE,
    Store,
    item_of,
    live,
    page_of,
    require_version,
    revision_of,
)
from lorebase.governance.tables import audits, releases, revisions


class Revisions:
    """What there is of every topic: older revisions stay for audit and rollback."""

    def __init__(self, store: Store, originals: Originals) -> None:
        self._store = store
        self._originals = originals

    def get(self, context: PrincipalContext, revision_id: int) -> Revision:
        """One revision.

        Raises:
            NotFoundError: The organisation has no such revision.
        """
        context.require(Capability.READ)
        with self._store.database.reading() as connection:
            return revision_of(connection, context, revision_id)

    def list(
        self,
        context: PrincipalContext,
        *,
        item_id: int | None = None,
        status: RevisionState | None = None,
        page_number: int = 1,
        page_size: int = DEFAULT_PAGE_SIZE,
    ) -> Page[Revision]:
        """Revisions, newest first; of one item, or in one state (REVIEWING is the reviewers' queue)."""
        context.require(Capability.READ)
        query = select(revisions).where(live(revisions, context))
        if status is not None:
            query = query.where(revisions.c.status == status.value)
        with self._store.database.reading() as connection:
            if item_id is not None:
                item_of(connection, context, item_id, also_deleted=True)
                query = query.where(revisions.c.item_id == item_id)
            return page_of(connection, Revision, query.order_by(revisions.c.id.desc()), page_number, page_size)

    def numbers(self, context: PrincipalContext, revision_ids: Collection[int]) -> dict[int, int]:
        """The number of each of these revisions in its topic, by id; those of other organisations are left out."""
        context.require(Capability.READ)
        query = select(revisions.c.id, revisions.c.revision_number).where(
            revisions.c.organ_id == context.organ_id, revisions.c.id.in_(revision_ids)
        )
        with self._store.database.reading() as connection:
            return {row.id: row.revision_number for row in connection.execute(query)} if revision_ids else {}

    def original(self, context: PrincipalContext, revision_id: int) -> bytes:
        """What was taken in, byte for byte; canonical JSON for FAQ entries.

        Raises:
            NotFoundError: No such revision, or it has no content yet.
            CorruptObjectError: The stored object was damaged.
        """
        return self._originals.read(self.get(context, revision_id))

    def history(
        self,
        context: PrincipalContext,
        item_id: int,
        *,
        page_number: int = 1,
        page_size: int = DEFAULT_PAGE_SIZE,
    ) -> Page[AuditEntry]:
        """Every command on an item and its revisions, newest first; of deleted items too."""
        context.require(Capability.READ)
        query = select(audits).where(audits.c.organ_id == context.organ_id, audits.c.item_id == item_id)
        with self._store.database.reading() as connection:
            item_of(connection, context, item_id, also_deleted=True)
            return page_of(connection, AuditEntry, query.order_by(audits.c.id.desc()), page_number, page_size)

    def delete(self, context: PrincipalContext, revision_id: int, *, version: int, reason: str = "") -> None:
        """Delete a revision logically; its original and its history stay.

        Raises:
            RevisionInUseError: It is live, under review or being processed.
            VersionConflictError: Somebody changed it.
        """
        context.require(Capability.EDIT)
        with self._store.database.transaction() as connection:
            revision = revision_of(connection, context, revision_id, lock=True)
            require_version(revision, version)
            active = select(releases.c.id).where(releases.c.active_revision_id == revision.id)
            if connection.execute(active).scalar() is not None:
                raise RevisionInUseError(f"Revision {revision.id} is live.", remedy="Take it offline first.")
            self._store.change_revision(
                connection, context, revision, Command.DELETE, reason=reason, values={"delete_flag": 1}
            )
