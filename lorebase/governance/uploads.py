"""Taking in a file: the checks, the question about duplicates, the original, and the draft that carries it."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import Connection, select

from lorebase.errors import DraftConflictError, DuplicateSourceError, InvalidStateError, VersionConflictError
from lorebase.governance.content import file_columns
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.drafts import DraftFields, Drafts
from lorebase.governance.file_checks import Upload, checked_file
from lorebase.governance.model import Item, Revision
from lorebase.governance.originals import Originals
from lorebase.governance.ports import ContainerCheck
from lorebase.governance.states import Command, RevisionState
from lorebase.governance.store import Store, item_of, live, require_version, revision_of
from lorebase.governance.tables import revisions

_MATCHES_SHOWN = 20


class OnDuplicate(StrEnum):
    """What the operator wants where the organisation holds the same file already."""

    REUSE_DRAFT = "REUSE_DRAFT"
    NEW_REVISION = "NEW_REVISION"


class Uploads:
    """Commands that bring files in. None of them changes what is published."""

    def __init__(self, store: Store, originals: Originals, drafts: Drafts, check_container: ContainerCheck) -> None:
        self._store = store
        self._originals = originals
        self._drafts = drafts
        self._check_container = check_container

    def add_file(
        self,
        context: PrincipalContext,
        item_id: int,
        upload: Upload,
        *,
        draft_version: int | None = None,
        on_duplicate: OnDuplicate | None = None,
        fields: DraftFields | None = None,
        reason: str = "",
    ) -> Revision:
        """Make a file the content of the item's draft, or of a new draft where it has none.

        The original is stored whole before a row names it; a command that fails leaves no row.

        Args:
            context: Who acts.
            item_id: The topic.
            upload: The file.
            draft_version: Version of the item's draft as the caller saw it; None where the caller saw no draft.
            on_duplicate: The choice where the organisation holds the same file: REUSE_DRAFT puts it into the item's
                draft all the same, NEW_REVISION into a new draft.
            fields: What the draft says about the file; None leaves that as it is.
            reason: Why, for the record.

        Raises:
            RejectedFileError: See `checked_file`.
            InvalidInputError: See `checked_file`; or a field is out of range, or not what its source type declares.
            DuplicateSourceError: The organisation holds the same file, and nothing was chosen; lists where.
            DraftConflictError: A new draft is wanted, and there is one.
            ReviewInProgressError: A new draft is needed, and a revision of the item is under review.
            VersionConflictError: The draft has another version, or the caller saw none.
        """
        context.require(Capability.EDIT)
        with self._store.database.reading() as connection:
            base_id = item_of(connection, context, item_id).base_id
            self._target(connection, context, item_id, draft_version, on_duplicate)
        file = checked_file(
            upload, max_bytes=self._store.settings.max_file_bytes, check_container=self._check_container
        )
        if on_duplicate is None:
            with self._store.database.reading() as connection:
                self._require_new(connection, context, item_id, file.sha256)
        said = self._drafts.columns_of(base_id, fields) if fields is not None else {}
        values = file_columns(file, self._originals.keep(context.organ_id, file.content)) | said

        def write(connection: Connection, item: Item) -> int:
            if on_duplicate is None:
                self._require_new(connection, context, item_id, file.sha256)
            self._drafts.require_known_tags(connection, context, said)
            draft = self._target(connection, context, item.id, draft_version, on_duplicate)
            if draft is None:
                return self._drafts.insert(connection, context, item, values, reason=reason)
            self._store.change_revision(connection, context, draft, Command.EDIT, reason=reason, values=values)
            return draft.id

        return self._drafts.in_new_draft(context, item_id, write)

    def _target(
        self,
        connection: Connection,
        context: PrincipalContext,
        item_id: int,
        draft_version: int | None,
        on_duplicate: OnDuplicate | None,
    ) -> Revision | None:
        """The draft that takes the file; None where a new one is made."""
        item_of(connection, context, item_id)
        query = select(revisions.c.id).where(
            live(revisions, context), revisions.c.item_id == item_id, revisions.c.status == RevisionState.DRAFT.value
        )
        draft_id = connection.execute(query).scalar()
        if draft_id is None:
            if on_duplicate is OnDuplicate.REUSE_DRAFT:
                raise InvalidStateError(
                    f"Item {item_id} has no draft to reuse.", remedy=f"Choose {OnDuplicate.NEW_REVISION}."
                )
            if draft_version is not None:
                raise VersionConflictError(
                    f"Item {item_id} has no draft any more.", remedy="Look at its revisions and send the file again."
                )
            return None
        if on_duplicate is OnDuplicate.NEW_REVISION:
            raise DraftConflictError(
                f"Item {item_id} has the draft {draft_id} already.",
                remedy=f"Choose {OnDuplicate.REUSE_DRAFT}, or delete that draft first.",
                revision_id=str(draft_id),
            )
        draft = revision_of(connection, context, draft_id)
        # -1 is no row's version: a caller that saw no draft did not see this one.
        require_version(draft, -1 if draft_version is None else draft_version)
        return draft

    def _require_new(self, connection: Connection, context: PrincipalContext, item_id: int, sha256: str) -> None:
        query = (
            select(revisions.c.id, revisions.c.item_id, revisions.c.status)
            .where(live(revisions, context), revisions.c.sha256 == sha256)
            .order_by(revisions.c.id)
            .limit(_MATCHES_SHOWN)
        )
        matches = [
            {"item_id": str(row.item_id), "revision_id": str(row.id), "status": row.status}
            for row in connection.execute(query)
        ]
        if matches:
            places = ", ".join(f"revision {match['revision_id']} ({match['status']})" for match in matches)
            raise DuplicateSourceError(
                f"The organisation holds this file already: {places}.",
                remedy=f"Repeat with on_duplicate {OnDuplicate.REUSE_DRAFT} or {OnDuplicate.NEW_REVISION}.",
                matches=matches,
                item_id=str(item_id),
            )
