"""Drafts: the only revisions whose content can change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from lorebase.errors import DraftConflictError, InvalidInputError, ReviewInProgressError
from lorebase.governance.content import FaqContent, checked_metadata
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import FaqEntry, Item, Revision, Scalar, columns_of
from lorebase.governance.originals import Originals
from lorebase.governance.ports import MetadataRules
from lorebase.governance.states import Command, IndexStatus, RevisionState
from lorebase.governance.store import (
    Store,
    changed_meanwhile,
    checked_text,
    item_of,
    live,
    require_version,
    revision_of,
)
from lorebase.governance.tables import revisions
from lorebase.governance.tags import checked_tags, require_known

_COPIED = (
    "source_kind", "source_type", "file_name", "file_type", "media_type", "size_bytes", "sha256", "object_key",
    "description", "faq_json", "tags_json", "metadata_json",
)  # fmt: skip
_OPEN = (RevisionState.DRAFT.value, RevisionState.REVIEWING.value)


@dataclass(frozen=True, slots=True)
class DraftFields:
    """What a draft says about its content; None leaves a field as it is.

    Attributes:
        tags: At most 20, each 1 to 64 characters.
        description: At most 2,000 characters.
        source_type: Class of the document in its knowledge base.
        metadata: Fields that the source type declares; at most 20.
    """

    tags: Sequence[str] | None = None
    description: str | None = None
    source_type: str | None = None
    metadata: Mapping[str, Scalar] | None = None


class Drafts:
    """Commands on drafts."""

    def __init__(self, store: Store, originals: Originals, metadata_rules: MetadataRules | None = None) -> None:
        """Args: metadata_rules: The source types of the bases; None accepts every field within the limits."""
        self._store = store
        self._originals = originals
        self._metadata_rules = metadata_rules

    def create(
        self, context: PrincipalContext, item_id: int, fields: DraftFields | None = None, *, reason: str = ""
    ) -> Revision:
        """A new draft without content.

        Raises:
            DraftConflictError: The item has a draft already.
            ReviewInProgressError: A revision of the item is under review.
            InvalidInputError: A field is out of range, or not what its source type declares.
        """
        context.require(Capability.EDIT)
        with self._store.database.reading() as connection:
            item = item_of(connection, context, item_id)
        values = self.columns_of(item.base_id, fields or DraftFields())

        def insert(connection: Connection, item: Item) -> int:
            self.require_known_tags(connection, context, values)
            return self.insert(connection, context, item, values, reason=reason)

        return self.in_new_draft(context, item_id, insert)

    def copy(self, context: PrincipalContext, revision_id: int, *, reason: str = "") -> Revision:
        """A new draft with the content of another revision, in whatever state that is; the other stays as it is.

        Raises:
            DraftConflictError: The item has a draft already.
            ReviewInProgressError: A revision of the item is under review.
        """
        context.require(Capability.EDIT)
        with self._store.database.reading() as connection:
            item_id = revision_of(connection, context, revision_id).item_id

        def insert(connection: Connection, item: Item) -> int:
            revision_of(connection, context, revision_id)
            row = connection.execute(select(revisions).where(revisions.c.id == revision_id)).one()
            values = {name: row._mapping[name] for name in _COPIED} | {"copied_from_id": revision_id}  # noqa: SLF001 (SQLAlchemy's public name for it)
            return self.insert(connection, context, item, values, reason=reason)

        return self.in_new_draft(context, item_id, insert)

    def columns_of(self, base_id: str, fields: DraftFields) -> dict[str, Any]:
        """Column values of a draft with these fields.

        Raises:
            InvalidInputError: A field is out of range, or not what its source type declares.
        """
        values = self._checked(fields)
        self._require_declared(base_id, values)
        return values

    def check(self, context: PrincipalContext, base_id: str, fields: DraftFields) -> None:
        """Pass where a draft of a base may have these fields.

        Raises:
            InvalidInputError: A field is out of range, or not what its source type declares.
        """
        values = self.columns_of(base_id, fields)
        with self._store.database.reading() as connection:
            self.require_known_tags(connection, context, values)

    def require_known_tags(self, connection: Connection, context: PrincipalContext, values: Mapping[str, Any]) -> None:
        """Go on only with tags of the organisation's dictionary, where the workspace wants that.

        Raises:
            InvalidInputError: A tag is not in it.
        """
        if self._store.settings.only_known_tags and values.get("tags_json"):
            require_known(connection, context, values["tags_json"])

    def edit(
        self, context: PrincipalContext, revision_id: int, fields: DraftFields, *, version: int, reason: str = ""
    ) -> Revision:
        """Change what a draft says about its content.

        Raises:
            VersionConflictError: Somebody changed the draft.
            InvalidStateError: It is no draft (any more).
            InvalidInputError: A field is out of range, or not what its source type declares.
        """
        context.require(Capability.EDIT)
        return self._change(context, revision_id, version, self._checked(fields), reason)

    def set_faq(
        self,
        context: PrincipalContext,
        revision_id: int,
        entries: Sequence[FaqEntry],
        *,
        version: int,
        reason: str = "",
    ) -> Revision:
        """Make FAQ entries the content of a draft, in place of what it had.

        Raises:
            VersionConflictError: Somebody changed the draft.
            InvalidStateError: It is no draft (any more).
            InvalidInputError: No entries, too many, or a question twice.
        """
        context.require(Capability.EDIT)
        content = FaqContent.of(entries)
        key = self._originals.keep(context.organ_id, content.canonical)
        return self._change(context, revision_id, version, content.columns(key), reason)

    def insert(
        self, connection: Connection, context: PrincipalContext, item: Item, values: Mapping[str, Any], *, reason: str
    ) -> int:
        """Write the row of a new draft; the caller holds the item's lock.

        Raises:
            DraftConflictError: The item has a draft already.
            ReviewInProgressError: A revision of the item is under review.
        """
        of_item = (revisions.c.item_id == item.id, revisions.c.organ_id == context.organ_id)
        query = select(revisions.c.id, revisions.c.status).where(
            live(revisions, context), *of_item, revisions.c.status.in_(_OPEN)
        )
        for row in connection.execute(query):
            if row.status == RevisionState.REVIEWING:
                raise ReviewInProgressError(
                    f"Revision {row.id} of item {item.id} is under review.",
                    remedy="Wait until it is approved or rejected.",
                    revision_id=str(row.id),
                )
            raise _another_draft(item.id, row.id)
        last = connection.execute(select(func.max(revisions.c.revision_number)).where(*of_item)).scalar()
        fixed: dict[str, Any] = {
            "item_id": item.id,
            "revision_number": (last or 0) + 1,
            "status": RevisionState.DRAFT.value,
            "index_status": IndexStatus.NOT_INDEXED.value,
            "created_by": context.user_id,
        }
        store = self._store
        revision_id = store.insert(connection, revisions, context, {**fixed, **values})
        store.record(
            connection, context, "CREATE_DRAFT", reason=reason,
            item_id=item.id, revision_id=revision_id, state_after=RevisionState.DRAFT.value,
        )  # fmt: skip
        return revision_id

    def in_new_draft(
        self, context: PrincipalContext, item_id: int, insert: Callable[[Connection, Item], int]
    ) -> Revision:
        """Run `insert(connection, item) -> revision id` under the item's lock and give the revision.

        Raises:
            DraftConflictError: Another draft was there first; found out by the unique index where all else failed.
        """
        try:
            with self._store.database.transaction() as connection:
                item = item_of(connection, context, item_id, lock=True)
                return revision_of(connection, context, insert(connection, item))
        except IntegrityError as error:
            draft_id = self._draft_of(context, item_id)
            raise (_another_draft(item_id, draft_id) if draft_id else changed_meanwhile("item", item_id)) from error

    def _draft_of(self, context: PrincipalContext, item_id: int) -> int | None:
        query = select(revisions.c.id).where(
            live(revisions, context), revisions.c.item_id == item_id, revisions.c.status == RevisionState.DRAFT.value
        )
        with self._store.database.reading() as connection:
            return connection.execute(query).scalar()

    def _change(
        self, context: PrincipalContext, revision_id: int, version: int, values: Mapping[str, Any], reason: str
    ) -> Revision:
        with self._store.database.reading() as connection:
            seen = revision_of(connection, context, revision_id)
            item = item_of(connection, context, seen.item_id)
        # Outside of the transaction: the rules may ask another store. The version ties both reads together.
        require_version(seen, version)
        if "source_type" in values or "metadata_json" in values:
            before = {"source_type": seen.source_type, "metadata_json": seen.metadata}
            self._require_declared(item.base_id, {**before, **values})
        with self._store.database.transaction() as connection:
            revision = revision_of(connection, context, revision_id, lock=True)
            require_version(revision, version)
            self.require_known_tags(connection, context, values)
            self._store.change_revision(connection, context, revision, Command.EDIT, reason=reason, values=values)
            return revision_of(connection, context, revision_id)

    def _checked(self, fields: DraftFields) -> dict[str, Any]:
        checked: dict[str, Any] = {}
        if fields.tags is not None:
            checked["tags"] = checked_tags(fields.tags)
        if fields.description is not None:
            checked["description"] = checked_text("description", fields.description, 2000)
        if fields.source_type is not None:
            checked["source_type"] = checked_text("source_type", fields.source_type, 64)
        if fields.metadata is not None:
            checked["metadata"] = checked_metadata(fields.metadata)
        return columns_of(checked)

    def _require_declared(self, base_id: str, values: Mapping[str, Any]) -> None:
        if self._metadata_rules is None:
            return
        source_type, metadata = values.get("source_type", ""), values.get("metadata_json") or {}
        if metadata and not source_type:
            raise InvalidInputError("Fields need a source type that declares them.", field="metadata")
        if source_type:
            self._metadata_rules.check(base_id, source_type, metadata)


def _another_draft(item_id: int, draft_id: int) -> DraftConflictError:
    return DraftConflictError(
        f"Item {item_id} has the draft {draft_id} already.",
        remedy="Edit that draft, or delete it first.",
        item_id=str(item_id),
        revision_id=str(draft_id),
    )
