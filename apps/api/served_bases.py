"""The knowledge bases that are being searched: each opened once, shared by all requests, closed at the end."""

from __future__ import annotations

import asyncio

from lorebase.errors import NotFoundError
from lorebase.governance.context import PrincipalContext
from lorebase.knowledge_base import KnowledgeBase
from lorebase.registry.keeping import not_found_message
from lorebase.workspace import Workspace


class ServedBases:
    """Opens bases when they are first asked for.

    A base without governance has no organisation of its own: all of them belong to the organisations that the
    operator names, and for everybody else there is none.

    Args:
        workspace: Where the bases are.
        organ_ids: Organisations that may see them.
    """

    def __init__(self, workspace: Workspace, organ_ids: frozenset[int]) -> None:
        self._workspace = workspace
        self._organ_ids = organ_ids
        self._opened: dict[str, KnowledgeBase] = {}
        self._opening = asyncio.Lock()

    def sees_bases(self, caller: PrincipalContext) -> bool:
        """Whether the caller's organisation sees the workspace's bases."""
        return caller.organ_id in self._organ_ids

    async def of(self, caller: PrincipalContext, name: str) -> KnowledgeBase:
        """The base, ready for queries.

        Raises:
            NotFoundError: There is no such base, it was never built, or it is not the caller's: all told alike.
            DependencyError: Its models cannot be opened.
        """
        if not self.sees_bases(caller):
            raise NotFoundError(not_found_message(name))
        if name in self._opened:
            return self._opened[name]
        async with self._opening:
            if name not in self._opened:
                try:
                    base = await asyncio.to_thread(KnowledgeBase.load, name, self._workspace)
                except NotFoundError as error:
                    raise NotFoundError(not_found_message(name)) from error
                # Opens the embedding model once, before several queries want it at the same time.
                await base.embedding_profile()
                self._opened[name] = base
        return self._opened[name]

    async def close(self) -> None:
        """Give connections and models back."""
        opened, self._opened = self._opened, {}
        for base in opened.values():
            await base.close()
