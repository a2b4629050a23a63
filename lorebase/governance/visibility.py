"""Bringing what searches may return in line with what is live, whoever else switches meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from lorebase.errors import LorebaseError
from lorebase.governance.model import Revision
from lorebase.governance.ports import RevisionIndex
from lorebase.governance.releases import Releases

logger = logging.getLogger(__name__)

_ROUNDS = 8
"""Rounds in which somebody else switched the same item; more are left to the next command."""


class Visibility:
    """Enables the entities of revisions that are live and closes those of all others."""

    def __init__(self, releases: Releases, index: RevisionIndex) -> None:
        self._releases = releases
        self._index = index

    async def settle(self, revisions: Sequence[Revision]) -> bool:
        """Switch the entities of revisions of one item until they are as the release row says.

        The row is read before and after: whoever switched it meanwhile settles after its own commit, and so does this
        call, so that the last of them leaves what is live.

        Returns:
            Whether anything had to be switched.

        Raises:
            DependencyError: The index or the database does not answer: a reconcile command mends it later.
            IndexMismatchError: A live revision cannot be enabled whole.
        """
        changed = False
        for _round in range(_ROUNDS):
            live = await self._live(revisions)
            for revision in revisions:
                changed |= await self._switch(revision, shown=revision.id == live)
            if await self._live(revisions) == live:
                break
        return changed

    async def settled(self, revisions: Sequence[Revision]) -> bool:
        """As `settle`, after a command that is done: whether it went well, never an error.

        A cancelled task passes on; any other failure is of the index or a store, and the re-check of retrieval keeps
        what is not live from being shown.
        """
        try:
            await self.settle(revisions)
        except LorebaseError as error:
            logger.warning("item %d needs reconciling: %s", revisions[0].item_id, error.code)
            return False
        return True

    async def _switch(self, revision: Revision, *, shown: bool) -> bool:
        if await self._index.is_shown(revision, whole=shown) == shown:
            return False
        await (self._index.enable(revision) if shown else self._index.disable(revision))
        return True

    async def _live(self, revisions: Sequence[Revision]) -> int | None:
        first = revisions[0]
        found = await asyncio.to_thread(self._releases.active_revision_ids, first.organ_id, [first.item_id])
        return found.get(first.item_id)
