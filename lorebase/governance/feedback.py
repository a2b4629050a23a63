"""Feedback on answers: what agents and operators report about a cited revision, and the operators' queue of it."""

from __future__ import annotations

from sqlalchemy import Connection, select

from lorebase.errors import InvalidInputError, InvalidStateError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.kinds import FeedbackKind, FeedbackStatus
from lorebase.governance.model import Feedback, Page
from lorebase.governance.store import (
    DEFAULT_PAGE_SIZE,
    Store,
    checked_text,
    live,
    not_found,
    page_of,
    revision_of,
)
from lorebase.governance.tables import chunks, feedbacks

MAX_NOTE_CHARS = 1000


class FeedbackQueue:
    """Commands on feedback. None of them alters the revision: an operator answers with a new draft."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def report(
        self,
        context: PrincipalContext,
        revision_id: int,
        kind: FeedbackKind,
        *,
        chunk_id: int | None = None,
        note: str = "",
    ) -> Feedback:
        """Record a remark.

        Args:
            context: Who reports.
            revision_id: The cited revision, live or not.
            kind: What was wrong.
            chunk_id: The cited chunk, where one is meant; replaced chunks count.
            note: A short remark or correction, at most 1,000 characters: never the conversation.

        Raises:
            NotFoundError: The organisation has no such revision.
            InvalidInputError: The chunk is none of the revision, or the note is too long.
        """
        context.require(Capability.FEEDBACK)
        store = self._store
        with store.database.transaction() as connection:
            revision = revision_of(connection, context, revision_id, also_deleted=True)
            if chunk_id is not None:
                _require_chunk(connection, context, revision.id, chunk_id)
            values = {
                "item_id": revision.item_id,
                "revision_id": revision.id,
                "chunk_id": chunk_id,
                "kind": kind.value,
                "status": FeedbackStatus.OPEN.value,
                "note": checked_text("note", note, MAX_NOTE_CHARS),
                "reported_by": context.user_id,
            }
            feedback_id = store.insert(connection, feedbacks, context, values)
            store.record(
                connection, context, "REPORT_FEEDBACK", item_id=revision.item_id, revision_id=revision.id,
                facts_json={"feedback_id": str(feedback_id), "kind": kind.value},
            )  # fmt: skip
            return self._get(connection, context, feedback_id)

    def report_once(
        self, context: PrincipalContext, revision_id: int, kind: FeedbackKind, *, chunk_id: int, note: str = ""
    ) -> Feedback:
        """As `report`, where no open remark of that kind is on the chunk; otherwise that one.

        For remarks that a program makes: the same question asked a hundred times is one thing to look at.
        """
        context.require(Capability.FEEDBACK)
        query = select(feedbacks).where(
            live(feedbacks, context),
            feedbacks.c.revision_id == revision_id,
            feedbacks.c.chunk_id == chunk_id,
            feedbacks.c.kind == kind.value,
            feedbacks.c.status == FeedbackStatus.OPEN.value,
        )
        with self._store.database.reading() as connection:
            row = connection.execute(query.order_by(feedbacks.c.id).limit(1)).one_or_none()
        if row is not None:
            return Feedback.from_row(row)
        return self.report(context, revision_id, kind, chunk_id=chunk_id, note=note)

    def list(
        self,
        context: PrincipalContext,
        *,
        status: FeedbackStatus | None = FeedbackStatus.OPEN,
        page_number: int = 1,
        page_size: int = DEFAULT_PAGE_SIZE,
    ) -> Page[Feedback]:
        """Feedback, oldest first; None gives every status."""
        context.require(Capability.READ)
        query = select(feedbacks).where(live(feedbacks, context))
        if status is not None:
            query = query.where(feedbacks.c.status == status.value)
        with self._store.database.reading() as connection:
            return page_of(connection, Feedback, query.order_by(feedbacks.c.id), page_number, page_size)

    def close(
        self,
        context: PrincipalContext,
        feedback_id: int,
        status: FeedbackStatus,
        *,
        version: int,
        answered_by_revision_id: int | None = None,
        reason: str = "",
    ) -> Feedback:
        """Take a feedback off the queue: RESOLVED, by a newer revision perhaps, or DISMISSED.

        Raises:
            InvalidInputError: The status does not close it.
            InvalidStateError: It is closed already.
            VersionConflictError: Somebody changed it.
        """
        context.require(Capability.EDIT)
        if status is FeedbackStatus.OPEN:
            raise InvalidInputError("OPEN closes nothing.", remedy="Use RESOLVED or DISMISSED.", field="status")
        store = self._store
        with store.database.transaction() as connection:
            feedback = self._get(connection, context, feedback_id)
            if feedback.version == version and feedback.status is not FeedbackStatus.OPEN:
                raise InvalidStateError(f"Feedback {feedback.id} is {feedback.status} already.")
            if answered_by_revision_id is not None:
                revision_of(connection, context, answered_by_revision_id)
            values = {
                "status": status.value,
                "resolved_by": context.user_id,
                "answered_by_revision_id": answered_by_revision_id,
            }
            store.update(connection, feedbacks, feedback.id, version, values)
            store.record(
                connection, context, "CLOSE_FEEDBACK", reason=reason, item_id=feedback.item_id,
                revision_id=feedback.revision_id, facts_json={"feedback_id": str(feedback.id), "status": status.value},
            )  # fmt: skip
            return self._get(connection, context, feedback.id)

    def _get(self, connection: Connection, context: PrincipalContext, feedback_id: int) -> Feedback:
        query = select(feedbacks).where(live(feedbacks, context), feedbacks.c.id == feedback_id)
        row = connection.execute(query).one_or_none()
        if row is None:
            raise not_found("feedback", feedback_id)
        return Feedback.from_row(row)


def _require_chunk(connection: Connection, context: PrincipalContext, revision_id: int, chunk_id: int) -> None:
    query = select(chunks.c.id).where(
        chunks.c.organ_id == context.organ_id, chunks.c.revision_id == revision_id, chunks.c.id == chunk_id
    )
    if connection.execute(query).scalar() is None:
        raise InvalidInputError(f"Chunk {chunk_id} is none of revision {revision_id}.", field="chunk_id")
