"""Topics: creating, listing, deleting and restoring them."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from lorebase.errors import InvalidInputError, InvalidStateError, KeyTakenError, LorebaseError, RevisionInUseError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import Item, Page
from lorebase.governance.states import RevisionState
from lorebase.governance.store import (
    DEFAULT_PAGE_SIZE,
    Store,
    changed_meanwhile,
    checked_text,
    item_of,
    live,
    page_of,
    version_conflict,
)
from lorebase.governance.tables import items, releases, revisions
from lorebase.ids import is_slug

_BUSY = (RevisionState.REVIEWING.value, RevisionState.PROCESSING.value)


class Items:
    """Commands on topics."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(
        self,
        context: PrincipalContext,
        *,
        base_id: str,
        knowledge_key: str,
        title: str,
        description: str = "",
        reason: str = "",
    ) -> Item:
        """A new topic with its release row, nothing live yet.

        Args:
            context: Who acts.
            base_id: The knowledge base it belongs to.
            knowledge_key: Its stable name in the organisation, 1 to 128 characters; never free again.
            title: 1 to 255 characters.
            description: At most 2,000 characters.
            reason: Why, for the record.

        Raises:
            ForbiddenError: The caller may not edit.
            InvalidInputError: A value is out of range.
            KeyTakenError: The organisation has such a key, on a deleted topic perhaps.
        """
        context.require(Capability.EDIT)
        if not is_slug(base_id):
            raise InvalidInputError(f"{base_id!r} is no name of a knowledge base.", field="base_id")
        key = checked_text("knowledge_key", knowledge_key, 128, min_chars=1)
        values = {
            "base_id": base_id,
            "knowledge_key": key,
            "title": checked_text("title", title, 255, min_chars=1),
            "description": checked_text("description", description, 2000),
            "created_by": context.user_id,
        }
        store = self._store
        try:
            with store.database.transaction() as connection:
                item_id = store.insert(connection, items, context, values)
                store.insert(connection, releases, context, {"item_id": item_id, "active_revision_id": None})
                store.record(connection, context, "CREATE_ITEM", reason=reason, item_id=item_id)
                return item_of(connection, context, item_id)
        except IntegrityError as error:
            raise self._key_taken(context, key) from error

    def get(self, context: PrincipalContext, item_id: int) -> Item:
        """One topic.

        Raises:
            NotFoundError: The organisation has no such topic.
        """
        context.require(Capability.READ)
        with self._store.database.reading() as connection:
            return item_of(connection, context, item_id)

    def list(
        self,
        context: PrincipalContext,
        *,
        base_id: str | None = None,
        deleted: bool = False,
        page_number: int = 1,
        page_size: int = DEFAULT_PAGE_SIZE,
    ) -> Page[Item]:
        """Topics of the organisation, oldest first; of one knowledge base where it is named; or the deleted ones."""
        context.require(Capability.READ)
        query = select(items).where(items.c.organ_id == context.organ_id, items.c.delete_flag == int(deleted))
        if base_id is not None:
            query = query.where(items.c.base_id == base_id)
        with self._store.database.reading() as connection:
            return page_of(connection, Item, query.order_by(items.c.id), page_number, page_size)

    def has_any(self, context: PrincipalContext, base_id: str) -> bool:
        """Whether the organisation has, or ever had, topics in a knowledge base: then the base is governed for it."""
        context.require(Capability.READ)
        query = select(items.c.id).where(items.c.organ_id == context.organ_id, items.c.base_id == base_id)
        with self._store.database.reading() as connection:
            return connection.execute(query.limit(1)).scalar() is not None

    def delete(self, context: PrincipalContext, item_id: int, *, version: int, reason: str = "") -> None:
        """Delete a topic logically; its history, its originals and its key stay.

        Raises:
            RevisionInUseError: A revision is live, under review or being processed.
            VersionConflictError: Somebody changed the topic.
        """
        context.require(Capability.EDIT)
        store = self._store
        with store.database.transaction() as connection:
            item = item_of(connection, context, item_id, lock=True)
            active = select(releases.c.active_revision_id).where(releases.c.item_id == item.id)
            busy = select(revisions.c.id).where(
                live(revisions, context), revisions.c.item_id == item.id, revisions.c.status.in_(_BUSY)
            )
            in_use = connection.execute(active).scalar_one() or connection.execute(busy.limit(1)).scalar()
            if in_use is not None:
                raise RevisionInUseError(
                    f"Revision {in_use} of item {item.id} is live, under review or being processed.",
                    remedy="Take it offline, decide the review or wait for the processing first.",
                    revision_id=str(in_use),
                )
            store.update(connection, items, item.id, version, {"delete_flag": 1})
            store.record(connection, context, "DELETE_ITEM", reason=reason, item_id=item.id)

    def restore(self, context: PrincipalContext, item_id: int, *, version: int, reason: str = "") -> Item:
        """Take back the deletion of a topic.

        Raises:
            InvalidStateError: It is not deleted.
            VersionConflictError: Somebody changed the topic.
        """
        context.require(Capability.EDIT)
        store = self._store
        with store.database.transaction() as connection:
            item = item_of(connection, context, item_id, lock=True, also_deleted=True)
            if item.version != version:
                raise version_conflict("item", item.id, version, item.version)
            if not item.is_deleted:
                raise InvalidStateError(f"Item {item.id} is not deleted.", remedy="There is nothing to restore.")
            store.update(connection, items, item.id, version, {"delete_flag": 0})
            store.record(connection, context, "RESTORE_ITEM", reason=reason, item_id=item.id)
            return item_of(connection, context, item.id)

    def _key_taken(self, context: PrincipalContext, key: str) -> LorebaseError:
        """The error, after the transaction that lost has ended, with the topic that won."""
        query = select(items.c.id, items.c.delete_flag).where(
            items.c.organ_id == context.organ_id, items.c.knowledge_key == key
        )
        with self._store.database.reading() as connection:
            winner = connection.execute(query).one_or_none()
        if winner is None:
            return changed_meanwhile("key", key)
        state = "deleted " if winner.delete_flag else ""
        return KeyTakenError(
            f"The key {key!r} belongs to the {state}item {winner.id}.",
            remedy="Restore that item." if winner.delete_flag else "Use that item, or another key.",
            item_id=str(winner.id),
        )
