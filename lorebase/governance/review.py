"""Review: submitting, approving, rejecting. It judges the original and the tags, before anything is parsed."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from lorebase.errors import DraftConflictError, ForbiddenError, InvalidInputError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.kinds import TaskKind
from lorebase.governance.model import Revision
from lorebase.governance.originals import Originals
from lorebase.governance.processing import Processing
from lorebase.governance.states import Command
from lorebase.governance.store import Store, checked_reason, require_version, revision_of
from lorebase.governance.tags import checked_tags


class Review:
    """Commands on revisions between draft and approval."""

    def __init__(self, store: Store, originals: Originals, processing: Processing) -> None:
        self._store = store
        self._originals = originals
        self._processing = processing

    def submit(self, context: PrincipalContext, revision_id: int, *, version: int, reason: str = "") -> Revision:
        """Give a draft to the reviewers; its content is fixed from here on.

        Raises:
            InvalidInputError: It has no content yet, or its original is gone.
            InvalidStateError: It is no draft.
            VersionConflictError: Somebody changed it.
        """
        context.require(Capability.EDIT)
        with self._store.database.reading() as connection:
            seen = revision_of(connection, context, revision_id)
        # Outside of the transaction: it asks the object store. The version ties what follows to what was seen here.
        require_version(seen, version)
        if not self._originals.has(seen):
            raise InvalidInputError(
                f"Revision {seen.id} has no content that could be reviewed.",
                remedy="Add a file or FAQ entries first.",
                field="source",
            )
        checked_tags(seen.tags)
        values = {"submitted_by": context.user_id, "reviewed_by": ""}
        with self._store.database.transaction() as connection:
            revision = revision_of(connection, context, revision_id, lock=True)
            require_version(revision, version)
            self._store.change_revision(connection, context, revision, Command.SUBMIT, reason=reason, values=values)
            return revision_of(connection, context, revision_id)

    def approve(self, context: PrincipalContext, revision_id: int, *, version: int, reason: str = "") -> Revision:
        """Pass a revision. Where the settings say so its processing starts in the same transaction.

        Raises:
            ForbiddenError: The caller may not review, or has submitted it.
            VersionConflictError: Somebody decided first.
            InvalidStateError: It is not under review.
        """
        context.require(Capability.REVIEW)
        with self._store.database.transaction() as connection:
            revision = self._reviewed(connection, context, revision_id, version)
            self._store.change_revision(
                connection, context, revision, Command.APPROVE, reason=reason, values={"reviewed_by": context.user_id}
            )
            approved = revision_of(connection, context, revision_id)
            if self._store.settings.auto_process_on_approve:
                key = f"auto-process-{approved.id}-{approved.version}"
                self._processing.enqueue(connection, context, approved, TaskKind.PROCESS, key, reason)
            return revision_of(connection, context, revision_id)

    def reject(self, context: PrincipalContext, revision_id: int, *, version: int, reason: str) -> Revision:
        """Give a revision back to its author.

        Raises:
            InvalidInputError: There is no reason.
            ForbiddenError: The caller may not review, or has submitted it.
            VersionConflictError: Somebody decided first.
            InvalidStateError: It is not under review.
            DraftConflictError: The item has another draft meanwhile; nothing changes.
        """
        context.require(Capability.REVIEW)
        checked_reason(reason, required=True)
        try:
            with self._store.database.transaction() as connection:
                revision = self._reviewed(connection, context, revision_id, version)
                self._store.change_revision(
                    connection, context, revision, Command.REJECT, reason=reason,
                    values={"reviewed_by": context.user_id},
                )  # fmt: skip
                return revision_of(connection, context, revision_id)
        except IntegrityError as error:
            raise DraftConflictError(
                f"Revision {revision_id} cannot become a draft again: its item has another one.",
                remedy="Delete or submit the other draft, then reject again.",
            ) from error

    def _reviewed(self, connection: Connection, context: PrincipalContext, revision_id: int, version: int) -> Revision:
        revision = revision_of(connection, context, revision_id, lock=True)
        require_version(revision, version)
        if self._store.settings.forbid_self_review and revision.submitted_by == context.user_id:
            raise ForbiddenError(
                f"User {context.user_id!r} submitted revision {revision.id} and may not decide on it.",
                remedy="Ask another reviewer.",
            )
        return revision
