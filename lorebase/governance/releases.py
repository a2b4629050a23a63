"""What is live of each topic, and the transactions that switch it: compare-and-set on the release row.

These are the relational halves of publish, rollback and offline. Whoever offers those commands makes the target's
index entities searchable before, and closes the replaced revision's entities after; retrieval re-checks with
`active_revision_ids`, so that neither half can show what is not live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select

from lorebase.errors import IndexNotReadyError, InvalidStateError, ReleaseConflictError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.model import Release, Revision
from lorebase.governance.states import Command, IndexStatus, next_state
from lorebase.governance.store import Store, item_of, revision_of
from lorebase.governance.tables import audits, releases

SwitchCommand = Literal[Command.PUBLISH, Command.ROLL_BACK]


@dataclass(frozen=True, slots=True)
class Switched:
    """A switch as it was committed.

    Attributes:
        release: The release afterwards.
        replaced_revision_id: What was live before and no longer is; None where nothing was.
        is_repeat: Whether the same request had been carried out before; then nothing was done now.
    """

    release: Release
    replaced_revision_id: int | None
    is_repeat: bool = False


class Releases:
    """Reading and switching releases."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, context: PrincipalContext, item_id: int) -> Release:
        """The release of an item.

        Raises:
            NotFoundError: The organisation has no such item.
        """
        context.require(Capability.READ)
        with self._store.database.reading() as connection:
            item_of(connection, context, item_id)
            return _release_of(connection, item_id)

    def active_revision_ids(self, organ_id: int, item_ids: Sequence[int]) -> Mapping[int, int]:
        """The live revision of each of these items of an organisation that has one: the re-check of retrieval.

        Raises:
            UnavailableError: The database does not answer.
        """
        query = select(releases.c.item_id, releases.c.active_revision_id).where(
            releases.c.organ_id == organ_id,
            releases.c.delete_flag == 0,
            releases.c.active_revision_id.is_not(None),
            releases.c.item_id.in_(list(item_ids)),
        )
        with self._store.database.reading() as connection:
            return {row.item_id: row.active_revision_id for row in connection.execute(query)}

    def repeated(self, context: PrincipalContext, revision_id: int, command: SwitchCommand) -> Switched | None:
        """The switch as it stands where this very request was carried out before; None where it was not.

        Raises:
            NotFoundError: The organisation has no such revision.
        """
        context.require(Capability.PUBLISH)
        with self._store.database.reading() as connection:
            target = revision_of(connection, context, revision_id, also_deleted=True)
            release = _release_of(connection, target.item_id)
            if _was_done(connection, context, command, target.id, release, live_id=target.id):
                return Switched(release, None, is_repeat=True)
            return None

    def require_switchable(
        self, context: PrincipalContext, revision_id: int, command: SwitchCommand, *, expected_version: int
    ) -> Revision:
        """The target, where a switch to it may be tried; asked before its entities are made searchable.

        Raises:
            InvalidStateError: PUBLISH of a revision that is not READY_TO_PUBLISH, ROLL_BACK to one not DEPRECATED.
            IndexNotReadyError: Its index is not complete.
            ReleaseConflictError: The release has another version.
        """
        context.require(Capability.PUBLISH)
        with self._store.database.reading() as connection:
            target = revision_of(connection, context, revision_id)
            release = _release_of(connection, target.item_id)
            _require_version(release, expected_version)
            _require_ready(target, command)
            return target

    def switch(
        self,
        context: PrincipalContext,
        revision_id: int,
        command: SwitchCommand,
        *,
        expected_version: int,
        reason: str = "",
    ) -> Switched:
        """Make a revision live, in one transaction: the release, the target PUBLISHED, the one before DEPRECATED.

        Args:
            context: Who acts; the same `request_id` again finds the switch done.
            revision_id: The target.
            command: PUBLISH or ROLL_BACK.
            expected_version: Version of the release as the operator saw it.
            reason: Why, for the record.

        Raises:
            InvalidStateError: As `require_switchable`.
            IndexNotReadyError: As `require_switchable`.
            ReleaseConflictError: Another switch came first; the UPDATE itself finds it out. Nothing changed.
        """
        context.require(Capability.PUBLISH)
        store = self._store
        with store.database.transaction() as connection:
            target = revision_of(connection, context, revision_id, lock=True)
            before = _release_of(connection, target.item_id)
            if _was_done(connection, context, command, target.id, before, live_id=target.id):
                return Switched(before, None, is_repeat=True)
            _require_version(before, expected_version)
            _require_ready(target, command)
            self._set_active(connection, context, before, target.id, expected_version)
            replaced = before.active_revision_id
            if replaced is not None:
                old = revision_of(connection, context, replaced, also_deleted=True)
                store.change_revision(connection, context, old, Command.REPLACE, reason=reason)
            values = {"published_time": store.clock.now()}
            store.change_revision(connection, context, target, command, reason=reason, values=values)
            return Switched(_release_of(connection, target.item_id), replaced)

    def withdraw(self, context: PrincipalContext, item_id: int, *, expected_version: int, reason: str = "") -> Switched:
        """Make nothing of an item live: the active version is withdrawn before its entities are closed.

        The same `request_id` again finds it done.

        Raises:
            InvalidStateError: Nothing is live.
            ReleaseConflictError: Another switch came first. Nothing changed.
        """
        context.require(Capability.PUBLISH)
        with self._store.database.transaction() as connection:
            item = item_of(connection, context, item_id, lock=True)
            before = _release_of(connection, item.id)
            if _was_done(connection, context, Command.WITHDRAW, None, before, live_id=None):
                return Switched(before, None, is_repeat=True)
            _require_version(before, expected_version)
            if before.active_revision_id is None:
                raise InvalidStateError(f"Nothing of item {item.id} is live.", remedy="There is nothing to withdraw.")
            self._set_active(connection, context, before, None, expected_version)
            old = revision_of(connection, context, before.active_revision_id, also_deleted=True)
            self._store.change_revision(connection, context, old, Command.WITHDRAW, reason=reason)
            return Switched(_release_of(connection, item.id), old.id)

    def _set_active(
        self,
        connection: Connection,
        context: PrincipalContext,
        release: Release,
        revision_id: int | None,
        expected_version: int,
    ) -> None:
        done = connection.execute(
            releases.update()
            .where(releases.c.id == release.id, releases.c.version == expected_version)
            .values(
                active_revision_id=revision_id,
                version=releases.c.version + 1,
                update_time=self._store.clock.now(),
                trace_id=context.trace_id,
            )
        )
        if done.rowcount != 1:
            raise _conflict(release, expected_version)


def _release_of(connection: Connection, item_id: int) -> Release:
    return Release.from_row(connection.execute(select(releases).where(releases.c.item_id == item_id)).one())


def _require_ready(target: Revision, command: SwitchCommand) -> None:
    next_state(target.status, command)
    if target.index_status is not IndexStatus.INDEXED:
        raise IndexNotReadyError(
            f"The index of revision {target.id} is {target.index_status}.",
            remedy="Build it again (reindex), and wait until it is INDEXED.",
            index_status=target.index_status.value,
        )


def _require_version(release: Release, expected_version: int) -> None:
    if release.version != expected_version:
        raise _conflict(release, expected_version)


def _was_done(
    connection: Connection,
    context: PrincipalContext,
    command: Command,
    revision_id: int | None,
    release: Release,
    *,
    live_id: int | None,
) -> bool:
    """Whether this very request made `live_id` what is live of the item, and it is so still."""
    if not context.request_id or release.active_revision_id != live_id:
        return False
    query = select(audits.c.id).where(
        audits.c.organ_id == context.organ_id,
        audits.c.request_id == context.request_id,
        audits.c.item_id == release.item_id,
        audits.c.command == command.value,
    )
    if revision_id is not None:
        query = query.where(audits.c.revision_id == revision_id)
    return connection.execute(query.limit(1)).scalar() is not None


def _conflict(release: Release, expected_version: int) -> ReleaseConflictError:
    live = f"revision {release.active_revision_id}" if release.active_revision_id else "nothing"
    return ReleaseConflictError(
        f"The release of item {release.item_id} no longer has version {expected_version}: it has {release.version}, "
        f"and {live} is live.",
        remedy="Look at what is live now, and repeat the command with that version.",
        item_id=str(release.item_id),
        expected_version=expected_version,
        found_version=release.version,
        active_revision_id=str(release.active_revision_id) if release.active_revision_id else None,
    )
