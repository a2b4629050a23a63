"""Publish, roll back, take offline: index and release row switched in an order that never shows what is not live.

Publish and rollback enable the target's entities, switch the release row by compare-and-set, then close what was
replaced. Offline withdraws in the release row first. None of them makes a task. A process that dies in between leaves
entities that the re-check of retrieval drops, and that the next command on the item or a reconcile command switches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from pydantic import BaseModel, ConfigDict, Field

from lorebase.errors import LorebaseError, UnavailableError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.model import Release, Revision, RowId
from lorebase.governance.ports import RevisionIndex
from lorebase.governance.releases import Releases, SwitchCommand, Switched
from lorebase.governance.states import Command
from lorebase.governance.store import Store, revision_of
from lorebase.governance.visibility import Visibility


class Publication(BaseModel):
    """What a command on a release did."""

    model_config = ConfigDict(frozen=True)

    release: Release = Field(description="What is live now, with the version that the next command must name.")
    replaced_revision_id: RowId | None = Field(None, description="What was live before and no longer is.")
    is_repeat: bool = Field(default=False, description="Whether the same request had been carried out before.")
    needs_reconcile: bool = Field(
        default=False, description="Whether the index could not be brought in line; searches are right all the same."
    )


class Publishing:
    """Commands on what is live. They are asynchronous, because the index is; rows are switched in threads.

    Args:
        store: The relational truth.
        releases: Switches release rows.
        index: The derived index.
    """

    def __init__(self, store: Store, releases: Releases, index: RevisionIndex) -> None:
        self._store = store
        self._releases = releases
        self._index = index
        self._visibility = Visibility(releases, index)

    async def publish(
        self, context: PrincipalContext, revision_id: int, *, expected_version: int, reason: str = ""
    ) -> Publication:
        """Make a READY_TO_PUBLISH revision what is live of its item.

        Args:
            context: Who acts; the same `request_id` again finds it done.
            revision_id: The revision.
            expected_version: Version of the release as the operator saw it.
            reason: Why, for the record.

        Raises:
            ForbiddenError: The caller may not publish.
            NotFoundError: The organisation has no such revision.
            InvalidStateError: The revision is in another state.
            IndexNotReadyError: Its index is not complete.
            IndexMismatchError: Its index is not what its chunk manifest says.
            ReleaseConflictError: Another switch came first. The entities are closed again unless the revision has
                become live; `facts["needs_reconcile"]` says whether that failed.
            DependencyError: Index or database did not do it. Where the index did not, nothing was switched.
        """
        return await self._switch(context, revision_id, Command.PUBLISH, expected_version, reason)

    async def roll_back(
        self, context: PrincipalContext, revision_id: int, *, expected_version: int, reason: str = ""
    ) -> Publication:
        """Make a DEPRECATED revision of the item live again; as `publish`."""
        return await self._switch(context, revision_id, Command.ROLL_BACK, expected_version, reason)

    async def take_offline(
        self, context: PrincipalContext, item_id: int, *, expected_version: int, reason: str = ""
    ) -> Publication:
        """Make nothing of an item live. Whatever the index does then, searches return nothing of it.

        Raises:
            ForbiddenError: The caller may not publish.
            NotFoundError: The organisation has no such item.
            InvalidStateError: Nothing is live.
            ReleaseConflictError: Another switch came first. Nothing changed.
            UnavailableError: The database does not answer.
        """
        withdrawn = await asyncio.to_thread(
            self._releases.withdraw, context, item_id, expected_version=expected_version, reason=reason
        )
        return await self._closed(context, withdrawn, ())

    async def _switch(
        self,
        context: PrincipalContext,
        revision_id: int,
        command: SwitchCommand,
        expected_version: int,
        reason: str,
    ) -> Publication:
        repeated = await asyncio.to_thread(self._releases.repeated, context, revision_id, command)
        if repeated is not None:
            return await self._closed(context, repeated, (await self._revision(context, revision_id),))
        target = await asyncio.to_thread(
            self._releases.require_switchable, context, revision_id, command, expected_version=expected_version
        )
        await self._index.reconcile(target)
        try:
            await self._index.enable(target)
            switched = await asyncio.to_thread(
                self._releases.switch,
                context,
                revision_id,
                command,
                expected_version=expected_version,
                reason=reason,
            )
        except LorebaseError as error:
            error.facts["needs_reconcile"] = not await self._compensated(context, target, command)
            raise
        return await self._closed(context, switched, (target,))

    async def _closed(self, context: PrincipalContext, switched: Switched, targets: Sequence[Revision]) -> Publication:
        """The end of every command: entities are brought in line with the row that was committed."""
        involved = list(targets)
        if switched.replaced_revision_id is not None:
            involved.append(await self._revision(context, switched.replaced_revision_id))
        is_settled = await self._visibility.settled(involved) if involved else True
        return Publication(
            release=switched.release,
            replaced_revision_id=switched.replaced_revision_id,
            is_repeat=switched.is_repeat,
            needs_reconcile=not is_settled,
        )

    async def _compensated(self, context: PrincipalContext, target: Revision, command: Command) -> bool:
        """Close what was enabled for a switch that did not come, unless it is live by now; and record that."""
        is_settled = await self._visibility.settled([target])
        with suppress(UnavailableError):  # the caller learns of the failed switch, which is what happened first
            await asyncio.to_thread(self._record, context, target, command, is_settled=is_settled)
        return is_settled

    def _record(self, context: PrincipalContext, target: Revision, command: Command, *, is_settled: bool) -> None:
        with self._store.database.transaction() as connection:
            self._store.record(
                connection, context, f"COMPENSATE_{command.value}", item_id=target.item_id, revision_id=target.id,
                facts_json={"needs_reconcile": not is_settled},
            )  # fmt: skip

    async def _revision(self, context: PrincipalContext, revision_id: int) -> Revision:
        return await asyncio.to_thread(self._read, context, revision_id)

    def _read(self, context: PrincipalContext, revision_id: int) -> Revision:
        with self._store.database.reading() as connection:
            return revision_of(connection, context, revision_id, also_deleted=True)
